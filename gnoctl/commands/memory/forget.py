"""`gnoctl memory forget`."""

from __future__ import annotations

import sys
from typing import Annotated

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.memories import memories, render_list
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.standard_input import confirmed
from gnoctl.terminal import Terminal
from gnod.client.connection import Connection
from gnod.protocol.memory import MemoryForgetResult, MemoryIdsParams, MemoryListResult, MemoryRecordsResult

HELP = """Remove memories for good.

What is finished or superseded is better kept as such: `gnoctl memory done`.
"""


class ForgetOptions(JsonOptions, frozen=True, kw_only=True):
    ids: Annotated[list[str], argument("ID", help="The memory.")]
    yes: Annotated[bool, option("-y", "--yes", help="Do not ask.")] = False


def forget(options: ForgetOptions) -> int:
    params = MemoryIdsParams(ids=options.ids)
    with options.connect() as daemon:
        if not options.yes and not _confirmed(daemon, params):
            note("Nothing was forgotten")
            return 1
        result = daemon.call("memory.forget", params, MemoryForgetResult)
    if options.json:
        print_json(result)
    else:
        print(f"forgot {memories(result.forgotten)}")
    return 0


def _confirmed(daemon: Connection, params: MemoryIdsParams) -> bool:
    if sys.stdin.isatty():
        found = daemon.call("memory.retrieve", params, MemoryRecordsResult).memories
        for line in render_list(MemoryListResult(memories=found, total=len(found)), Terminal(width=80)):
            print(text.line(line), file=sys.stderr)
    return confirmed("Forget that for good?")


COMMAND = Command(ForgetOptions, forget, HELP)
