"""Frames between daemon and worker: any split of the stream, and what a damaged one does."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest import frames
from gnod.ingest.jobs import Failure, FileJob, Job, TextJob, Unchanged
from gnod.store.records import FileStat

JOBS: list[Job] = [
    FileJob(path="/a/ü.md", relative_path="ü.md", max_bytes=1, max_characters=2),
    TextJob(text="# 日本語\n" * 50, relative_path="b.md", language="ja"),
]
REPLIES: list[frames.Reply] = [
    frames.Ready(),
    frames.Taken(stat=FileStat(1, 2, 3)),
    frames.Done(outcome=Unchanged(source_hash="ab", stat=FileStat(1, 2, 3)), heavy=False),
    frames.Done(outcome=Failure(stage="read", kind="vanished", message="x"), heavy=True),
]


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(places)]


@given(st.lists(st.integers(min_value=0), max_size=40))
def test_replies_survive_any_split(cuts: list[int]) -> None:
    stream = b"".join(map(frames.encode, REPLIES))

    async def read() -> list[frames.Reply | None]:
        reader = asyncio.StreamReader()
        for piece in pieces(stream, cuts):
            reader.feed_data(piece)
        reader.feed_eof()
        return [await frames.read_reply(reader) for _ in range(len(REPLIES) + 1)]

    assert asyncio.run(read()) == [*REPLIES, None]


@pytest.mark.parametrize("cuts", [[], list(range(200)), [1, 5, 6, 300]])
def test_requests_survive_any_split(cuts: list[int]) -> None:
    stream = b"".join(frames.encode(frames.request(job)) for job in JOBS)
    ours, theirs = socket.socketpair()

    def send() -> None:
        with ours:
            for piece in pieces(stream, cuts):
                ours.sendall(piece)

    sender = threading.Thread(target=send)
    sender.start()
    with theirs:
        received = [frames.receive_request(theirs) for _ in JOBS]
        assert frames.receive_request(theirs) is None
    sender.join()
    assert [frames.job_of(request) for request in received if request] == JOBS


def test_a_file_name_that_is_not_utf8_arrives() -> None:
    job = FileJob(path="/a/bad-\udcff\udcfe.md", relative_path="bad-\udcff\udcfe.md", max_bytes=1, max_characters=1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(frames.encode(frames.request(job)))
        request = frames.receive_request(theirs)
    assert request is not None
    arrived = frames.job_of(request)
    assert isinstance(arrived, FileJob)
    assert arrived.path == job.path
    assert arrived.relative_path == "bad-??.md"


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\x05abc", struct.pack(">I", frames.MAX_FRAME_BYTES + 1) + b"x"])
def test_a_damaged_stream_is_an_error(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(data)
        with pytest.raises(frames.FrameError):
            frames.receive_request(theirs)

    async def read() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        await frames.read_reply(reader)

    with pytest.raises(frames.FrameError):
        asyncio.run(read())
