"""The files of a service: the shipped patterns, and writing and removing what is ours. Knows no service manager."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from gnod.errors import Refused
from gnod.paths import Places

MARK = "Written by `gnoctl service install`; `gnoctl service uninstall` removes it."

_HERE = Path(__file__).parent
_SETTINGS = ("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET")
_BASES = {"GNO_CONFIG_DIR": "XDG_CONFIG_HOME", "GNO_DATA_DIR": "XDG_DATA_HOME", "GNO_CACHE_DIR": "XDG_CACHE_HOME"}


def pattern(name: str) -> str:
    """Return the text of a shipped file, `systemd/gnod.service` say. A wheel has them here; the repository, at its
    root."""
    shipped = _HERE / "patterns" / name
    return (shipped if shipped.exists() else _HERE.parents[1] / name).read_text(encoding="utf-8")


def command(places: Places) -> list[str]:
    """Return what runs the daemon: this very Python, whatever PATH the service has."""
    return [sys.executable, "-P", "-m", "gnod", "--index", places.index]


def environment(places: Places) -> dict[str, str]:
    """Return what the daemon must know of this shell's environment to find the places that its clients mean, and, for
    the `update` commands of collections, the programs."""
    values = {
        "GNO_CONFIG_DIR": places.config_dir,
        "GNO_DATA_DIR": places.data_dir,
        "GNO_CACHE_DIR": places.cache_dir,
        "GNO_SOCKET": places.socket,
    }
    is_set = [name for name in _SETTINGS if os.environ.get(name) or os.environ.get(_BASES.get(name, ""))]
    path = {"PATH": os.environ["PATH"]} if os.environ.get("PATH") else {}
    return path | {name: str(values[name]) for name in is_set}


def refuse_foreign(path: Path) -> None:
    """Raises Refused for a file that is there and not ours."""
    if os.path.lexists(path) and MARK.encode() not in _content(path):
        raise Refused(f"{path} was not written by gnoctl: move it away first", {"path": str(path)})


def write(path: Path, text: str) -> None:
    """Put the file in its place whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        unfinished.chmod(0o644)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _content(path: Path) -> bytes:
    # A link by another hand (`systemctl mask` makes one) is not ours, wherever it leads.
    return b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
