"""One connection in an event loop, with many concurrent requests. Must not depend on the methods."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
from collections.abc import Callable
from typing import NamedTuple, TypeVar, cast

import msgspec
from msgspec import UnsetType

from gnod.client.connection import (
    Connection,
    OnProgress,
    ReplyLines,
    decode_progress,
    decode_result,
    lost,
    refusal,
    silent,
)
from gnod.client.opening import connect_or_start
from gnod.errors import GnoError
from gnod.paths import IndexPaths
from gnod.protocol.base import CancelParams, Params, ProgressParams, Result
from gnod.protocol.jsonrpc import CANCEL_METHOD, Response, decode_response, encode_call

# The daemon accepts 64 requests per connection. Half are reserved for cancelled requests that have not ended yet.
MAX_IN_FLIGHT = 32

R = TypeVar("R", bound=Result)
OnNotification = Callable[[Response], None]


class _WaitingCall(NamedTuple):
    answer: asyncio.Future[Response]
    on_progress: OnProgress | None
    limit: asyncio.Timeout
    timeout_s: float


class Wire(asyncio.Protocol):
    """`lost` is done when the connection is closed. `on_notification` gets all notifications except progress."""

    def __init__(self, on_notification: OnNotification | None = None) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_notification = on_notification
        self._ids = itertools.count(1)
        self._lines = ReplyLines()
        self._waiting: dict[int, _WaitingCall] = {}
        self._room = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._refusal: GnoError | None = None  # the daemon sent it before it closed the connection

    async def call(
        self, method: str, params: Params, result_type: type[R], on_progress: OnProgress | None, timeout_s: float
    ) -> R:
        """Return the daemon's answer. Cancelling this cancels the request. Raises TimedOut if no message of any request
        arrives for `timeout_s`."""
        async with self._room:
            request_id = next(self._ids)
            if on_progress is not None:
                params = msgspec.structs.replace(params, progress_token=request_id)
            limit = asyncio.timeout(timeout_s)
            waiting = _WaitingCall(asyncio.get_running_loop().create_future(), on_progress, limit, timeout_s)
            self._send(encode_call(method, params, request_id))
            self._waiting[request_id] = waiting
            try:
                async with limit:
                    response = await waiting.answer
            except BaseException:  # the call was cancelled or timed out, or `on_progress` failed
                if not self.is_closed:
                    self._send(encode_call(CANCEL_METHOD, CancelParams(id=request_id)))
                if limit.expired():
                    raise silent(self._transport.get_extra_info("socket"), method, timeout_s) from None
                raise
            finally:
                del self._waiting[request_id]
        return decode_result(response, result_type)

    @property
    def is_closed(self) -> bool:
        return self.lost.done() or self._transport.is_closing()

    def close(self) -> None:
        self._transport.close()

    def pause(self) -> None:
        """Stop reading until `resume`, so that the daemon waits."""
        self._transport.pause_reading()

    def resume(self) -> None:
        self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        now = asyncio.get_running_loop().time()
        for waiting in self._waiting.values():  # the daemon is alive and answers the requests in turn
            if not waiting.answer.done():
                waiting.limit.reschedule(now + waiting.timeout_s)
        for line in self._lines.feed(data):
            try:
                self._take(decode_response(line))
            except GnoError as error:  # it is not JSON-RPC, so the rest cannot be trusted
                self._fail(error)
                self._transport.abort()
                return

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None:
            self._take_unread()
        self._fail(self._refusal or lost(str(error) if error else "the daemon closed it"))
        self.lost.set_result(None)

    def _take_unread(self) -> None:
        """Read the data that the daemon sent before it closed the connection: asyncio drops it when a write fails."""
        with socket.socket(fileno=os.dup(self._transport.get_extra_info("socket").fileno())) as rest:
            rest.setblocking(False)
            with contextlib.suppress(OSError):
                while data := rest.recv(1 << 18):
                    self.data_received(data)

    def _send(self, payload: bytes) -> None:
        if self.is_closed:
            raise self._refusal or lost("the daemon closed it")
        self._transport.write(payload + b"\n")

    def _take(self, message: Response) -> None:
        if isinstance(message.method, UnsetType):
            self._set_result(message)
        elif progress := decode_progress(message):
            self._report(progress)
        elif self._on_notification is not None:
            self._on_notification(message)

    def _set_result(self, response: Response) -> None:
        # An error without an id is about an unreadable request. It may be any of them.
        error = refusal(response)
        if error and not self._waiting:
            self._refusal = error
        ids = list(self._waiting) if error else [response.id]
        for request_id in ids:
            waiting = self._waiting.get(cast(int, request_id))  # None: the call was cancelled
            if waiting and not waiting.answer.done():
                waiting.answer.set_result(response)

    def _report(self, progress: ProgressParams) -> None:
        waiting = self._waiting.get(cast(int, progress.token))
        if waiting is None or waiting.on_progress is None or waiting.answer.done():
            return
        try:
            waiting.on_progress(progress.value)
        except Exception as error:  # this is an error of the caller, not of the connection
            waiting.answer.set_exception(error)

    def _fail(self, error: GnoError) -> None:
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(error)


async def open_wire(places: IndexPaths, *, may_start: bool, on_notification: OnNotification | None = None) -> Wire:
    """Return a connection; start the daemon if it is not running and `may_start`."""
    sock = await _connected_socket(places, may_start=may_start)
    _, wire = await asyncio.get_running_loop().create_unix_connection(lambda: Wire(on_notification), sock=sock)
    await asyncio.sleep(0)  # read a refusal before the first write: writing would lose it
    return wire


async def _connected_socket(places: IndexPaths, *, may_start: bool) -> socket.socket:
    # Use a thread, because connecting may wait for a daemon that is starting or busy.
    opening = asyncio.ensure_future(asyncio.to_thread(connect_or_start, places, may_start=may_start))
    try:
        return (await asyncio.shield(opening)).take_socket()
    except asyncio.CancelledError:
        opening.add_done_callback(_close_unused)
        raise


def _close_unused(opening: asyncio.Future[Connection]) -> None:
    if not opening.cancelled() and not opening.exception():
        opening.result().close()
