"""Messages between the daemon and a converter worker: both directions, and names that are no Unicode."""

from __future__ import annotations

import asyncio
import socket

from gnod.child import frames
from gnod.ingest.workers import messages
from gnod.ingest.workers.jobs import Failure, FileJob, Job, PageJob, PageRead, TextJob, Unchanged
from gnod.store.tables.records import FileStat

JOBS: list[Job] = [
    FileJob(path="/a/ü.md", relative_path="ü.md", max_bytes=1, max_characters=2),
    PageJob(path="/a/ü.pdf", relative_path="ü.pdf", max_bytes=1, number=12),
    TextJob(text="# 日本語\n" * 50, relative_path="b.md", language="ja"),
]
REPLIES: list[messages.Reply] = [
    messages.ReaderReady(),
    messages.Taken(stat=FileStat(1, 2, 3)),
    messages.ReadDone(outcome=Unchanged(source_hash="ab", stat=FileStat(1, 2, 3)), heavy=False),
    messages.ReadDone(
        outcome=PageRead(source_hash="ab", width=1.5, height=2.0, text="é", boxes=bytes(16)),
        heavy=False,
    ),
    messages.ReadDone(outcome=Failure(stage="read", kind="vanished", message="x"), heavy=True),
]


def arrived(job: Job) -> Job:
    """The job as a worker gets it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(frames.encode(messages.request(job)))
        request = frames.receive(theirs, messages.REQUESTS)
    assert request is not None
    return messages.job_of(request)


def test_jobs_arrive() -> None:
    assert list(map(arrived, JOBS)) == JOBS


def test_replies_arrive() -> None:
    async def read() -> list[messages.Reply]:
        reader = asyncio.StreamReader()
        reader.feed_data(b"".join(map(frames.encode, REPLIES)))
        reader.feed_eof()
        replies = []
        while (reply := await frames.read(reader, messages.REPLIES)) is not None:
            replies.append(reply)
        return replies

    assert asyncio.run(read()) == REPLIES


def test_a_file_name_that_is_not_utf8_arrives() -> None:
    job = FileJob(path="/a/bad-\udcff\udcfe.md", relative_path="bad-\udcff\udcfe.md", max_bytes=1, max_characters=1)
    received = arrived(job)
    assert isinstance(received, FileJob)
    assert received.path == job.path
    assert received.relative_path == "bad-??.md"
