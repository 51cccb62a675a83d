"""Frames between the daemon and a child: any split of the stream, and damaged streams."""

from __future__ import annotations

import asyncio
import socket
import struct
import subprocess
import sys
import threading
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.child import frames


class Note(msgspec.Struct, frozen=True):
    text: str
    data: bytes = b""


NOTES = [Note(""), Note("日本語\n" * 50), Note("ü", bytes(range(256)))]
DECODER = msgspec.msgpack.Decoder(Note)
STREAM = b"".join(map(frames.encode, NOTES))
# The stream ends within the length, within the message, before the message; a length over the limit.
DAMAGED = [b"\0", b"\0\0\0\x05abc", b"\0\0\0\x05", struct.pack(">I", frames.MAX_FRAME_BYTES + 1) + b"x"]


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(places)]


async def read_all(parts: list[bytes]) -> list[Note]:
    """Return the messages that the daemon reads up to the end of the stream."""
    reader = asyncio.StreamReader()
    for part in parts:
        reader.feed_data(part)
    reader.feed_eof()
    notes = []
    while (note := await frames.read(reader, DECODER)) is not None:
        notes.append(note)
    return notes


def receive_all(parts: list[bytes]) -> list[Note]:
    """Return the messages that a child receives up to the end of the stream."""
    ours, theirs = socket.socketpair()

    def send() -> None:
        with ours:
            for part in parts:
                ours.sendall(part)

    sender = threading.Thread(target=send)
    sender.start()
    notes = []
    try:
        with theirs:
            while (note := frames.receive(theirs, DECODER)) is not None:
                notes.append(note)
    finally:
        sender.join()
    return notes


@given(st.lists(st.integers(min_value=0), max_size=40))
def test_the_daemon_reads_any_split(cuts: list[int]) -> None:
    assert asyncio.run(read_all(pieces(STREAM, cuts))) == NOTES


@pytest.mark.parametrize("cuts", [[], list(range(200)), [1, 5, 6, 300]])
def test_a_child_receives_any_split(cuts: list[int]) -> None:
    assert receive_all(pieces(STREAM, cuts)) == NOTES


@pytest.mark.parametrize("data", DAMAGED)
def test_a_damaged_stream_is_an_error(data: bytes) -> None:
    with pytest.raises(frames.FrameError):
        receive_all([data])
    with pytest.raises(frames.FrameError):
        asyncio.run(read_all([data]))


def test_a_message_of_the_wrong_type_is_an_error() -> None:
    other = frames.encode({"number": 1})
    with pytest.raises(msgspec.DecodeError):
        receive_all([other])
    with pytest.raises(msgspec.DecodeError):
        asyncio.run(read_all([other]))


def test_lone_surrogates_cannot_be_encoded() -> None:
    with pytest.raises(UnicodeEncodeError):
        frames.encode(Note("half \ud800"))


def test_a_child_does_not_import_heavy_modules() -> None:
    program = "import sys, gnod.child.frames, gnod.child.child_setup\nprint(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not {"asyncio", "psutil", "logging"} & set(printed.split())
