"""JSON-RPC 2.0 messages: bytes to structs and back. Must not depend on the transport or the methods.

Source: https://www.jsonrpc.org/specification. `$/cancelRequest` and `$/progress` come from the Language Server
Protocol.
"""

from __future__ import annotations

import functools

import msgspec
from msgspec import UNSET, Raw, UnsetType

from gnod.errors import Details, GnoError, InvalidRequest, LimitExceeded, ParseError

VERSION = "2.0"
CANCEL_METHOD = "$/cancelRequest"
PROGRESS_METHOD = "$/progress"

RequestId = int | str | float | None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One call. `id` is UNSET for a notification. `params` is decoded later, with the type of the method."""

    method: str
    params: Raw | UnsetType = UNSET
    id: RequestId | UnsetType = UNSET

    @property
    def is_notification(self) -> bool:
        return self.id is UNSET


class ErrorObject(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    message: str
    data: Details = {}


class _Incoming(msgspec.Struct, kw_only=True):
    jsonrpc: str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    id: RequestId | UnsetType = UNSET


class _IdOnly(msgspec.Struct):
    id: Raw | UnsetType = UNSET


class _Success(msgspec.Struct, kw_only=True):
    jsonrpc: str
    id: RequestId
    result: object


class _Failure(msgspec.Struct, kw_only=True):
    jsonrpc: str
    id: RequestId
    error: ErrorObject


class _Call(msgspec.Struct, kw_only=True, omit_defaults=True):
    # This field has no default, because omit_defaults would drop it.
    jsonrpc: str
    method: str
    params: object = UNSET
    id: RequestId | UnsetType = UNSET


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A message to the client: a reply, or a notification if `method` is set."""

    id: RequestId | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | None = None
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET


_incoming = msgspec.json.Decoder(_Incoming)
_id_only = msgspec.json.Decoder(_IdOnly)
_response = msgspec.json.Decoder(Response)
_encoder = msgspec.json.Encoder()


class BadRequestError(Exception):
    """A message is not a valid request. `id`: the id for the reply; None if the message has no readable id."""

    def __init__(self, error: GnoError, request_id: RequestId = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.id = request_id


def split_batch(payload: bytes, limit: int) -> list[bytes] | None:
    """Return the members of a batch, or None if `payload` is a single message.

    Raises BadRequestError if the batch is not valid or has more than `limit` members.
    """
    if not payload.lstrip(b" \t\r\n").startswith(b"["):
        return None
    try:
        batch = _batch_of(limit).decode(payload)
    except msgspec.ValidationError:
        raise BadRequestError(LimitExceeded(f"the batch has more than {limit} requests", {"limit": limit})) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(ParseError(f"not valid JSON: {_reason(error)}")) from None
    members = [bytes(member) for member in msgspec.structs.astuple(batch) if not isinstance(member, UnsetType)]
    if not members:
        raise BadRequestError(InvalidRequest("the batch is empty"))
    return members


def decode_request(payload: bytes) -> Request:
    """Return the request in `payload`. Raises BadRequestError with ParseError or InvalidRequest inside."""
    try:
        message = _incoming.decode(payload)
    # ValidationError is a DecodeError, so it comes first. msgspec does not translate the other two.
    except msgspec.ValidationError as error:
        fault = InvalidRequest(f"not a JSON-RPC request: {_reason(error)}")
        raise BadRequestError(fault, _salvage_id(payload)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(ParseError(f"not valid JSON: {_reason(error)}")) from None
    request_id = None if isinstance(message.id, UnsetType) else message.id
    if message.jsonrpc != VERSION:
        raise BadRequestError(InvalidRequest('"jsonrpc" must be "2.0"'), request_id)
    if isinstance(message.method, UnsetType):
        raise BadRequestError(InvalidRequest('"method" is missing'), request_id)
    return Request(method=message.method, params=_structured(message.params, request_id), id=message.id)


def decode_response(payload: bytes) -> Response:
    """Return a message of the daemon. Raises ParseError."""
    try:
        return _response.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ParseError(f"invalid reply from the daemon (not a JSON-RPC message): {_reason(error)}") from None


def encode_call(method: str, params: object = UNSET, request_id: RequestId | UnsetType = UNSET) -> bytes:
    """Return a request, or a notification if `request_id` is UNSET."""
    return _encode(_Call(jsonrpc=VERSION, method=method, params=params, id=request_id))


def encode_result(request_id: RequestId, result: object) -> bytes:
    return _encode(_Success(jsonrpc=VERSION, id=request_id, result=result))


def encode_error(request_id: RequestId, error: GnoError) -> bytes:
    data: Details = {"kind": error.kind, **({"details": error.details} if error.details else {})}
    body = ErrorObject(code=error.code, message=error.message, data=data)
    return _encode(_Failure(jsonrpc=VERSION, id=request_id, error=body))


def encode_batch(answers: list[bytes]) -> bytes:
    return b"[" + b",".join(answers) + b"]"


@functools.cache
def _batch_of(limit: int) -> msgspec.json.Decoder[msgspec.Struct]:
    """Return a decoder of a struct instead of a list, so that it stops at the first member beyond the limit."""
    fields = [(f"m{number}", Raw | UnsetType, UNSET) for number in range(limit)]
    return msgspec.json.Decoder(msgspec.defstruct("Batch", fields, array_like=True, forbid_unknown_fields=True))


def _encode(message: _Call | _Success | _Failure) -> bytes:
    try:
        return _encoder.encode(message)
    except UnicodeEncodeError:  # a file name that is not UTF-8 must not make the whole result fail
        return _encoder.encode(_without_surrogates(msgspec.to_builtins(message)))


def _without_surrogates(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_surrogates(item) for item in value]
    return value


def _structured(params: Raw | UnsetType, request_id: RequestId) -> Raw | UnsetType:
    # Emacs' jsonrpc.el sends null for no parameters, which the specification does not allow.
    if isinstance(params, UnsetType) or bytes(params) == b"null":
        return UNSET
    if not bytes(params).startswith((b"{", b"[")):
        raise BadRequestError(InvalidRequest('"params" must be an object or an array'), request_id)
    return params.copy()  # a view would keep the whole message alive


def _salvage_id(payload: bytes) -> RequestId:
    try:
        raw = _id_only.decode(payload).id
        return None if isinstance(raw, UnsetType) else msgspec.json.decode(raw, type=RequestId)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    return str(error)
