"""`gnoctl memory import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.memories import memories
from gnoctl.options import Command, JsonOptions, argument
from gnoctl.progress import Progress
from gnod.errors import UsageError
from gnod.protocol.memory import MemoryImportParams, MemoryManyResult, NewMemory
from gnod.protocol.results import ProgressValue

HELP = """Take in memories that `gnoctl memory export` has written.

They keep their types, topics, namespaces and times, and get new ids. What is there already stays as it is: to do it
again changes nothing.
"""

# Few enough to be embedded while somebody looks on.
_AT_A_TIME = 20


class ImportOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str, argument("FILE", help="JSON Lines; -: what standard input has.")]


def import_memories(options: ImportOptions) -> None:
    records = _read(options.file)
    existed = 0
    with options.connect() as daemon, Progress(quiet=options.quiet, no_color=options.no_color) as progress:
        for start in range(0, len(records), _AT_A_TIME):
            progress(ProgressValue(stage="import", done=start, total=len(records)))
            params = MemoryImportParams(records=records[start : start + _AT_A_TIME])
            result = daemon.call("memory.import", params, MemoryManyResult)
            existed += sum(each.existed for each in result.memories)
    if options.json:
        print_json({"imported": len(records) - existed, "existed": existed})
    else:
        there = f"; {existed:,} were there" if existed else ""
        print(f"imported {memories(len(records) - existed)}{there}")


def _read(name: str) -> list[NewMemory]:
    """Return what the file has, all of it checked. Raises UsageError, which names the line."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    decoder = msgspec.json.Decoder(NewMemory)
    records = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(text.line(f"line {number} of {name} is no memory: {error}")) from None
    return records


COMMAND = Command(ImportOptions, import_memories, HELP)
