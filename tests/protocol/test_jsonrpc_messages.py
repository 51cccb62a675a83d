from __future__ import annotations

import json
import tracemalloc

import pytest
from msgspec import UNSET

from gnod.errors import CollectionNotFound, GnoError, InvalidRequest, ParseError
from gnod.protocol import jsonrpc
from gnod.protocol.jsonrpc import BadRequestError, RequestId, decode_request

# Python 3.14 accepts any depth that fits into the stack of the thread.
DEEP = b"[" * 1_000_000 + b"]" * 1_000_000
NO_TEXT = [b"\0", b"\x1b[31m", b"\\ud800", b"\\udc00\\ud800"]

BAD: list[tuple[bytes, type[GnoError], RequestId]] = [
    (b"nonsense", ParseError, None),
    (b'{"jsonrpc":"2.0","method"', ParseError, None),
    (b'{"jsonrpc":"2.0","method":"a","id":1} x', ParseError, None),
    (b'{"jsonrpc":"2.0","method":"a","id":NaN}', ParseError, None),
    (b'{"jsonrpc":"2.0","method":"a","params":{"x":Infinity},"id":1}', ParseError, None),
    (b'{"jsonrpc":"2.0","method":"a","params":{"x":1,},"id":1}', ParseError, None),
    (b'{"jsonrpc":"2.0","method":"\xff","id":1}', ParseError, None),
    *((b'{"jsonrpc":"2.0","method":"a","params":{"x":"a' + raw + b'"},"id":1}', ParseError, None) for raw in NO_TEXT),
    (b'{"jsonrpc":"2.0","method":"a","params":' + DEEP + b',"id":1}', ParseError, None),
    (DEEP, InvalidRequest, None),
    (b"1", InvalidRequest, None),
    (b"null", InvalidRequest, None),
    (b'{"jsonrpc":"2.0","method":1,"id":"x"}', InvalidRequest, "x"),
    (b'{"jsonrpc":"2.0","method":null,"id":7}', InvalidRequest, 7),
    (b'{"jsonrpc":"2.0","id":7}', InvalidRequest, 7),
    (b'{"jsonrpc":"2.0","result":1,"id":7}', InvalidRequest, 7),
    (b'{"jsonrpc":"1.0","method":"a","id":7}', InvalidRequest, 7),
    (b'{"jsonrpc":2.0,"method":"a","id":7}', InvalidRequest, 7),
    (b'{"method":"a","id":7}', InvalidRequest, 7),
    (b'{"jsonrpc":"2.0","method":"a","params":"bar","id":7}', InvalidRequest, 7),
    (b'{"jsonrpc":"2.0","method":"a","params":1,"id":7}', InvalidRequest, 7),
    (b'{"jsonrpc":"2.0","method":"a","id":true}', InvalidRequest, None),
    (b'{"jsonrpc":"2.0","method":"a","id":[1]}', InvalidRequest, None),
    (b'{"jsonrpc":"2.0","method":"a","id":{}}', InvalidRequest, None),
    (b'{"jsonrpc":"2.0","method":"a","id":1e999}', InvalidRequest, None),
    (b'{"jsonrpc":"2.0","method":"a","id":1' + b"0" * 5000 + b"}", InvalidRequest, None),
]


@pytest.mark.parametrize(("payload", "expected", "request_id"), BAD, ids=[repr(case[0][:50]) for case in BAD])
def test_bad_requests(payload: bytes, expected: type[GnoError], request_id: RequestId) -> None:
    with pytest.raises(BadRequestError) as caught:
        decode_request(payload)
    assert type(caught.value.error) is expected
    assert caught.value.id == request_id


@pytest.mark.parametrize("request_id", [0, 1, -1, 2**63, 10**30, 1.5, "", "1", "😀", None])
def test_replies_keep_the_type_of_the_id(request_id: RequestId) -> None:
    request = decode_request(jsonrpc.encode_call("a", request_id=request_id))
    assert isinstance(request.id, type(request_id))
    answer = json.loads(jsonrpc.encode_result(request.id, {}))
    assert answer == {"jsonrpc": "2.0", "id": request_id, "result": {}}
    assert isinstance(answer["id"], type(request_id))


def test_a_request_without_id_is_a_notification() -> None:
    assert decode_request(b'{"jsonrpc":"2.0","method":"a"}').is_notification
    assert not decode_request(b'{"jsonrpc":"2.0","method":"a","id":null}').is_notification


def test_null_params_are_no_params() -> None:
    assert decode_request(b'{"jsonrpc":"2.0","method":"a","params":null,"id":1}').params is UNSET


def test_an_answer_has_a_result_or_an_error_and_never_both() -> None:
    success = json.loads(jsonrpc.encode_result(1, None))
    failure = json.loads(jsonrpc.encode_error(1, CollectionNotFound("no", {"name": "x"})))
    assert success == {"jsonrpc": "2.0", "id": 1, "result": None}
    data = {"kind": "collection_not_found", "details": {"name": "x"}}
    assert failure == {"jsonrpc": "2.0", "id": 1, "error": {"code": 101, "message": "no", "data": data}}


def test_a_file_name_that_is_not_unicode_does_not_prevent_the_reply() -> None:
    answer = json.loads(jsonrpc.encode_result(1, {"paths": ["caf\udce9.md", "ok.md"], "n": float("nan")}))
    assert answer["result"] == {"paths": ["caf?.md", "ok.md"], "n": None}
    assert json.loads(jsonrpc.encode_error(1, GnoError("caf\udce9")))["error"]["message"] == "caf?"


@pytest.mark.parametrize(
    ("payload", "expected"),
    [(b"[]", InvalidRequest), (b"[1", ParseError), (b"[1,]", ParseError), (b'["\xff', ParseError)],
)
def test_bad_batches(payload: bytes, expected: type[GnoError]) -> None:
    with pytest.raises(BadRequestError) as caught:
        jsonrpc.split_batch(payload, 64)
    assert type(caught.value.error) is expected
    assert caught.value.id is None


def test_a_batch_of_millions_is_read_up_to_the_limit_only() -> None:
    batch = b"[" + b"1," * 1_000_000 + b"1]"
    many = b'{"jsonrpc":1,' + b"".join(b'"%d":1,' % number for number in range(200_000)) + b'"id":7}'
    tracemalloc.start()
    try:
        with pytest.raises(BadRequestError, match="the batch has more than 64 requests"):
            jsonrpc.split_batch(batch, 64)
        # The id of a bad request is found among many keys, and none of the keys is stored.
        with pytest.raises(BadRequestError) as caught:
            decode_request(many)
        assert caught.value.id == 7
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_single_message_is_not_a_batch() -> None:
    assert jsonrpc.split_batch(b'{"a":[1]}', 64) is None
    assert jsonrpc.split_batch(b' \n[{"a":1}, 2]', 64) == [b'{"a":1}', b"2"]
