"""`gnoctl memory export` and `import`: memories as JSON Lines, and the turns of an agent's session as memories."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta, structs

from gnoctl.arguments.options import argument, option
from gnoctl.command import JsonOptions, Options, command
from gnoctl.commands.memory.transcripts import RecordCounts, TranscriptTurn, read_turns, texts_of
from gnoctl.printing import text
from gnoctl.printing.memories import memories
from gnoctl.printing.output import json_text, note
from gnoctl.printing.wording import count
from gnod.atomic_file import replacing
from gnod.client.connection import Connection
from gnod.errors import UsageError
from gnod.protocol import memory as wire
from gnod.protocol.base import ProgressValue, copied

_PAGE = 1000
# A batch is small enough to be embedded while the user watches the progress.
_BATCH = 20
_TURN_TYPE = "message"
_SHOWN_CHARACTERS = 100
_OTHER_ENCODINGS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


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
    """A line of an export: a memory with its id and its links in the export."""

    id: str | None = None
    superseded_by: str | None = None


class ImportOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str | None, argument("FILE", "An export, as JSON Lines; - reads standard input")] = None
    session: Annotated[str | None, option("--from", "The session of an agent, as JSON Lines", "FILE")] = None
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
        _import_session(options, options.session)
        return
    if options.dry_run or options.limit:
        raise UsageError("--dry-run and --limit are for sessions: add --from")
    records = _read(str(options.file))
    links = _links(records)
    known: dict[str, wire.MemoryStoreResult] = {}
    existed = 0
    with options.connect() as daemon:
        for record, memory in zip(records, _stored(daemon, options, records), strict=True):
            existed += memory.existed
            if record.id is not None:
                known[record.id] = memory
                _link(daemon, links.get(record.id, []), known)
    imported = len(records) - existed
    options.show({"imported": imported, "existed": existed}, _in_words(imported, existed))


def _stored(
    daemon: Connection, options: ImportOptions, records: Sequence[wire.NewMemory]
) -> Iterator[wire.MemoryStoreResult]:
    """Store memories in batches, and yield the result of each memory."""
    with options.progress() as progress:
        for start in range(0, len(records), _BATCH):
            progress(ProgressValue(stage="import", done=start, total=len(records)))
            batch = [copied(wire.NewMemory, each) for each in records[start : start + _BATCH]]
            params = wire.MemoryImportParams(records=batch)
            yield from daemon.call("memory.import", params, wire.MemoryManyResult).memories


def _links(records: Sequence[_Exported]) -> dict[str, list[tuple[str, str]]]:
    """Return the links (newer, older) of each memory, by the ids in the export."""
    links: dict[str, list[tuple[str, str]]] = {}
    for each in records:
        if each.id and each.superseded_by:
            for end in (each.id, each.superseded_by):
                links.setdefault(end, []).append((each.superseded_by, each.id))
    return links


def _link(daemon: Connection, links: list[tuple[str, str]], known: dict[str, wire.MemoryStoreResult]) -> None:
    """Store the links between memories that have new ids, unless both memories existed before."""
    for newer, older in ((known[newer], known[older]) for newer, older in links if newer in known and older in known):
        if not (newer.existed and older.existed) and newer.id != older.id:
            daemon.call("memory.update", wire.MemoryUpdateParams(id=newer.id, supersedes=[older.id]), wire.MemoryRecord)


def _in_words(imported: int, existed: int) -> str:
    return f"imported {memories(imported)}" + (f"; {existed:,} already existed" if existed else "")


def _read(name: str) -> list[_Exported]:
    """Check and return all memories in the file. Raises UsageError, which names the line."""
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


def _import_session(options: ImportOptions, name: str) -> None:
    """Store the turns in the file, or show them. Raises UsageError for a file without turns."""
    counts = RecordCounts()
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    with _opened(name) as file:
        turns = list(read_turns(file, counts, options.limit))
    _refuse_other_files(name, counts)
    if options.dry_run:
        options.show({**structs.asdict(counts), "imported": 0}, _preview(turns, counts))
        return
    records = _records(turns, options.namespace, _modified(name) or now)
    existed = done = 0
    try:
        with options.connect() as daemon:
            for memory in _stored(daemon, options, records):
                existed += memory.existed
                done += 1
    except KeyboardInterrupt:
        options.note(f"stopped after {done:,} of {len(records):,}: importing the file again continues")
        raise
    options.show(
        {**structs.asdict(counts), "imported": done - existed, "existed": existed},
        "\n".join([_in_words(done - existed, existed), *_left_out(counts)]),
    )


def _opened(name: str) -> nullcontext[BinaryIO] | BinaryIO:
    if name == "-":
        return nullcontext(sys.stdin.buffer)
    file = Path(name).expanduser().open("rb")
    start = file.peek(2)[:2]
    for mark, encoding in _OTHER_ENCODINGS:
        if start == mark:
            file.close()
            raise UsageError(text.line(f"{name} is {encoding}: convert it with `iconv -f {encoding} -t UTF-8`"))
    return file


def _refuse_other_files(name: str, counts: RecordCounts) -> None:
    if counts.turns or counts.secret:
        return
    broken = counts.broken + counts.too_long
    if broken and not counts.other:
        raise UsageError(text.line(f"{name} is not JSON Lines: none of its {count(broken, 'line')} can be read"))
    why = f": {'; '.join(_left_out(counts))}" if counts.other or broken else ": it is empty"
    raise UsageError(text.line(f"{name} contains no turns of a conversation{why}"))


def _modified(name: str) -> str | None:
    if name == "-":
        return None
    seconds = Path(name).expanduser().stat().st_mtime
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):  # a file's time may have any value
        return None


def _records(turns: Sequence[TranscriptTurn], namespace: str, otherwise: str) -> list[wire.NewMemory]:
    """Return the memories to store. Each has the time of its turn, so importing them again changes nothing."""
    return [
        wire.NewMemory(
            text=part,
            type=_TURN_TYPE,
            namespace=namespace,
            created=turn.time or otherwise,
            updated=turn.time or otherwise,
            when=turn.time,
        )
        for turn in turns
        for part in texts_of(turn)
    ]


def _preview(turns: Sequence[TranscriptTurn], counts: RecordCounts) -> Iterator[str]:
    for turn in turns:
        time = turn.time[:16].replace("T", " ") if turn.time else "no time"
        yield text.line(f"{time}  {text.clip(' '.join(f'{turn.speaker}: {turn.text}'.split()), _SHOWN_CHARACTERS)}")
    yield f"would import {count(len(turns), 'turn')}; nothing was stored"
    yield from _left_out(counts)


def _left_out(counts: RecordCounts) -> list[str]:
    """Return a sentence for each reason why something was left out."""
    reasons = (
        (counts.secret, "turn", "left out: they seem to contain a key, a token or a password"),
        (counts.repeated, "turn", "left out: the same text occurs before"),
        (counts.other, "line", "skipped: not a turn of a conversation"),
        (counts.broken, "line", "skipped: not JSON in UTF-8"),
        (counts.too_long, "line", "skipped: too long"),
    )
    return [f"{count(number, noun)} {what}" for number, noun, what in reasons if number]
