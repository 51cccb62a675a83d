"""Answers requests: takes the bytes of parameters, returns the bytes of a response. Must not depend on connections.

Only this module creates error objects, and only this module uses `Any`: each handler takes the parameters of its own
method, which the type of the handler table cannot express.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from gnod import errors
from gnod.protocol import openrpc
from gnod.protocol.base import Params, Result
from gnod.protocol.framing import MAX_MESSAGE_BYTES
from gnod.protocol.jsonrpc import Request, encode_error, encode_result
from gnod.protocol.methods import METHODS, Method
from gnod.rpc.call import Call
from gnod.rpc.stats import Stats

__all__ = ["Call", "Dispatcher", "Handler", "named"]

Handler = Callable[[Any, Call], Awaitable[Result | Raw]]
"""Returns the result as a struct or as JSON."""

DISCOVER = "rpc.discover"

_log = logging.getLogger(__name__)


def named(*handlers: Handler) -> dict[str, Handler]:
    """Return the handlers by method name: the function `memory_deep_search` serves `memory.deep_search`."""
    return {handler.__name__.replace("_", ".", 1): handler for handler in handlers}


class Dispatcher:
    """Finds the handler of a method and translates its result or exception."""

    def __init__(self, handlers: Mapping[str, Handler], stats: Stats, methods: Mapping[str, Method] = METHODS) -> None:
        self._handlers = handlers
        self._stats = stats
        self._methods = methods
        self._document: Raw | None = None
        self._decoders = {name: msgspec.json.Decoder(method.params) for name, method in methods.items()}

    async def answer(self, request: Request, call: Call) -> bytes:
        """Return the response to `request`, success or failure. Raises only CancelledError."""
        request_id = None if isinstance(request.id, UnsetType) else request.id
        try:
            response = encode_result(request_id, await self.dispatch(request, call))
            _check_size(response)
            return response
        except errors.GnoError as error:
            failure = error
        except Exception:  # the result cannot be written as JSON
            failure = _internal(request.method)
        try:
            return encode_error(request_id, failure)
        except Exception:  # the details of the error cannot be written as JSON
            return encode_error(request_id, _internal(request.method))

    async def dispatch(self, request: Request, call: Call) -> object:
        """Return the handler's result. Raises GnoError, or CancelledError when the task was cancelled."""
        handler = self._handler(request.method)
        started = time.perf_counter()
        failure: str | None = None
        self._stats.in_flight[call] = request.method
        try:
            params = self._params(request)
            call.progress_token = params.progress_token
            return await _run(handler, params, call, request.method)
        except errors.GnoError as error:
            failure = error.kind
            raise
        except asyncio.CancelledError:
            failure = errors.RequestCancelled.kind
            raise
        finally:
            call.finish()
            del self._stats.in_flight[call]
            took_s = time.perf_counter() - started
            self._stats.note_call(request.method, took_s, failure)
            _log.debug("request.done", extra={"fields": {"method": request.method, "took_ms": round(took_s * 1000, 3)}})

    async def _discover(self, _params: Params, _call: Call) -> Raw:
        if self._document is None:  # this takes a tenth of a second
            self._document = Raw(msgspec.json.encode(openrpc.document(self._methods)))
        return self._document

    def _handler(self, name: str) -> Callable[[Any, Call], Awaitable[object]]:
        if name in self._methods:
            if name == DISCOVER:
                return self._discover
            if name in self._handlers:
                return self._handlers[name]
            raise errors.MethodNotFound(f"this daemon does not serve method '{name}'")
        message = f"there is no method {shorten(name)}"
        if close := nearest(name, self._methods):
            raise errors.MethodNotFound(f"{message}; did you mean '{close}'?", {"did_you_mean": close})
        raise errors.MethodNotFound(f"{message}; {DISCOVER} lists them")

    def _params(self, request: Request) -> Params:
        raw = b"{}" if isinstance(request.params, UnsetType) else bytes(request.params)
        if raw.startswith(b"["):
            raw = _by_name(raw)
        decoder = self._decoders[request.method]
        try:
            params = decoder.decode(raw)
        except msgspec.ValidationError as error:  # it is a subclass of DecodeError
            raise explain(error, decoder.type) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # Reading the message did not decode the parameters, so they may be invalid.
            raise errors.ParseError(
                "not valid JSON: a string in params is not UTF-8, or it is nested too deeply"
            ) from None
        _refuse_nul(params, raw)
        return params


def _by_name(raw: bytes) -> bytes:
    if msgspec.json.decode(raw, type=list[Raw]):
        raise errors.InvalidParams("pass parameters by name, in an object")
    return b"{}"


def _refuse_nul(params: Params, raw: bytes) -> None:
    """Refuse NUL characters: neither a path nor SQLite's text functions accept them."""
    if b"\\u0000" not in raw:  # the only form of NUL in JSON
        return
    for name, value in msgspec.structs.asdict(params).items():
        if any("\0" in text for text in _texts(value)):
            raise errors.InvalidParams(f"parameter '{name}': must not contain a NUL character", {"parameter": name})


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list() | tuple():
            for item in value:
                yield from _texts(item)
        case dict():
            for key, item in value.items():
                yield from _texts(key)
                yield from _texts(item)


async def _run(handler: Callable[[Any, Call], Awaitable[object]], params: Params, call: Call, method: str) -> object:
    try:
        return await handler(params, call)
    except errors.GnoError:
        raise
    except TimeoutError:
        raise errors.TimedOut("the request took too long") from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # A future that the handler awaited was cancelled, not the request.
        raise _internal(method) from None
    except Exception:
        raise _internal(method) from None


def _check_size(response: bytes) -> None:
    if len(response) > MAX_MESSAGE_BYTES:
        raise errors.LimitExceeded(
            f"the reply has {len(response)} bytes, and a message may have at most {MAX_MESSAGE_BYTES}: request less",
            {"bytes": len(response), "limit_bytes": MAX_MESSAGE_BYTES},
        )


def _internal(method: str) -> errors.InternalError:
    """Log the current exception, and return an error that only refers to the log."""
    error_id = secrets.token_hex(4)
    _log.error("request.failed", exc_info=True, extra={"fields": {"error_id": error_id, "method": method}})
    return errors.InternalError(f"internal error; see `gnoctl daemon logs` (error {error_id})", {"error_id": error_id})


_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<where>.*)`)?\Z", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`\Z", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`\Z")

_SHOWN_CHARS = 60


def explain(error: msgspec.ValidationError, params: type[Params]) -> errors.InvalidParams:
    """Return the client's error for a failed decoding of `params`."""
    message = _MESSAGE.match(str(error))
    what, where = (message["what"], message["where"]) if message else (str(error), None)
    if unknown := _UNKNOWN.match(what):
        return _unknown(unknown["name"], params)
    if missing := _MISSING.match(what):
        return errors.InvalidParams(f"parameter '{missing['name']}' is missing", {"parameter": missing["name"]})
    plain = what[:1].lower() + what[1:].replace("`", "")
    if not where:
        return errors.InvalidParams(f"params: {plain}")
    return errors.InvalidParams(f"parameter '{where}': {plain}", {"parameter": where})


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the entry of `known` that is most similar to `name`; None if no entry is similar."""
    # Cut the name, because the comparison is quadratic and the name comes from the client.
    return next(iter(difflib.get_close_matches(name[:_SHOWN_CHARS], list(known), n=1)), None)


def shorten(name: str) -> str:
    """Return `name` in quotes, shortened for a message."""
    return repr(name if len(name) <= _SHOWN_CHARS else name[:_SHOWN_CHARS] + "…")


def _unknown(name: str, params: type[Params]) -> errors.InvalidParams:
    known = params.__struct_fields__
    message = f"there is no parameter {shorten(name)}"
    if close := nearest(name, known):
        return errors.InvalidParams(f"{message}; did you mean '{close}'?", {"did_you_mean": close})
    return errors.InvalidParams(f"{message}; known parameters: {', '.join(known)}", {"known": list(known)})
