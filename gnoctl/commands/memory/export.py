"""`gnoctl memory export`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from gnoctl.failures import note
from gnoctl.json_output import json_text
from gnoctl.memories import memories
from gnoctl.options import Command, Options, argument
from gnod.client.connection import Connection
from gnod.protocol.memory import MemoryListParams, MemoryListResult

HELP = """Write all memories as JSON Lines, in clear.

Without a file they go to standard output. A file is made readable for you alone; whoever has it can read the memories.

Examples:

  gnoctl memory export memories.jsonl

  gnoctl memory export | age -r KEY > memories.age
"""

_PAGE = 1000


class ExportOptions(Options, frozen=True, kw_only=True):
    file: Annotated[str | None, argument("FILE", help="Where to (default: standard output).")] = None


def export(options: ExportOptions) -> None:
    with options.connect() as daemon:
        if options.file in (None, "-"):
            for line in _lines(daemon):
                sys.stdout.write(line)
            return
        path = Path(str(options.file))
        number = _write(path, _lines(daemon))
    note(f"{path} holds {memories(number)} in clear: whoever can read that file can read them", quiet=options.quiet)


def _lines(daemon: Connection) -> Iterator[str]:
    params = MemoryListParams(whole=True, limit=_PAGE)
    while True:
        page = daemon.call("memory.list", params, MemoryListResult)
        for each in page.memories:
            yield json_text(each) + "\n"
        for said in page.notes:
            note(said)
        if page.cursor is None:
            return
        params = MemoryListParams(whole=True, limit=_PAGE, cursor=page.cursor)


def _write(path: Path, lines: Iterator[str]) -> int:
    """Write the file, which has its name only when it is whole; return the number of lines."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    number = 0
    try:
        # Made by us: nobody else's, and nobody else has it open.
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line)
                number += 1
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return number


COMMAND = Command(ExportOptions, export, HELP)
