"""Split a byte stream into messages, and frame messages. Pure: must not depend on sockets or JSON.

One socket serves two framings. The first byte of a connection chooses one, and replies use the same:

* ``{`` or ``[``: one message per line (``nc -U``, shells, gnoctl)
* ``C``: headers as in the Language Server Protocol 3.17, ``Content-Length: N\\r\\n\\r\\n`` (editors)
"""

from __future__ import annotations

import re
from enum import Enum

from gnod.errors import LimitExceeded, ParseError

MAX_MESSAGE_BYTES = 16 * 1024 * 1024  # limits replies
MAX_REQUEST_BYTES = 4 * 1024 * 1024  # the longest useful request contains 1,000 references
MAX_HEADER_BYTES = 8 * 1024

_BLANK = b" \t\r\n"  # whitespace in JSON
_CONTENT_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,20})[ \t]*\Z", re.IGNORECASE)
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:[^\r\n]*\Z")


class Framing(Enum):
    LINES = "lines"
    HEADERS = "headers"


def encode(payload: bytes, framing: Framing | None) -> bytes:
    """Return the frame of `payload`, one JSON text without newlines. Until the peer has chosen, the frame is a line."""
    if framing is Framing.HEADERS:
        return b"Content-Length: %d\r\n\r\n%b" % (len(payload), payload)
    return payload + b"\n"


class Framer:
    """Collects bytes, in any split, and returns complete payloads.

    After a framing fault (ParseError, LimitExceeded) the start of the next message is unknown, so the connection must
    be closed. The call that finds the fault raises it, unless it has payloads to return. Then it stores the fault in
    `fault`, so that the same bytes give the same payloads in any split. Every later call raises the fault again.
    """

    def __init__(self, max_message_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self.framing: Framing | None = None
        self.fault: ParseError | LimitExceeded | None = None
        self._max = max_message_bytes
        self._buffer = bytearray()
        self._scanned = 0  # bytes already searched for a line end, to avoid O(n²)
        self._body_length: int | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads that `data` completes, in order."""
        if self.fault is not None:
            raise self.fault
        self._buffer += data
        payloads: list[bytes] = []
        try:
            while (payload := self._next()) is not None:
                payloads.append(payload)
        except (ParseError, LimitExceeded) as fault:
            self.fault = fault
            self._buffer.clear()
            if not payloads:
                raise
        return payloads

    def finish(self) -> list[bytes]:
        """Handle the end of the stream: a last line needs no newline; an incomplete body is a ParseError."""
        if self.framing is Framing.LINES:
            return self.feed(b"\n")
        if self.fault is None and self.is_mid_message:
            self.fault = ParseError("the stream ended inside a message")
        if self.fault is not None:
            raise self.fault
        return []

    @property
    def is_mid_message(self) -> bool:
        """Whether the peer has sent only the beginning of a message."""
        return bool(self._buffer) or self._body_length is not None

    @property
    def held_bytes(self) -> int:
        """The size of the incomplete message in memory."""
        return len(self._buffer)

    def _next(self) -> bytes | None:
        if self.framing is None and not self._choose():
            return None
        return self._next_line() if self.framing is Framing.LINES else self._next_with_headers()

    def _choose(self) -> bool:
        stripped = self._buffer.lstrip(_BLANK)
        if not stripped:
            self._buffer.clear()
            return False
        self._buffer = stripped
        first = bytes(stripped[:1])
        if first in (b"C", b"c"):
            self.framing = Framing.HEADERS
        else:
            # Reply to anything else in lines, and refuse text that is not JSON before it grows.
            self.framing = Framing.LINES
            if first not in (b"{", b"["):
                raise ParseError(
                    "a connection must start with '{' (one message per line) or with Content-Length headers"
                )
        return True

    def _next_line(self) -> bytes | None:
        while True:
            end = self._buffer.find(b"\n", self._scanned)
            if end < 0:
                self._scanned = len(self._buffer)
                self._check_size(self._scanned)
                return None
            self._check_size(end)
            line = bytes(self._buffer[:end]).strip(_BLANK)
            del self._buffer[: end + 1]
            self._scanned = 0
            if line:
                return line

    def _next_with_headers(self) -> bytes | None:
        if self._body_length is None:
            end = self._buffer.find(b"\r\n\r\n", max(0, self._scanned - 3))
            # Add 3 bytes for an incomplete blank line, which `find` does not find yet.
            if end > MAX_HEADER_BYTES or (end < 0 and len(self._buffer) > MAX_HEADER_BYTES + 3):
                raise LimitExceeded(f"message headers are longer than {MAX_HEADER_BYTES} bytes")
            if end < 0:
                self._scanned = len(self._buffer)
                return None
            self._body_length = _content_length(bytes(self._buffer[:end]))
            self._check_size(self._body_length)
            del self._buffer[: end + 4]
            self._scanned = 0
        if len(self._buffer) < self._body_length:
            return None
        payload = bytes(self._buffer[: self._body_length])
        del self._buffer[: self._body_length]
        self._body_length = None
        return payload

    def _check_size(self, size: int) -> None:
        if size > self._max:
            raise LimitExceeded(f"the message is longer than {self._max} bytes", {"limit_bytes": self._max})


def _content_length(block: bytes) -> int:
    lengths = set()
    for header in block.split(b"\r\n"):
        if not _HEADER.match(header):
            raise ParseError("malformed message header")
        if match := _CONTENT_LENGTH.match(header):
            lengths.add(int(match[1]))
        elif header.lower().startswith(b"content-length"):
            raise ParseError("Content-Length is not a number")
    if len(lengths) != 1:
        raise ParseError("message headers need exactly one Content-Length")
    return lengths.pop()
