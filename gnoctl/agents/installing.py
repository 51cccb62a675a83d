"""Add the entry to an agent's file. The only module here that writes."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any, NamedTuple

from gnoctl.agents import jsonc, toml_table
from gnoctl.agents.catalogue import Agent
from gnoctl.agents.entry import Entry
from gnoctl.agents.jsonc import Unfit
from gnoctl.atomic_file import replacing
from gnod.errors import Conflict, Refused


class Change(NamedTuple):
    """The old and new content of one file. `old` is None if the file does not exist."""

    file: Path
    old: bytes | None
    new: bytes

    @property
    def action(self) -> str:
        if self.old == self.new:
            return "unchanged"
        return "created" if self.old is None else "changed"


def plan(agent: Agent, entry: Entry) -> Change:
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
    return Change(file, old, new.encode())


def carry_out(change: Change) -> None:
    """Write the file. Raises Conflict if another program has written it since."""
    if change.old == change.new:
        return
    # A symbolic link (to a repository of dotfiles) stays one.
    file = change.file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = 0o600 if change.old is None else stat.S_IMODE(file.stat().st_mode)
    with replacing(file, mode=mode) as output:
        output.write(change.new)
        if (file.read_bytes() if file.exists() else None) != change.old:
            raise Conflict(f"another program has just written {file}: nothing was changed; try again")


def snippet(agent: Agent, entry: Entry) -> str:
    """Return the entry as it looks in an empty file. A change is shown like this, too: the lines around it may contain
    secrets of other servers."""
    values = entry.values(agent.more)
    if agent.format == "toml":
        return toml_table.render((agent.table, entry.name), values)
    return jsonc.with_value("{\n}\n", (agent.table, entry.name), values)


def _with_entry(text: str, agent: Agent, entry: Entry) -> str:
    if agent.format == "toml":
        path = (agent.table, entry.name)
        return toml_table.with_table(text, path, entry.values(agent.more, _at(toml_table.parse(text), path)))
    data = jsonc.parse(text).data if text.strip("\ufeff \t\r\n") else {}
    values = entry.values(agent.more, _at(data, (agent.table, entry.name)))
    if not isinstance(_at(data, (agent.table, entry.name)), dict):
        return jsonc.with_value(text, (agent.table, entry.name), values)
    for key, value in values.items():  # one by one, so that comments in an old entry stay
        text = jsonc.with_value(text, (agent.table, entry.name, key), value)
    return text


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _refused(agent: Agent, entry: Entry, why: str) -> Refused:
    return Refused(
        f"{agent.file()} was not changed: {why}. Add this to it yourself:\n\n{snippet(agent, entry)}",
        {"agent": agent.name, "file": str(agent.file())},
    )
