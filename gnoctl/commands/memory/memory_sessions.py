"""`gnoctl memory import --from`: the turns of an agent's session as memories."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from msgspec import structs

from gnoctl.command import JsonOptions
from gnoctl.commands.memory.transcripts import RecordCounts, TranscriptTurn, read_turns, texts_of
from gnoctl.printing import text
from gnoctl.printing.memories import memories
from gnoctl.printing.wording import count
from gnod.errors import UsageError
from gnod.protocol.base import ProgressValue
from gnod.protocol.memory import MemoryImportParams, MemoryManyResult, NewMemory

TYPE = "message"
_BATCH = 20
_SHOWN_CHARACTERS = 100
_OTHER_ENCODINGS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


def import_session(options: JsonOptions, name: str, *, namespace: str, limit: int | None, dry_run: bool) -> None:
    """Store the turns in the file, or show them. Raises UsageError for a file without turns."""
    counts = RecordCounts()
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    with _opened(name) as file:
        turns = list(read_turns(file, counts, limit))
    _refuse_other_files(name, counts)
    if dry_run:
        options.show({**structs.asdict(counts), "imported": 0}, _preview(turns, counts))
        return
    records = _records(turns, namespace, _modified(name) or now)
    existed = done = 0
    try:
        with options.connect() as daemon, options.progress() as progress:
            for start in range(0, len(records), _BATCH):
                progress(ProgressValue(stage="import", done=start, total=len(records)))
                params = MemoryImportParams(records=records[start : start + _BATCH])
                result = daemon.call("memory.import", params, MemoryManyResult)
                existed += sum(memory.existed for memory in result.memories)
                done += len(result.memories)
    except KeyboardInterrupt:
        options.note(f"stopped after {done:,} of {len(records):,}: importing the file again continues")
        raise
    existing = f"; {existed:,} already existed" if existed else ""
    left_out = _left_out(counts)
    options.show(
        {**structs.asdict(counts), "imported": done - existed, "existed": existed},
        "\n".join([f"imported {memories(done - existed)}{existing}", *left_out]),
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


def _records(turns: Sequence[TranscriptTurn], namespace: str, otherwise: str) -> list[NewMemory]:
    """Return the memories to store. Their times are those of the turns, so importing them again changes nothing."""
    return [
        NewMemory(
            text=part,
            type=TYPE,
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
    """Return a sentence for each reason for which something was left out."""
    reasons = (
        (counts.secret, "turn", "left out: they seem to contain a key, a token or a password"),
        (counts.repeated, "turn", "left out: the same text occurs before"),
        (counts.other, "line", "skipped: not a turn of a conversation"),
        (counts.broken, "line", "skipped: not JSON in UTF-8"),
        (counts.too_long, "line", "skipped: too long"),
    )
    return [f"{count(number, noun)} {what}" for number, noun, what in reasons if number]
