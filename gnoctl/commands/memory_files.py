"""`gnoctl memory export` and `import`: memories as JSON Lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from gnoctl import text
from gnoctl.command import JsonOptions, Options, command
from gnoctl.memories import memories
from gnoctl.options import argument
from gnoctl.output import json_text, note
from gnod.atomic_file import replacing
from gnod.client.connection import Connection
from gnod.errors import UsageError
from gnod.protocol.base import ProgressValue
from gnod.protocol.memory import MemoryImportParams, MemoryListParams, MemoryListResult, MemoryManyResult, NewMemory

_PAGE = 1000
# Small enough to embed a batch while the user watches the progress.
_BATCH = 20


class ExportOptions(Options, frozen=True, kw_only=True):
    file: Annotated[str | None, argument("FILE", help="The file to write [default: standard output]")] = None


@command("memory export", ExportOptions)
def export(options: ExportOptions) -> None:
    """Write all memories as JSON Lines, unencrypted.

    Only you can read the file, but everyone who gets it can read the memories.

    Examples:
      gnoctl memory export memories.jsonl
      gnoctl memory export | age -r KEY > memories.age
    """
    with options.connect() as daemon:
        if options.file in (None, "-"):
            for line in _lines(daemon):
                sys.stdout.write(line)
            return
        path, number = Path(str(options.file)), 0
        with replacing(path) as file:
            for line in _lines(daemon):
                file.write(line.encode())
                number += 1
    options.note(f"{path} contains {memories(number)}, unencrypted: everyone who can read the file can read them")


def _lines(daemon: Connection) -> Iterator[str]:
    cursor = None
    while True:
        params = MemoryListParams(whole=True, limit=_PAGE, cursor=cursor)
        page = daemon.call("memory.list", params, MemoryListResult)
        for each in page.memories:
            yield json_text(each) + "\n"
        for warning in page.notes:
            note(warning)
        cursor = page.cursor
        if cursor is None:
            return


class ImportOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str, argument("FILE", help="JSON Lines; - reads standard input")]


@command("memory import", ImportOptions)
def import_memories(options: ImportOptions) -> None:
    """Import memories that `gnoctl memory export` wrote.

    They keep their types, topics, namespaces and times, and get new ids. Memories that exist stay as they are, so
    importing a file again changes nothing.
    """
    records = _read(options.file)
    existed = 0
    with options.connect() as daemon, options.progress() as progress:
        for start in range(0, len(records), _BATCH):
            progress(ProgressValue(stage="import", done=start, total=len(records)))
            params = MemoryImportParams(records=records[start : start + _BATCH])
            result = daemon.call("memory.import", params, MemoryManyResult)
            existed += sum(each.existed for each in result.memories)
    imported = len(records) - existed
    existing = f"; {existed:,} existed already" if existed else ""
    options.show({"imported": imported, "existed": existed}, f"imported {memories(imported)}{existing}")


def _read(name: str) -> list[NewMemory]:
    """Return the memories in the file, all of them checked. Raises UsageError, which names the line."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    decoder = msgspec.json.Decoder(NewMemory)
    records = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(text.line(f"line {number} of {name} is not a memory: {error}")) from None
    return records
