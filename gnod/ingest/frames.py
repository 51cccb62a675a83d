"""Messages between the daemon and a converter worker: a length of 4 bytes, then msgpack.

Both ends are ours. The limit is there so that a damaged length is an error and not an allocation.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING

import msgspec

from gnod.ingest.jobs import FileJob, FileStat, Job, Outcome

if TYPE_CHECKING:
    from asyncio import StreamReader

MAX_FRAME_BYTES = 1 << 30
_LENGTH = struct.Struct(">I")


class FrameError(Exception):
    """The stream ended inside a frame, or a frame is larger than any can be."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A job on its way to a worker. `path` stands for the job's own where that is not valid Unicode: file
    names are bytes, and msgpack takes no lone surrogates."""

    job: Job
    path: bytes | None = None


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started."""


class Taken(msgspec.Struct, frozen=True, tag="taken"):
    """The worker has the job: if it ends now, the job is to blame. `stat` is the file at first sight, for a
    failure that the worker cannot report itself."""

    stat: FileStat | None = None


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """`heavy`: the process holds big libraries now, and should not be kept for long."""

    outcome: Outcome
    heavy: bool


Reply = Ready | Taken | Done
_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(Request)
_replies = msgspec.msgpack.Decoder(Reply)


def encode(message: Request | Reply) -> bytes:
    """Return the frame. Raises UnicodeEncodeError for lone surrogates, FrameError when it is too large."""
    payload = _encoder.encode(message)
    if len(payload) > MAX_FRAME_BYTES:
        raise FrameError(f"{len(payload):,} bytes do not fit into a frame")
    return _LENGTH.pack(len(payload)) + payload


def request(job: Job) -> Request:
    """Wrap a job so that it can be encoded whatever its file is called."""
    if not isinstance(job, FileJob) or _is_unicode(job.path + job.relative_path):
        return Request(job=job)
    shown = job.relative_path.encode("utf-8", "replace").decode()
    sent = msgspec.structs.replace(job, path="", relative_path=shown)
    return Request(job=sent, path=os.fsencode(job.path))


def job_of(received: Request) -> Job:
    """Undo `request`; the relative path keeps its replacement characters."""
    if received.path is None or not isinstance(received.job, FileJob):
        return received.job
    return msgspec.structs.replace(received.job, path=os.fsdecode(received.path))


def receive_request(channel: socket.socket) -> Request | None:
    """Block for the next request; None when the other end is gone."""
    header = _receive(channel, _LENGTH.size)
    if not header:
        return None
    payload = _receive(channel, _length(header))
    if payload is None:
        raise FrameError("the stream ended inside a frame")
    return _requests.decode(payload)


async def read_reply(reader: StreamReader) -> Reply | None:
    """Wait for the next reply; None when the other end is gone."""
    from asyncio import IncompleteReadError  # 60 ms that a worker does not need

    try:
        header = await reader.readexactly(_LENGTH.size)
    except IncompleteReadError as end:
        if not end.partial:
            return None
        raise FrameError("the stream ended inside a frame") from end
    try:
        payload = await reader.readexactly(_length(header))
    except IncompleteReadError as end:
        raise FrameError("the stream ended inside a frame") from end
    reply: Reply = _replies.decode(payload)
    return reply


def _length(header: bytes | bytearray) -> int:
    size: int = _LENGTH.unpack(header)[0]
    if size > MAX_FRAME_BYTES:
        raise FrameError(f"a frame of {size:,} bytes")
    return size


def _receive(channel: socket.socket, size: int) -> bytearray | None:
    """Return exactly `size` bytes; None at the end of the stream."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    at = 0
    while at < size:
        received = channel.recv_into(view[at:])
        if not received:
            if at:
                raise FrameError("the stream ended inside a frame")
            return None
        at += received
    return buffer


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
