"""Add the entry that starts `gnoctl mcp` to an agent's file. The only module here that writes."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gnoctl.agents import jsonc, toml_table
from gnoctl.agents.catalogue import Agent
from gnoctl.agents.jsonc import Unfit
from gnod.atomic_file import replacing
from gnod.errors import Conflict, Refused
from gnod.folders import DEFAULT_INDEX
from gnod.paths import IndexPaths


class FileEdit(NamedTuple):
    """The old and new content of one file. `old` is None if the file does not exist."""

    file: Path
    old: bytes | None
    new: bytes

    @property
    def action(self) -> str:
        if self.old == self.new:
            return "unchanged"
        return "created" if self.old is None else "changed"


class ServerEntry(NamedTuple):
    """The entry for an agent's settings. `name`: the server's name there. `values` returns the members of the entry,
    with the additional ones of an old entry; raises Refused. `foreign`: members that only the other kind of entry
    has."""

    name: str
    values: Callable[[Agent, Mapping[str, object]], dict[str, object]]
    foreign: frozenset[str]


def plan(agent: Agent, entry: ServerEntry) -> FileEdit:
    """Return the change of the agent's file without making it. Raises Refused."""
    file = agent.file()
    try:
        old = file.read_bytes()
    except FileNotFoundError:
        old = None
    except OSError as error:
        raise _refused(agent, entry, error.strerror or str(error)) from None
    try:
        new = _with_entry((old or b"").decode(), agent, entry)
    except UnicodeDecodeError:
        raise _refused(agent, entry, "it is not UTF-8 text") from None
    except Unfit as error:
        raise _refused(agent, entry, str(error)) from None
    return FileEdit(file, old, new.encode())


def carry_out(change: FileEdit) -> None:
    """Write the file. Raises Conflict if another program has written it since."""
    if change.old == change.new:
        return
    # Keep a symbolic link: it may point to a repository of dotfiles.
    file = change.file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if change.old is None else stat.S_IMODE(file.stat().st_mode)
    with replacing(file, mode=mode) as output:
        output.write(change.new)
        if (file.read_bytes() if file.exists() else None) != change.old:
            raise Conflict(f"another program has just written {file}: nothing was changed; try again")


def snippet(agent: Agent, entry: ServerEntry) -> str:
    """Return the entry as it looks in an empty file. Changes are also shown in this form, because the lines around them
    may contain secrets of other servers."""
    values = entry.values(agent, {})
    if agent.format == "toml":
        return toml_table.render((agent.table, entry.name), values)
    return jsonc.with_value("{\n}\n", (agent.table, entry.name), values)


def _with_entry(text: str, agent: Agent, entry: ServerEntry) -> str:
    path = (agent.table, entry.name)
    is_toml = agent.format == "toml"
    old = _at(toml_table.parse(text) if is_toml else jsonc.data_of(text), path)
    kept = old if isinstance(old, dict) else {}
    # An agent refuses an entry that has both a command and an address.
    drop = {"type", *entry.foreign} if kept.keys() & entry.foreign else set()
    values = entry.values(agent, {key: value for key, value in kept.items() if key not in drop})
    if is_toml:
        return toml_table.with_table(text, path, values, drop)
    if not kept or drop:
        return jsonc.with_value(text, path, values)
    for key, value in values.items():  # set them one by one, so that comments in an old entry stay
        text = jsonc.with_value(text, (*path, key), value)
    return text


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _refused(agent: Agent, entry: ServerEntry, why: str) -> Refused:
    return Refused(
        f"{agent.file()} was not changed: {why}. Add this to the file yourself:\n\n{snippet(agent, entry)}",
        {"agent": agent.name, "file": str(agent.file())},
    )


# Agents pass on little of the environment. Without these paths, the bridge would look for another daemon; without the
# switches, it would start a daemon with other settings than this shell.
_PATHS = (
    *("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"),
)
_SWITCHES = ("GNO_NO_AUTOSTART", "GNO_OFFLINE")


def command_of(places: IndexPaths) -> ServerEntry:
    """Return the entry with which an agent starts the bridge to the daemon of an index."""
    command, *words = _program()
    index = [] if places.index == DEFAULT_INDEX else ["--index", places.index]
    own = {"command": command, "args": [*words, *index, "mcp"]}
    environment = {
        **{name: _absolute(value) for name in _PATHS if (value := os.environ.get(name))},
        **{name: value for name in _SWITCHES if (value := os.environ.get(name))},
    }

    def values(agent: Agent, old: Mapping[str, object]) -> dict[str, object]:
        kept = {key: value for key, value in old.items() if key not in own}
        env = kept.get("env")
        if environment or env:
            kept["env"] = {**(env if isinstance(env, dict) else {}), **environment}
        return agent.more | own | kept

    return ServerEntry(_name_of(places), values, frozenset({"url", "httpUrl", "serverUrl", "headers", "http_headers"}))


def address_of(places: IndexPaths, url: str, token: str) -> ServerEntry:
    """Return the entry with the address of a running bridge, and the token that it requires."""

    def values(agent: Agent, old: Mapping[str, object]) -> dict[str, object]:
        if agent.http is None:
            raise Refused(f"{agent.title} only starts commands: install it without --http")
        url_name, headers_name, more = agent.http
        headers = old.get(headers_name)
        authorized = {**(headers if isinstance(headers, dict) else {}), "Authorization": f"Bearer {token}"}
        return {**old, **more, url_name: url, headers_name: authorized}

    return ServerEntry(_name_of(places), values, frozenset({"command", "args", "env"}))


def _name_of(places: IndexPaths) -> str:
    return "gno" if places.index == DEFAULT_INDEX else f"gno-{places.index}"


def _program() -> list[str]:
    """Return gnoctl's own command line, absolute: desktop programs have another PATH."""
    beside = Path(sys.executable).with_name("gnoctl")
    on_path = shutil.which("gnoctl")
    # Prefer the program on the PATH: it may be a link that survives the next upgrade (pipx, uv).
    if on_path and beside.exists() and Path(on_path).resolve() == beside.resolve():
        return [str(Path(on_path).absolute())]
    # With -P, modules from the agent's working folder are not imported.
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "gnoctl"]


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())
