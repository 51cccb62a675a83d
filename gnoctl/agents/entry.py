"""The entry with which an agent starts `gnoctl mcp`: command, arguments, environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gnod.paths import DEFAULT_INDEX, Places

# Agents pass on little of the environment; without these, the bridge would look for another daemon.
_VARIABLES = (
    *("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"),
)


class Entry(NamedTuple):
    """`name`: of the server in the agent's settings."""

    name: str
    command: str
    args: list[str]
    env: dict[str, str]

    def values(self, more: Mapping[str, object], old: object = None) -> dict[str, object]:
        """Return the new entry, with the additional members of an `old` one."""
        kept: dict[str, object] = dict(old) if isinstance(old, dict) else {}
        env = kept.get("env")
        if self.env or env:
            kept["env"] = {**(env if isinstance(env, dict) else {}), **self.env}
        values = {**more, "command": self.command, "args": self.args}
        return values | {key: value for key, value in kept.items() if key not in ("command", "args")}


def entry(places: Places) -> Entry:
    """Return the entry that starts the bridge to the daemon of an index."""
    program, *words = _program()
    index = [] if places.index == DEFAULT_INDEX else ["--index", places.index]
    return Entry(
        name="gno" if places.index == DEFAULT_INDEX else f"gno-{places.index}",
        command=program,
        args=[*words, *index, "mcp"],
        env={name: _absolute(value) for name in _VARIABLES if (value := os.environ.get(name))},
    )


def _program() -> list[str]:
    """Return gnoctl's own command line, absolute: desktop programs have another PATH."""
    beside = Path(sys.executable).with_name("gnoctl")
    on_path = shutil.which("gnoctl")
    # Prefer the one on the PATH: it may be a link that survives the next upgrade (pipx, uv).
    if on_path and beside.exists() and Path(on_path).resolve() == beside.resolve():
        return [str(Path(on_path).absolute())]
    # -P: do not import modules from the agent's working folder.
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "gnoctl"]


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())
