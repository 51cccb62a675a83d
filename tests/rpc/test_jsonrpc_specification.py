"""The examples of https://www.jsonrpc.org/specification, over a real socket, in both framings.

gnod accepts only parameters by name. It answers the examples with positional ones with -32602, which the specification
permits. Where an example is about something else, its parameters are passed by name.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gnod.protocol.framing import Framing, encode
from tests.rpc.harness import serving

NONE: list[Any] = []

EXAMPLES: list[tuple[str, str, list[Any]]] = [
    ("positional parameters", '{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}', [(1, -32602)]),
    (
        "named parameters",
        '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
        [(3, 19)],
    ),
    (
        "named parameters in the other order",
        '{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
        [(4, 19)],
    ),
    ("notification", '{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', NONE),
    ("notification of a missing method", '{"jsonrpc": "2.0", "method": "foobar"}', NONE),
    ("missing method", '{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', [("1", -32601)]),
    ("invalid JSON", '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', [(None, -32700)]),
    ("invalid request", '{"jsonrpc": "2.0", "method": 1, "params": "bar"}', [(None, -32600)]),
    (
        "batch of invalid JSON",
        '[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]',
        [(None, -32700)],
    ),
    ("empty batch", "[]", [(None, -32600)]),
    ("batch of one that is no request", "[1]", [[(None, -32600)]]),
    ("batch of three that are no requests", "[1,2,3]", [[(None, -32600), (None, -32600), (None, -32600)]]),
    (
        "batch",
        '[{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 9, "subtrahend": 2}, "id": "1"},'
        ' {"jsonrpc": "2.0", "method": "echo", "params": {"text": "7"}},'
        ' {"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": "2"},'
        ' {"foo": "boo"},'
        ' {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},'
        ' {"jsonrpc": "2.0", "method": "echo", "id": "9"}]',
        [[("1", 7), ("2", 19), (None, -32600), ("5", -32601), ("9", {"text": ""})]],
    ),
    (
        "batch of notifications",
        '[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},'
        ' {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]',
        NONE,
    ),
]


def outline(answer: Any) -> Any:
    """Check that the message is a plain response, and return (id, result or error code)."""
    if isinstance(answer, list):
        return [outline(member) for member in answer]
    assert answer["jsonrpc"] == "2.0"
    assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    return answer["id"], answer["error"]["code"] if "error" in answer else answer["result"]


@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize(
    ("sent", "expected"), [example[1:] for example in EXAMPLES], ids=[example[0] for example in EXAMPLES]
)
async def test_examples(sent: str, expected: list[Any], framing: Framing) -> None:
    async with serving() as served:
        answers = await served.exchange(encode(sent.encode(), framing))
        assert [outline(answer) for answer in answers] == expected


async def test_the_framing_of_the_first_message_is_mirrored() -> None:
    request = json.dumps({"jsonrpc": "2.0", "method": "echo", "id": 1}).encode()
    async with serving() as served, await served.client() as client:
        client.send(encode(request, Framing.HEADERS))
        assert (await client.reader.readline()).startswith(b"Content-Length: ")
    async with serving() as served, await served.client() as client:
        client.send(encode(request, Framing.LINES))
        assert json.loads(await client.reader.readline())["id"] == 1
