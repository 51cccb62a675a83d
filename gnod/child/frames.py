"""Messages between the daemon and a child process: a 4-byte length, then msgpack.

Because of the limit, a damaged length causes an error instead of an allocation.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

import msgspec

if TYPE_CHECKING:
    import socket
    from asyncio import StreamReader

MAX_FRAME_BYTES = 1 << 30
_LENGTH = struct.Struct(">I")
_encoder = msgspec.msgpack.Encoder()

T = TypeVar("T")


class FrameError(Exception):
    """The stream ended inside a frame, or a frame exceeds the limit."""


def encode(message: object) -> bytes:
    """Return the frame. Raises UnicodeEncodeError for lone surrogates, and FrameError if the frame is too large."""
    payload = _encoder.encode(message)
    if len(payload) > MAX_FRAME_BYTES:
        raise FrameError(f"{len(payload):,} bytes do not fit into a frame")
    return _LENGTH.pack(len(payload)) + payload


def receive(channel: socket.socket, decoder: msgspec.msgpack.Decoder[T]) -> T | None:
    """Block for the next message; return None if the other end is closed. Raises FrameError and msgspec.DecodeError."""
    header = _receive(channel, _LENGTH.size)
    if not header:
        return None
    payload = _receive(channel, _length(header))
    if payload is None:
        raise FrameError("the stream ended inside a frame")
    return decoder.decode(payload)


async def read(reader: StreamReader, decoder: msgspec.msgpack.Decoder[T]) -> T | None:
    """Wait for the next message. Returns and raises as `receive`."""
    from asyncio import IncompleteReadError  # the import takes 60 ms, and a child does not need it

    header = b""
    try:
        header = await reader.readexactly(_LENGTH.size)
        payload = await reader.readexactly(_length(header))
    except IncompleteReadError as end:
        if not header and not end.partial:
            return None
        raise FrameError("the stream ended inside a frame") from end
    return decoder.decode(payload)


def _length(header: bytes | bytearray) -> int:
    size: int = _LENGTH.unpack(header)[0]
    if size > MAX_FRAME_BYTES:
        raise FrameError(f"a frame of {size:,} bytes")
    return size


def _receive(channel: socket.socket, size: int) -> bytearray | None:
    """Return exactly `size` bytes, or None at the end of the stream."""
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
