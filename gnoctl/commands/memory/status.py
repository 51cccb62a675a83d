"""`gnoctl memory status`."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.memories import render_status
from gnoctl.options import Command, JsonOptions
from gnod.protocol.memory import MemoryStatusResult
from gnod.protocol.params import NoParams

HELP = """Say whether the memories are locked, where their key is, and how many there are."""


def status(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("memory.status", NoParams(), MemoryStatusResult)
    if options.json:
        print_json(result)
    else:
        for line in render_status(result):
            print(line)


COMMAND = Command(JsonOptions, status, HELP)
