"""For any bytes in any split, framing raises only gnod's own errors, gives the same messages, and bounds its memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnod.errors import ParseError
from gnod.protocol import jsonrpc
from gnod.protocol.framing import Framing, encode
from gnod.protocol.jsonrpc import BadRequestError, encode_call
from gnod.rpc.connection import ConnectionLimits
from tests.protocol.test_framing import read, split
from tests.rpc.harness import Served, serving
from tests.stress.mutation import mutated

LIMIT = 300

SEEDS = [
    encode(encode_call("echo", {"text": "a", "tags": ["b"], "fields": {"c": "d"}, "limit": 3}, 1), Framing.LINES),
    encode(encode_call("echo", {"text": "a"}, "x"), Framing.HEADERS),
    encode(encode_call("big", {"size": 3}, 1.5), Framing.HEADERS) * 2,
    b"[" + encode_call("echo", request_id=1) + b"," + encode_call("missing", request_id=2) + b"]\n",
    encode_call("echo", request_id=1) + b"\n" + encode_call("$/cancelRequest", {"id": 1}) + b"\n",
    b"Content-Type: x\r\ncontent-length : 2\r\n\r\n{}",
]

# Valid streams with random mutations. The mutations come from a seed, which hypothesis can shrink.
nearly_right = st.builds(
    lambda seed, number: mutated(seed, random.Random(number)), st.sampled_from(SEEDS), st.integers(0, 2**32)
)
PIECES = [b"{", b"}", b"[", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"Content-Length: ", b"1", b"\xff", b"C", b":"]
noise = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4)).map(b"".join)
anything = noise | st.binary(max_size=600) | nearly_right | st.lists(nearly_right, max_size=3).map(b"".join)
cuts = st.lists(st.integers(0, 5000), max_size=12)


@pytest.mark.slow
@settings(max_examples=300)
@given(anything, cuts)
def test_every_split_gives_the_same_messages(data: bytes, at: list[int]) -> None:
    whole = read([data], LIMIT)
    assert read(split(data, at), LIMIT) == whole
    assert read([data[i : i + 1] for i in range(len(data))], LIMIT) == whole
    assert all(len(payload) <= LIMIT for payload in whole[0])


@pytest.mark.slow
@settings(max_examples=300)
@given(anything)
def test_a_framed_message_is_a_request_or_refused(data: bytes) -> None:
    for payload in read([data], LIMIT)[0]:
        try:
            members = jsonrpc.split_batch(payload, 64) or [payload]
        except BadRequestError as bad:
            json.loads(jsonrpc.encode_error(bad.id, bad.error))
            continue
        for member in members:
            try:
                request = jsonrpc.decode_request(member)
            except BadRequestError as bad:
                json.loads(jsonrpc.encode_error(bad.id, bad.error))
            else:
                assert type(request.method) is str


REPLIES = [
    jsonrpc.encode_result(1, {"hits": [{"path": "a.md", "score": 0.5}]}),
    jsonrpc.encode_error("x", ParseError("not valid JSON")),
    encode_call("$/progress", {"id": 1, "value": {}}),
]


@settings(max_examples=300)
@given(
    st.binary(max_size=200)
    | st.builds(lambda reply, number: mutated(reply, random.Random(number)), st.sampled_from(REPLIES), st.integers(0))
)
def test_any_bytes_are_a_reply_or_refused(payload: bytes) -> None:
    with contextlib.suppress(ParseError):
        assert isinstance(jsonrpc.decode_response(payload), jsonrpc.Response)


@pytest.mark.parametrize("reply", REPLIES)
def test_the_client_refuses_truncated_replies(reply: bytes) -> None:
    jsonrpc.decode_response(reply)
    for length in range(len(reply)):
        with pytest.raises(ParseError, match="invalid reply from the daemon"):
            jsonrpc.decode_response(reply[:length])


@pytest.mark.parametrize(
    "payload",
    [
        *(b"null", b"[]", b'"text"', b"Content-Length: 2", b"\xff\xfe{}", b'{"id":true}', b'{"id":{}}'),
        b'{"id":1,"result":tru}',
        b'{"id":1,"result":1} x',
        b'{"id":1,"result":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}",
        b'{"id":1,"error":"no"}',
        b'{"id":1,"error":{"code":1}}',
        b'{"id":1,"error":{"code":"x","message":"m"}}',
        b'{"method":1}',
    ],
    ids=lambda payload: repr(payload[:30]),
)
def test_the_client_refuses_what_is_not_a_reply(payload: bytes) -> None:
    with pytest.raises(ParseError, match="invalid reply from the daemon"):
        jsonrpc.decode_response(payload)


WRONG_LENGTHS = [
    ("too small", b"Content-Length: 3\r\n\r\n" + SEEDS[0]),
    ("too large", b"Content-Length: 999\r\n\r\n{}"),
    ("zero", b"Content-Length: 0\r\n\r\n" + SEEDS[1]),
    ("hexadecimal", b"Content-Length: 0x10\r\n\r\n" + b" " * 16),
    ("with a plus", b"Content-Length: +2\r\n\r\n{}"),
    ("a fraction", b"Content-Length: 2.0\r\n\r\n{}"),
    ("with an exponent", b"Content-Length: 1e1\r\n\r\n{}"),
    ("digits of another script", "Content-Length: ٢\r\n\r\n{}".encode()),
    ("a list", b"Content-Length: 2, 2\r\n\r\n{}"),
    ("folded", b"Content-Length:\r\n 2\r\n\r\n{}"),
    ("empty", b"Content-Length:\r\n\r\n{}"),
    ("twice, different", b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
    ("hidden in another header", b"X-Content-Length: 2\r\n\r\n{}"),
    ("with a NUL", b"Content-Length: 2\0\r\n\r\n{}"),
    ("blank lines of newlines alone", b"Content-Length: 2\n\n{}"),
    ("lines after headers", encode(b"{}", Framing.HEADERS) + SEEDS[0]),
    ("headers after lines", SEEDS[0] + SEEDS[1]),
    ("chunked", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
]


@pytest.mark.parametrize("data", [data for _, data in WRONG_LENGTHS], ids=[name for name, _ in WRONG_LENGTHS])
async def test_a_wrong_length_is_detected_or_harmless(data: bytes) -> None:
    assert read([data[at : at + 1] for at in range(len(data))], LIMIT) == read([data], LIMIT)
    async with serving(ConnectionLimits(message_bytes=LIMIT)) as served:
        answers = await served.exchange(data)
        assert answers, "every client gets a reply"
        assert all("error" in answer or "result" in answer for answer in answers)
        await still_serves(served)


async def still_serves(served: Served) -> None:
    (answer,) = await served.exchange(encode_call("echo", {"text": "still"}, 1))
    assert answer["result"] == {"text": "still"}


def test_the_daemon_survives_five_hundred_broken_clients(caplog: pytest.LogCaptureFixture) -> None:
    """Each client sends nearly valid bytes in parts. Afterwards no task is left, and no internal error occurred."""
    chance = random.Random(7)

    async def client(served: Served) -> None:
        data = mutated(chance.choice(SEEDS), chance)[:5000]
        if b'"wait"' in data or b'"unwritable' in data:
            return
        async with await served.client() as one:
            for part in split(data, [chance.randrange(5000) for _ in range(chance.randrange(4))]):
                one.send(part)
                await asyncio.sleep(0)
            if chance.random() < 0.3:
                return  # disconnect within a message
            one.writer.write_eof()
            for answer in await one.receive_all():
                for each in answer if isinstance(answer, list) else [answer]:
                    assert each.get("error", {}).get("code") != -32603, (data, each)

    async def scenario() -> None:
        faults: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        async with serving(ConnectionLimits(message_bytes=4096)) as served:
            before = len(asyncio.all_tasks())
            for _ in range(25):
                await asyncio.gather(*(client(served) for _ in range(20)))
            await served.connections_left(0)
            await still_serves(served)
            await served.connections_left(0)
            assert len(asyncio.all_tasks()) <= before + 1
        assert not faults

    with caplog.at_level("ERROR", "gnod"):
        asyncio.run(asyncio.wait_for(scenario(), 60))
    assert not [record for record in caplog.records if record.getMessage() != "request.failed"]
