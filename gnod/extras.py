"""The extras (groups of optional packages) of pyproject.toml, and the command that installs one for this gnod."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from functools import cache

from gnod.errors import DependencyMissing


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def missing(subject: str, extra: str, *, then: str = ", then `gnoctl daemon restart`") -> DependencyMissing:
    """Return the error for a feature that needs the packages of an extra. `subject`: the feature, in the plural."""
    return DependencyMissing(f"{subject} need more packages: run `{command(extra)}`{then}", {"extra": extra})


@cache
def command(extra: str, prefix: str = sys.prefix) -> str:
    """Return the command that adds the packages of an extra to the environment at `prefix`.

    >>> command("llama", "/home/mara/.local/share/pipx/venvs/gnod")
    "pipx inject gnod 'jinja2>=3.1' 'llama-cpp-python<0.4,>=0.3.36'"
    """
    from importlib import metadata  # it would add 10 ms to each start of the daemon

    marked = [line.partition(";") for line in metadata.requires("gnod") or ()]
    packages = [name.strip() for name, _, marker in marked if marker.strip().replace("'", '"') == f'extra == "{extra}"']
    return install(*packages, prefix=prefix)


def install(*packages: str, prefix: str = sys.prefix) -> str:
    """Return the command that adds these packages."""
    names = shlex.join(packages)
    if "/pipx/venvs/" in prefix:
        return f"pipx inject gnod {names}"
    if "/uv/tools/" in prefix:
        return f"uv pip install --python {shlex.quote(prefix)} {names}"
    # The Debian package is in /usr/lib.
    sudo = "sudo " if prefix.startswith("/usr/lib/") else ""
    return f"{sudo}{shlex.quote(sys.executable)} -m pip install {names}"
