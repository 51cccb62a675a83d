"""Test that after any change of a log, the index of its parts equals a new one, and unchanged parts are not read."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import msgspec
import pytest

from benchmarks.transcripts import answered, said
from gnod.ingest.member_names import path_of_part
from gnod.ingest.workers.jobs import FileJob, LogRead, Unchanged
from gnod.ingest.workers.worker import perform
from gnod.store.tables import documents
from gnod.store.tables.records import LogPart, PreparedDocument
from tests.ingest.syncing import syncing
from tests.machine import wait_until
from tests.small_index import SmallIndex

# A part contains two of these texts.
LONG = "The crane at the quay was repaired. " * 4000


def job_of(path: Path, known: list[PreparedDocument] | None = None) -> FileJob:
    parts = [LogPart(each.source_hash, each.log) for each in known or [] if each.log]
    return FileJob(
        path=str(path), relative_path=path.name, max_bytes=1_000_000, max_characters=50_000_000, known_parts=parts
    )


def parts_of(path: Path) -> list[PreparedDocument]:
    """Return the parts that a new index would have."""
    found: list[PreparedDocument] = []
    while True:
        outcome = perform(msgspec.structs.replace(job_of(path), read_on=found[-1].log if found else None))
        assert isinstance(outcome, LogRead)
        found += outcome.parts
        if outcome.is_complete:
            return found


def indexed(index: SmallIndex) -> dict[str, tuple[str, str, str, str]]:
    """Return the data of each document in the index."""
    found = documents.under(index.reader, "notes", "", 1000, 0)
    return {
        each.path: (each.source_hash, each.title, each.metadata, documents.markdown(index.reader, each.mirror_hash))
        for each in found
    }


def expected(path: Path) -> dict[str, tuple[str, str, str, str]]:
    return {
        path_of_part(path.name, number): (
            part.source_hash,
            part.title,
            msgspec.json.encode(part.metadata).decode(),
            part.markdown,
        )
        for number, part in enumerate(parts_of(path), 1)
    }


def line(chance: random.Random, minute: int) -> bytes:
    text = chance.choice([f"The heron saw boat {minute}.", LONG, LONG + str(minute)])
    kinds = [said(text, "user", minute), said(text, "assistant", minute), answered(text, minute)]
    return chance.choice([*kinds, *kinds, b"\n", b'{"type": "progress"}\n', b"broken {\n", b'{"half": "writ'])


def changed(chance: random.Random, data: bytes, minute: int) -> bytes:
    """Change a log as programs do: mostly, append to it."""
    at = chance.randrange(len(data))
    match chance.randrange(8):
        case 0:  # truncate it, as a crash would
            return data[:at]
        case 1:  # mask a key in place, and add a message
            return data[:at] + b"x" + data[at + 1 :] + line(chance, minute)
        case 2:  # rewrite it without a line
            lines = data.splitlines(keepends=True)
            return b"".join(lines[:-1] if len(lines) > 1 else lines)
        case 3:  # add the other half of a line
            return data + b'en"}\n'
    return data + b"".join(line(chance, minute) for _ in range(chance.randrange(4)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    return folder / "session.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("GNOD_LOG_EXAMPLES", "2"))))
async def test_whatever_happens_to_a_log(small_index: SmallIndex, path: Path, seed: int) -> None:
    chance = random.Random(seed)
    begin = said("Where are the boats?")
    data = begin
    async with syncing(small_index, path.parent) as sync:
        for minute in range(1, 10):
            path.write_bytes(data)
            report = await sync()
            assert not report.failed, (seed, minute)
            assert indexed(small_index) == expected(path), (seed, minute)
            data = begin + changed(chance, data, minute)[len(begin) :]


@pytest.mark.stress
async def test_a_log_larger_than_any_other_file_may_be(small_index: SmallIndex, path: Path) -> None:
    """It has more parts than one job reads, and a sync continues where an earlier one was interrupted."""
    path.write_bytes(b"".join(said(LONG, "user", minute) for minute in range(40)))
    async with syncing(small_index, path.parent) as sync:
        interrupted = asyncio.ensure_future(sync())
        await asyncio.to_thread(wait_until, lambda: small_index.reader.execute("SELECT 1 FROM documents").get)
        interrupted.cancel()
        await asyncio.wait([interrupted])
        report = await sync()  # the interrupted sync may already have sent the last part to the database
        assert (report.updated + report.unchanged, report.failed, report.skipped) == (1, 0, 0)
        assert indexed(small_index) == expected(path)
        assert (await sync()).unchanged == 1
        with path.open("ab") as file:
            file.write(said("The heron is back."))
        assert (await sync()).updated == 1
        assert indexed(small_index) == expected(path)


def test_only_the_last_part_is_read_again(path: Path) -> None:
    path.write_bytes(b"".join(said(LONG, "user", minute) for minute in range(5)))
    known = parts_of(path)
    assert len(known) == 3
    assert isinstance(perform(job_of(path, known)), Unchanged)
    with path.open("ab") as file:
        file.write(said("The heron is back."))
    outcome = perform(job_of(path, known))
    assert isinstance(outcome, LogRead)
    assert (outcome.first, len(outcome.parts), outcome.is_complete) == (3, 1, True)


def test_a_line_that_is_longer_than_a_window(path: Path) -> None:
    path.write_bytes(
        said("Where are the boats?") + b'{"picture": "' + b"A" * 70_000_000 + b'"}\n' + said("The heron is back.")
    )
    found = parts_of(path)
    assert "boats" in found[0].markdown
    assert "heron" in found[-1].markdown
    assert "1 line could not be read" in "".join(each.markdown for each in found)


def test_another_file_with_the_name_of_a_log(path: Path) -> None:
    path.write_bytes(b'{"type": "user", "name": "heron"}\n' * 10)
    assert isinstance(perform(job_of(path)), PreparedDocument)


def test_no_part_of_a_log_has_a_key(path: Path) -> None:
    """The state of its reader in the index does not have a key either."""
    key = "ghp_" + "a1B2" * 9
    path.write_bytes(said(f"{'My key for the harbour is ' * 3} {key}") + said(LONG) + said(LONG) + said(f"Or {key}?"))
    found = parts_of(path)
    assert len(found) == 2
    assert all("[masked: GitHub token]" in each.markdown for each in found)
    assert b"ghp_" not in msgspec.msgpack.encode(found)
    outcome = perform(msgspec.structs.replace(job_of(path), mask_secrets=False))
    assert isinstance(outcome, LogRead)
    assert key in outcome.parts[0].markdown
