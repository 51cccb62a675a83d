"""Serves one client: reads messages, runs requests concurrently, writes the answers. Must not depend on the methods.
Limits apply to everything that a client could make grow: the length of a message, the requests in flight, unread
output, the time for an incomplete message.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from msgspec import Raw, UnsetType

from gnod import fair_turns
from gnod.errors import Busy, GnoError, IndexReopening, InvalidRequest, LimitExceeded, RequestCancelled, TimedOut
from gnod.peer import peer_is_gone
from gnod.protocol import jsonrpc
from gnod.protocol.base import CancelParams, ProgressParams
from gnod.protocol.framing import MAX_MESSAGE_BYTES, MAX_REQUEST_BYTES, Framer, encode
from gnod.rpc.call import Call, NotificationSender
from gnod.rpc.dispatcher import Dispatcher
from gnod.rpc.stats import Stats

READ_BYTES = 64 * 1024
SMALL_BYTES = 64 * 1024  # a message of this size is always allowed
PROGRESS_ROOM_BYTES = 64 * 1024  # progress is dropped while more than this is unread
TURN_MESSAGES = 64
PEER_CHECK_S = 0.25
CLOSE_TIMEOUT_S = 1.0

_log = logging.getLogger(__name__)
_cancel_params = msgspec.json.Decoder(CancelParams)


# A connection beyond the limit may call only methods with this prefix.
_RESERVED_METHODS = "daemon."


class ConnectionLimits(NamedTuple):
    """`write_timeout_s`: how long a client may leave its answers unread. `message_timeout_s`: the time from the first
    byte of a message to its last. Between messages a connection may be idle for ever, but after `idle_s` it is closed
    when a new one needs its place. `reserved` connections beyond `connections` may only call `daemon.*`, and are closed
    after `reserved_s`. `held_bytes`: the limit for all connections together of the bytes that are half received, in
    flight, or not yet read. `unread_bytes`: the limit for one connection of the bytes that are not yet read."""

    message_bytes: int = MAX_REQUEST_BYTES
    in_flight: int = 64
    connections: int = 256
    reserved: int = 8
    reserved_s: float = 5.0
    write_timeout_s: float = 30.0
    message_timeout_s: float = 60.0
    idle_s: float = 60.0
    unread_bytes: int = 64 * 1024 * 1024
    held_bytes: int = 256 * 1024 * 1024


def too_many_connections(limits: ConnectionLimits) -> Busy:
    limit = limits.connections
    return Busy(f"{limit} connections are open: close some, or try again later", {"limit": limit})


@dataclass(eq=False)
class _Running:
    """A request in flight. `reason`: the reason for its cancellation, if any."""

    id: jsonrpc.RequestId | UnsetType
    call: Call
    task: asyncio.Task[bytes]
    size: int
    reason: GnoError | None = None

    def cancel(self, reason: GnoError) -> None:
        if not self.task.done():
            self.reason = self.reason or reason
            self.task.cancel()

    def is_running_as(self, request_id: object) -> bool:
        if request_id is None or isinstance(request_id, UnsetType) or self.task.done():
            return False
        return type(self.id) is type(request_id) and self.id == request_id  # 1, 1.0 and "1" are three ids

    async def response(self) -> bytes | None:
        """Return the bytes to send; None for a notification."""
        await asyncio.wait([self.task])
        if isinstance(self.id, UnsetType):
            return None
        if self.task.cancelled():
            return jsonrpc.encode_error(self.id, self.reason or RequestCancelled("the request was cancelled"))
        return self.task.result()


class RpcConnection:
    """Serves one stream, and owns its reader and writer until `run` returns."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        dispatcher: Dispatcher,
        stats: Stats,
        limits: ConnectionLimits,
        held_by_all: Callable[[], int],
        *,
        is_reserved: bool = False,
    ) -> None:
        self.is_reserved = is_reserved
        self.stopping: GnoError | None = None
        self.deliveries: set[asyncio.Task[None]] = set()
        self._reader = reader
        self._writer = writer
        self._dispatcher = dispatcher
        self._stats = stats
        self._limits = limits
        self._held_by_all = held_by_all
        self._framer = Framer(limits.message_bytes)
        self._notifications = NotificationSender(writer, self._framer)
        self._running: set[_Running] = set()
        self._message_deadline: float | None = None
        self._active_at = asyncio.get_running_loop().time()

    async def run(self) -> None:
        """Serve the client until it disconnects, breaks the framing, or this task is cancelled."""
        fair_turns.client.set(self)  # applies to this task and to the tasks that it starts
        try:
            await self._read_messages()
            await self._finish_deliveries()
            await self._linger()
        except ConnectionError as error:
            _log.debug("connection.lost", extra={"fields": {"reason": type(error).__name__}})
        finally:
            await self._close()

    def cancel_requests(self, reason: GnoError) -> None:
        """Cancel the requests in flight, and answer each with `reason` if the client still reads."""
        for running in self._running:
            running.cancel(reason)

    def idle_since(self) -> float | None:
        """Return the loop's time of the last request or answer; None while a request or subscription is active."""
        is_busy = self.deliveries or self._framer.is_mid_message or self._notifications.has_tasks
        return None if is_busy or self._writer.transport.is_closing() else self._active_at

    def give_way(self) -> None:
        """Close an idle connection without a message: the client would take one for the answer to its next request."""
        _log.info("connection.dropped", extra={"fields": {"reason": "idle, and a new connection needed its place"}})
        self._writer.close()

    def refuse_unread(self, reason: IndexReopening) -> None:
        """Send `reason` before the connection closes. The client takes it for the answer to a request that was not
        read."""
        if not self._writer.transport.is_closing() and not self._reader.at_eof():
            self._writer.write(encode(jsonrpc.encode_error(None, reason), self._framer.framing))

    def held_bytes(self) -> int:
        """Return how many bytes are kept for this client: half received, in flight, or not yet read."""
        in_flight = sum(running.size for running in self._running)
        return self._framer.held_bytes + in_flight + self._writer.transport.get_write_buffer_size()

    async def _read_messages(self) -> None:
        try:
            while True:
                data = await self._read()
                payloads = self._framer.feed(data) if data else self._framer.finish()
                self._note_arrival(has_progressed=bool(payloads))
                for count, payload in enumerate(payloads, start=1):
                    await self._accept(payload)
                    if count % TURN_MESSAGES == 0:
                        await asyncio.sleep(0)  # let other clients have their turn
                if self._framer.fault is not None:
                    raise self._framer.fault
                if self._is_too_much(self._framer.held_bytes):
                    raise self._too_much()
                if not data:
                    return
        except GnoError as fault:  # the connection must close: the start of the next message is unknown
            await self._send(jsonrpc.encode_error(None, fault))

    async def _read(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._message_deadline):
                return await self._reader.read(READ_BYTES)
        except TimeoutError:
            timeout_s = self._limits.message_timeout_s
            raise TimedOut(f"a message took longer than {timeout_s:g} s to arrive") from None

    def _note_arrival(self, *, has_progressed: bool) -> None:
        now = asyncio.get_running_loop().time()
        self._active_at = now
        if not self._framer.is_mid_message:
            self._message_deadline = None
        elif has_progressed or self._message_deadline is None:
            self._message_deadline = now + self._limits.message_timeout_s

    async def _accept(self, payload: bytes) -> None:
        """Start the requests of one message. Also send refusals here, so that the daemon stops reading from a client
        that never reads."""
        try:
            members = jsonrpc.split_batch(payload, self._limits.in_flight)
        except jsonrpc.BadRequestError as bad:
            return await self._send(jsonrpc.encode_error(bad.id, bad.error))
        items = [self._begin(member) for member in members or [payload]]
        delivery = self._deliver(items, is_batch=members is not None)
        if not any(isinstance(item, _Running) for item in items):
            return await delivery
        task = asyncio.create_task(self._apart(delivery))
        self.deliveries.add(task)
        task.add_done_callback(self.deliveries.discard)
        return None

    def _begin(self, payload: bytes) -> _Running | bytes | None:
        """Return the running request, the bytes that refuse it, or None if it needs no reply."""
        self._stats.requests += 1
        try:
            request = jsonrpc.decode_request(payload)
        except jsonrpc.BadRequestError as bad:
            return jsonrpc.encode_error(bad.id, bad.error)
        if request.is_notification and request.method.startswith("$/"):
            if request.method == jsonrpc.CANCEL_METHOD:
                self._cancel(request)
            return None  # ignore unknown notifications, as in the Language Server Protocol
        if refusal := self._refusal(request, len(payload)):
            return None if isinstance(request.id, UnsetType) else jsonrpc.encode_error(request.id, refusal)
        call = Call(self._offer_progress, self._notifications)
        task = asyncio.create_task(self._dispatcher.answer(request, call))
        running = _Running(request.id, call, task, len(payload))
        self._running.add(running)
        return running

    def _refusal(self, request: jsonrpc.Request, size: int) -> GnoError | None:
        if self.stopping:
            return self.stopping
        if self.is_reserved and not request.method.startswith(_RESERVED_METHODS):
            return too_many_connections(self._limits)
        if len(self._running) >= self._limits.in_flight:
            limit = self._limits.in_flight
            return LimitExceeded(f"{limit} requests are in flight on this connection", {"limit": limit})
        if any(running.is_running_as(request.id) for running in self._running):
            return InvalidRequest("a request with this id is still in flight")
        return self._too_much() if self._is_too_much(size) else None

    def _is_too_much(self, size: int) -> bool:
        """Return whether `size` more bytes would exceed the limit. A small message is always allowed."""
        return size > SMALL_BYTES and self._held_by_all() > self._limits.held_bytes

    def _too_much(self) -> Busy:
        limit = self._limits.held_bytes
        return Busy(f"more than {limit} bytes are in flight: try again later", {"limit": limit})

    def _cancel(self, request: jsonrpc.Request) -> None:
        raw = request.params if isinstance(request.params, Raw) else b"{}"
        try:
            target = _cancel_params.decode(raw).id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return  # a notification gets no reply
        for running in self._running:
            if running.is_running_as(target):
                running.cancel(RequestCancelled("the request was cancelled"))

    async def _deliver(self, items: Sequence[_Running | bytes | None], *, is_batch: bool) -> None:
        """Send the answers of one message when all are ready."""
        try:
            responses = [await item.response() if isinstance(item, _Running) else item for item in items]
            answers = [response for response in responses if response is not None]
            if answers:
                answer = self._join(answers) if is_batch else answers[0]
                await self._send(self._fit(answer, None if is_batch else items[0]))
            for item in items:
                if isinstance(item, _Running):
                    item.call.answered.set()
        finally:
            self._running.difference_update(item for item in items if isinstance(item, _Running))
            self._active_at = asyncio.get_running_loop().time()

    async def _apart(self, delivery: Coroutine[None, None, None]) -> None:
        with contextlib.suppress(ConnectionError):  # `run` handles this error
            await delivery

    def _join(self, answers: list[bytes]) -> bytes:
        batch = jsonrpc.encode_batch(answers)
        if len(batch) <= MAX_MESSAGE_BYTES:
            return batch
        refusal = LimitExceeded("the replies to this batch are too long for one message: send fewer requests")
        return jsonrpc.encode_error(None, refusal)

    def _fit(self, answer: bytes, request: _Running | bytes | None) -> bytes:
        """Return the answer; if the client has too much unread data, return an error instead."""
        unread = self._writer.transport.get_write_buffer_size()
        if len(answer) <= SMALL_BYTES or (unread <= self._limits.unread_bytes and not self._is_too_much(len(answer))):
            return answer
        refusal = LimitExceeded(
            f"{unread} bytes of replies are unread: read them, then send the request again", {"unread": unread}
        )
        request_id = request.id if isinstance(request, _Running) else None
        return jsonrpc.encode_error(None if isinstance(request_id, UnsetType) else request_id, refusal)

    async def _send(self, payload: bytes) -> None:
        """Write one message. Raises ConnectionError when the client is gone or does not read."""
        if self._writer.transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._writer.write(encode(payload, self._framer.framing))
        try:
            async with asyncio.timeout(self._limits.write_timeout_s):
                await self._writer.drain()
        except TimeoutError:
            _log.warning("connection.dropped", extra={"fields": {"reason": "the client does not read its replies"}})
            self._writer.transport.abort()
            raise ConnectionAbortedError("the client does not read its replies") from None

    def _offer_progress(self, params: ProgressParams) -> bool:
        transport = self._writer.transport
        if transport.is_closing() or transport.get_write_buffer_size() > PROGRESS_ROOM_BYTES:
            return False
        message = jsonrpc.encode_call(jsonrpc.PROGRESS_METHOD, params)
        self._writer.write(encode(message, self._framer.framing))
        return True

    async def _finish_deliveries(self) -> None:
        """Finish the answers for a client that has closed only its sending side."""
        peer = self._writer.get_extra_info("socket")
        while self.deliveries and not self._writer.transport.is_closing() and not peer_is_gone(peer):
            await asyncio.wait(self.deliveries, timeout=PEER_CHECK_S)

    async def _linger(self) -> None:
        """Continue to read for a moment, so that a client that is still sending can read the refusal."""
        if self.deliveries or self._reader.at_eof() or self._writer.transport.is_closing():
            return
        self._notifications.close()  # nothing can be written after `write_eof`
        self._writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                while await self._reader.read(READ_BYTES):
                    pass

    async def _close(self) -> None:
        self.cancel_requests(RequestCancelled("the connection was closed"))
        self._notifications.close()
        self._writer.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                if self.deliveries:
                    await asyncio.wait(self.deliveries)
                await self._writer.wait_closed()
        except (TimeoutError, OSError):
            self._writer.transport.abort()
