"""Put the entry into an agent's file. The only module here that writes."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from gnoctl.agents import jsonc, toml_table
from gnoctl.agents.catalogue import Agent
from gnoctl.agents.entry import Entry
from gnoctl.agents.jsonc import Unfit
from gnod.errors import Conflict, Refused


class Change(NamedTuple):
    """What becomes of one file. `old` is None where there is none yet."""

    file: Path
    old: bytes | None
    new: bytes

    @property
    def action(self) -> str:
        if self.old == self.new:
            return "unchanged"
        return "created" if self.old is None else "changed"


def plan(agent: Agent, entry: Entry) -> Change:
    """Return what has to change in the agent's file, and change nothing. Raises Refused."""
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
        raise _refused(agent, entry, "it is no UTF-8 text") from None
    except Unfit as error:
        raise _refused(agent, entry, str(error)) from None
    return Change(file, old, new.encode())


def carry_out(change: Change) -> None:
    """Write the file, whole or not at all. Raises Conflict when another program has written it since."""
    if change.old == change.new:
        return
    # A link (to a repository of dotfiles) stays one.
    file = change.file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    written = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as output:
            output.write(change.new)
            output.flush()
            os.fsync(output.fileno())
        if change.old is not None:
            written.chmod(stat.S_IMODE(file.stat().st_mode))
        if (file.read_bytes() if file.exists() else None) != change.old:
            raise Conflict(f"another program has just written {file}: nothing was changed; try again")
        written.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            written.unlink()
        raise


def snippet(agent: Agent, entry: Entry) -> str:
    """Return the entry as one would write it into an empty file. That is also what is shown of a change: in the lines
    around it there may be secrets of other servers."""
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
    for key, value in values.items():  # one by one: the comments in an old entry stay
        text = jsonc.with_value(text, (agent.table, entry.name, key), value)
    return text


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _refused(agent: Agent, entry: Entry, why: str) -> Refused:
    return Refused(
        f"{agent.file()} was left as it is: {why}. Put this into it yourself:\n\n{snippet(agent, entry)}",
        {"agent": agent.name, "file": str(agent.file())},
    )
