"""Bad parameters never reach a handler, and the client gets an error that explains them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rpc.harness import SECRET, serving

# params of `echo` as JSON text, error code, part of the message
BAD: list[tuple[str, int, str]] = [
    ('{"txet": "a"}', -32602, "there is no parameter 'txet'; did you mean 'text'?"),
    ('{"zzz": 1}', -32602, "known parameters: progress_token, text, limit"),
    ('{"text": 1}', -32602, "parameter 'text': expected str, got int"),
    ('{"text": null}', -32602, "parameter 'text': expected str, got null"),
    ('{"limit": "5"}', -32602, "parameter 'limit': expected int, got str"),
    ('{"limit": 1e1}', -32602, "parameter 'limit': expected int, got float"),
    ('{"limit": 0}', -32602, "parameter 'limit': expected int >= 1"),
    ('{"limit": 1000000000000000000000000000000}', -32602, "parameter 'limit'"),
    ('{"limit": 1' + "0" * 5000 + "}", -32602, "parameter 'limit': integer value out of range"),
    ('{"score": 1e999}', -32602, "parameter 'score': number out of range"),
    ('{"score": 2}', -32602, "parameter 'score': expected float <= 1.0"),
    ('{"full": 1}', -32602, "parameter 'full': expected bool, got int"),
    ('{"tags": ["a", 1]}', -32602, "parameter 'tags[1]': expected str, got int"),
    ('{"fields": {"a": 1}}', -32602, "parameter 'fields[...]': expected str, got int"),
    ('{"text": "' + "a" * 101 + '"}', -32602, "parameter 'text': expected str of length <= 100"),
    ('{"text": "a\\u0000b"}', -32602, "parameter 'text': must not contain a NUL character"),
    ('{"tags": ["a", "\\u0000"]}', -32602, "parameter 'tags': must not contain a NUL character"),
    ('{"fields": {"\\u0000": "a"}}', -32602, "parameter 'fields': must not contain a NUL character"),
    ('{"progress_token": 1.5}', -32602, "parameter 'progress_token'"),
    ('{"progress_token": "\\u0000"}', -32602, "parameter 'progress_token': must not contain a NUL character"),
    ("[1]", -32602, "pass parameters by name"),
    ('["a", "b"]', -32602, "pass parameters by name"),
    ('{"text": NaN}', -32700, "not valid JSON"),
    ('{"score": -Infinity}', -32700, "not valid JSON"),
    ('{"text": "\\ud800"}', -32700, "not valid JSON"),
    ('{"tags": ' + "[" * 1_000_000 + "]" * 1_000_000 + "}", -32700, "nested too deeply"),
]


def request(method: str, params: str | None) -> bytes:
    given = "" if params is None else f', "params": {params}'
    return f'{{"jsonrpc": "2.0", "method": "{method}", "id": "x"{given}}}\n'.encode()


def error_of(answers: list[Any]) -> Any:
    assert len(answers) == 1
    return answers[0]["error"]


async def test_bad_params() -> None:
    async with serving() as served:
        for params, code, message in BAD:
            error = error_of(await served.exchange(request("echo", params)))
            assert (error["code"], message in error["message"]) == (code, True), (params[:60], error)
            assert len(error["message"]) < 300


async def test_invalid_utf8_is_answered_by_id() -> None:
    async with serving() as served:
        for raw in (b"\xff\xfe", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80"):
            sent = b'{"jsonrpc":"2.0","method":"echo","params":{"text":"' + raw + b'"},"id":5}\n'
            (answer,) = await served.exchange(sent)
            assert (answer["id"], answer["error"]["code"]) == (5, -32700)


@pytest.mark.parametrize("params", [None, "{}", "[]", "null", ' { "text" : "" } ', '{"text": "\\\\u0000"}'])
async def test_good_params(params: str | None) -> None:
    async with serving() as served:
        (answer,) = await served.exchange(request("echo", params))
        assert "result" in answer


@pytest.mark.parametrize(
    ("method", "code", "message"),
    [
        ("ecoh", -32601, "there is no method 'ecoh'; did you mean 'echo'?"),
        ("quite.another", -32601, "rpc.discover lists them"),
        ("x" * 1_000_000, -32601, "…"),
        ("", -32601, "there is no method ''"),
        ("absent", -32601, "this daemon does not serve method 'absent'"),
        ("$/cancelRequest", -32601, "there is no method"),
        ("subtract", -32602, "parameter 'minuend' is missing"),
        ("missing", 101, "there is no collection 'x'"),
        ("slow", 403, "the request took too long"),
        ("broken", -32603, "internal error; see `gnoctl daemon logs` (error "),
        ("unwritable", -32603, "internal error"),
        ("unwritable_error", -32603, "internal error"),
        ("orphaned", -32603, "internal error"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_failures(method: str, code: int, message: str) -> None:
    async with serving() as served:
        error = error_of(await served.exchange(request(method, None)))
        assert error["code"] == code
        assert message in error["message"]
        assert error["data"]["kind"]
        assert SECRET not in json.dumps(error)
        assert "Traceback" not in json.dumps(error)


async def test_discover_describes_the_methods() -> None:
    async with serving() as served:
        (answer,) = await served.exchange(request("rpc.discover", None))
        assert "echo" in [method["name"] for method in answer["result"]["methods"]]
