"""`gnoctl memory show`."""

from __future__ import annotations

from typing import Annotated

from gnoctl.json_output import print_json
from gnoctl.memories import render_whole
from gnoctl.options import Command, JsonOptions, argument
from gnod.protocol.memory import MemoryIdsParams, MemoryRecordsResult

HELP = """Print memories whole."""


class ShowOptions(JsonOptions, frozen=True, kw_only=True):
    ids: Annotated[list[str], argument("ID", help="As `gnoctl recall` and `gnoctl remember` print it.")]


def show(options: ShowOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("memory.retrieve", MemoryIdsParams(ids=options.ids), MemoryRecordsResult)
    if options.json:
        print_json(result)
        return
    for number, each in enumerate(result.memories):
        if number:
            print()
        for line in render_whole(each, options.terminal):
            print(line)


COMMAND = Command(ShowOptions, show, HELP)
