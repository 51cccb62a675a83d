"""`gnoctl memory done`."""

from __future__ import annotations

from typing import Annotated

from gnoctl import text
from gnoctl.options import Command, Options, argument
from gnod.protocol.memory import MemoryIdsParams, MemoryRecord, MemoryRecordsResult, MemoryUpdateParams

HELP = """Mark memories as finished or superseded.

Their type gets `_done` at its end: they are found still, behind what holds now.
"""

_DONE = "_done"


class DoneOptions(Options, frozen=True, kw_only=True):
    ids: Annotated[list[str], argument("ID", help="The memory.")]


def done(options: DoneOptions) -> None:
    with options.connect() as daemon:
        found = daemon.call("memory.retrieve", MemoryIdsParams(ids=options.ids), MemoryRecordsResult)
        for each in found.memories:
            kind = each.type if each.type.endswith(_DONE) else each.type + _DONE
            if kind != each.type:
                daemon.call("memory.update", MemoryUpdateParams(id=each.id, type=kind), MemoryRecord)
            print(text.line(f"{each.id}  {kind}"))


COMMAND = Command(DoneOptions, done, HELP)
