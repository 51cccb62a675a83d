"""`gnoctl memory export` and `import`: memories as JSON Lines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from gnoctl.arguments.options import argument, option
from gnoctl.command import JsonOptions, Options, command
from gnoctl.commands.memory.memory_sessions import import_session
from gnoctl.printing import text
from gnoctl.printing.memories import memories
from gnoctl.printing.output import json_text, note
from gnod.atomic_file import replacing
from gnod.client.connection import Connection
from gnod.errors import UsageError
from gnod.protocol import memory as wire
from gnod.protocol.base import ProgressValue, copied

_PAGE = 1000
# A batch is small enough to be embedded while the user watches the progress.
_BATCH = 20


class ExportOptions(Options, frozen=True, kw_only=True):
    file: Annotated[str | None, argument("FILE", "The file to write [default: standard output]")] = None


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
        params = wire.MemoryListParams(whole=True, limit=_PAGE, cursor=cursor)
        page = daemon.call("memory.list", params, wire.MemoryListResult)
        for memory in page.memories:
            yield json_text(memory) + "\n"
        for warning in page.notes:
            note(warning)
        cursor = page.cursor
        if cursor is None:
            return


class _Exported(wire.NewMemory, frozen=True, kw_only=True):
    """A line of an export: a memory with its id and its links there."""

    id: str | None = None
    superseded_by: str | None = None


class ImportOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str | None, argument("FILE", "An export, as JSON Lines; - reads standard input")] = None
    session: Annotated[
        str | None,
        option("--from", "The session of an agent, as JSON Lines", "FILE"),
    ] = None
    namespace: Annotated[str, option("--namespace", "With --from: store the turns there", "NAME")] = "personal"
    limit: Annotated[
        Annotated[int, Meta(ge=1)] | None, option("-n, --limit", "With --from: import at most this many turns")
    ] = None
    dry_run: Annotated[bool, option("--dry-run", "With --from: only show what would be stored")] = False


@command("memory import", ImportOptions)
def import_memories(options: ImportOptions) -> None:
    """Import memories that `gnoctl memory export` wrote, or the session of an agent.

    Memories of an export keep their types, topics, namespaces, times and links, and get new ids. Memories that exist
    stay unchanged, so importing a file again changes nothing.

    With --from, each turn of a conversation becomes a memory of the type `message`, with its speaker and its time.
    Other records, such as tool calls, are skipped. Turns that seem to contain a key, a token or a password are left
    out.

    Examples:
      gnoctl memory import memories.jsonl
      gnoctl memory import --from ~/.claude/projects/heron/session.jsonl --dry-run
    """
    if (options.file is None) == (options.session is None):
        raise UsageError("give one file: an export, or --from with the session of an agent")
    if options.session is not None:
        import_session(
            options, options.session, namespace=options.namespace, limit=options.limit, dry_run=options.dry_run
        )
        return
    if options.dry_run or options.limit:
        raise UsageError("--dry-run and --limit are for sessions: add --from")
    records = _read(str(options.file))
    existed = 0
    links = _ExportedLinks()
    with options.connect() as daemon, options.progress() as progress:
        for start in range(0, len(records), _BATCH):
            progress(ProgressValue(stage="import", done=start, total=len(records)))
            batch = records[start : start + _BATCH]
            params = wire.MemoryImportParams(records=[copied(wire.NewMemory, each) for each in batch])
            result = daemon.call("memory.import", params, wire.MemoryManyResult)
            existed += sum(memory.existed for memory in result.memories)
            for newer, older in links.added(batch, result.memories):
                daemon.call("memory.update", wire.MemoryUpdateParams(id=newer, supersedes=[older]), wire.MemoryRecord)
    imported = len(records) - existed
    existing = f"; {existed:,} already existed" if existed else ""
    options.show({"imported": imported, "existed": existed}, f"imported {memories(imported)}{existing}")


class _ExportedLinks:
    """The links of an export, between the new ids."""

    def __init__(self) -> None:
        self._imported: dict[str, wire.MemoryStoreResult] = {}
        self._waiting: dict[str, list[str]] = {}

    def added(self, batch: Sequence[_Exported], stored: Sequence[wire.MemoryStoreResult]) -> Iterator[tuple[str, str]]:
        """Yield (newer, older) for each link whose ends are both known now, unless both existed before."""
        for record, memory in zip(batch, stored, strict=True):
            if record.id is None:
                continue
            self._imported[record.id] = memory
            ready = [(record.id, older) for older in self._waiting.pop(record.id, [])]
            if record.superseded_by in self._imported:
                ready.append((record.superseded_by, record.id))
            elif record.superseded_by is not None:
                self._waiting.setdefault(record.superseded_by, []).append(record.id)
            for ends in ready:
                newer, older = (self._imported[name] for name in ends)
                if not (newer.existed and older.existed) and newer.id != older.id:
                    yield newer.id, older.id


def _read(name: str) -> list[_Exported]:
    """Return the memories in the file, all of them checked. Raises UsageError, which names the line."""
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    decoder = msgspec.json.Decoder(_Exported)
    records = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(text.line(f"line {number} of {name} is not a memory: {error}")) from None
    return records
