from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.errors import GnoError, LimitExceeded, ParseError
from gnod.protocol.framing import MAX_HEADER_BYTES, Framer, Framing, encode

LIMIT = 64

payloads = st.lists(
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(), max_size=3).map(
        lambda value: json.dumps(value).encode()
    ),
    max_size=5,
)
framings = st.sampled_from(Framing)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def read(pieces: list[bytes], limit: int = 1000) -> tuple[list[bytes], str | None]:
    """Return the payloads, and the message of the fault that ends the stream."""
    framer = Framer(limit)
    got: list[bytes] = []
    try:
        for piece in pieces:
            got += framer.feed(piece)
            # The limit of a message or of its headers, plus one piece.
            assert framer.held_bytes <= max(limit, MAX_HEADER_BYTES + 3) + len(piece)
        got += framer.finish()
    except (ParseError, LimitExceeded):
        assert framer.fault
    return got, framer.fault.message if framer.fault else None


@given(payloads, framings, st.lists(st.integers(0, 10_000), max_size=20))
def test_any_split_gives_the_same_payloads(sent: list[bytes], framing: Framing, cuts: list[int]) -> None:
    stream = b"".join(encode(payload, framing) for payload in sent)
    assert read(split(stream, cuts)) == (sent, None)


@given(payloads, framings)
def test_a_framer_is_mid_message_only_inside_one(sent: list[bytes], framing: Framing) -> None:
    framer = Framer(1000)
    for payload in sent:
        wire = encode(payload, framing)
        for position in range(1, len(wire)):
            framer.feed(wire[position - 1 : position])
            assert framer.is_mid_message
        assert framer.feed(wire[-1:]) == [payload]
        assert not framer.is_mid_message


FAULTS: list[tuple[str, bytes, type[GnoError]]] = [
    ("http", b"GET / HTTP/1.1\r\n\r\n", ParseError),
    ("a bare word", b"hello\n", ParseError),
    ("a byte order mark", b"\xef\xbb\xbf{}\n", ParseError),
    ("a line over the limit", b"{" + b" " * LIMIT + b"}\n", LimitExceeded),
    ("an endless line", b"{" + b" " * LIMIT, LimitExceeded),
    ("a body over the limit", b"Content-Length: 65\r\n\r\n", LimitExceeded),
    ("a length of 20 digits", b"Content-Length: 99999999999999999999\r\n\r\n", LimitExceeded),
    ("a length of 21 digits", b"Content-Length: 999999999999999999999\r\n\r\n", ParseError),
    ("a negative length", b"Content-Length: -1\r\n\r\n", ParseError),
    ("no length", b"Content-Type: x\r\n\r\n", ParseError),
    ("two lengths", b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", ParseError),
    ("a header without a colon", b"Content-Length 2\r\n\r\n", ParseError),
    ("bare newlines in headers", b"Content-Length: 2\nX: y\r\n\r\n", ParseError),
    ("endless headers", b"C" * (MAX_HEADER_BYTES + 4), LimitExceeded),
]


@pytest.mark.parametrize(("data", "expected"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_faults(data: bytes, expected: type[GnoError]) -> None:
    framer = Framer(LIMIT)
    with pytest.raises(expected):
        framer.feed(data)
    with pytest.raises(expected):
        framer.feed(b"{}\n")  # a framer does not recover from a fault


def test_headers_in_the_letter_case_and_order_that_editors_use() -> None:
    stream = b"content-type: application/vscode-jsonrpc; charset=utf-8\r\nCONTENT-LENGTH:2\r\n\r\n{}"
    assert Framer().feed(stream) == [b"{}"]


def test_blank_lines_and_carriage_returns_are_not_messages() -> None:
    assert Framer().feed(b"\r\n \n{}\r\n\n[]\n") == [b"{}", b"[]"]


def test_the_end_and_the_limits_of_a_stream() -> None:
    assert read([b'{"a":1}']) == ([b'{"a":1}'], None), "the last line needs no newline"
    assert read([b"Content-Length: 5\r\n\r\n{}"])[1], "an unfinished body is a fault"
    assert read([b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"]) == ([b"{}"], None)
    assert read([b"{}\n{" + b" " * LIMIT], LIMIT)[0] == [b"{}"], "messages before a fault are delivered"


def test_a_message_of_exactly_the_limit_passes() -> None:
    payload = b"{" + b" " * (LIMIT - 2) + b"}"
    for framing in Framing:
        assert Framer(LIMIT).feed(encode(payload, framing)) == [payload]


def test_a_slow_sender_does_not_cost_quadratic_time() -> None:
    framer = Framer()
    for _ in range(20_000):
        framer.feed(b"{" + b" " * 500)
    assert framer.feed(b"\n") != []
