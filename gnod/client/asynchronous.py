"""The client for programs with an event loop, and its subscriptions. One connection carries many requests.

Starts the daemon if it is not running. Must not depend on the methods; `shortcuts` has them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from msgspec import Raw

from gnod.client.connection import REOPEN_POLL_S, REOPEN_TIMEOUT_S, OnProgress, decode, is_lost
from gnod.client.opening import places_of
from gnod.client.shortcuts import Shortcuts, pauses_s, waiting
from gnod.client.wire import Wire, open_wire
from gnod.errors import Details, IndexReopening, Unavailable, UsageError
from gnod.paths import IndexPaths
from gnod.protocol.base import Params, Result
from gnod.protocol.jsonrpc import Response
from gnod.protocol.methods import SHORT_S
from gnod.protocol.subscription import CHANGED, IndexChanged, IndexSubscribeParams, IndexSubscribeResult

R = TypeVar("R", bound=Result)


class AsyncClient(Shortcuts):
    """A client for one event loop; any number of tasks may use it concurrently. An async context manager.

    Cancelling a task cancels its request. If the connection is lost, the client repeats calls that only read; other
    calls in flight raise Unavailable, and the next call connects again. A call raises TimedOut if the daemon sends
    nothing for `timeout_s` (default: the limit of the method in `gnod.protocol.methods`)."""

    def __init__(self, places: IndexPaths, *, start: bool = True, timeout_s: float | None = None) -> None:
        self._places = places
        self._may_start = start
        self._timeout_s = timeout_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wire: Wire | None = None
        self._opening = asyncio.Lock()
        self._subscriptions: WeakSet[AsyncSubscription] = WeakSet()
        self._closed = False

    @classmethod
    async def connect(
        cls,
        index: str | None = None,
        *,
        socket: Path | None = None,
        start: bool = True,
        timeout_s: float | None = None,
    ) -> AsyncClient:
        """Return a client of `index` (default: `GNO_INDEX`, else "default"), or of the daemon behind `socket`.

        `start`: start the daemon if it is not running, unless GNO_NO_AUTOSTART is set. `timeout_s`: seconds to wait
        between two messages. Raises DaemonNotRunning, or the daemon's error if it cannot start.
        """
        client = cls(places_of(index, socket), start=start, timeout_s=timeout_s)
        await client._connected()
        return client

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls in flight raise Unavailable."""
        self._check_loop()
        self._closed = True
        for subscription in [*self._subscriptions]:
            await subscription.close()
        if self._wire is not None:
            self._wire.close()
            await self._wire.lost

    async def call(
        self, method: str, params: Params, result_type: type[R], *, on_progress: OnProgress | None = None
    ) -> R:
        """Return the daemon's answer. Raises the daemon's error, Unavailable if the connection is lost, or TimedOut.

        Calls `on_progress` in the event loop, for each progress notification before the answer. Raises UsageError in
        another event loop than the first.
        """
        for pause_s in pauses_s(method):
            try:
                return await self._asked(method, params, result_type, on_progress)
            except Unavailable as error:
                if not is_lost(error) or self._closed:
                    raise
            await asyncio.sleep(pause_s)
        return await self._asked(method, params, result_type, on_progress)

    async def _asked(self, method: str, params: Params, result_type: type[R], on_progress: OnProgress | None) -> R:
        limit_s, on_progress = waiting(method, self._timeout_s, on_progress)
        deadline = time.monotonic() + REOPEN_TIMEOUT_S
        while True:
            wire = await self._connected()
            try:
                return await wire.call(method, params, result_type, on_progress, limit_s)
            except IndexReopening:
                if time.monotonic() > deadline:
                    raise
                # The daemon closes the old connection when its other requests have been answered.
                self._wire = None if self._wire is wire else self._wire
            await asyncio.sleep(REOPEN_POLL_S)

    def subscribe(self, since: int | None = None, collections: Sequence[str] = ()) -> AsyncSubscription:
        """Return the changes of the index from now on, or since the clock `since`. `collections`: empty for all."""
        params = IndexSubscribeParams(since=since, collections=[*collections])
        subscription = AsyncSubscription(self._places, params, may_start=self._may_start)
        self._subscriptions.add(subscription)
        return subscription

    async def _connected(self) -> Wire:
        self._check_loop()
        async with self._opening:  # one task connects while the others wait
            if self._closed:
                raise Unavailable("this client is closed")
            if self._wire is None or self._wire.is_closed:
                self._wire = await open_wire(self._places, may_start=self._may_start)
            return self._wire

    def _check_loop(self) -> None:
        running = asyncio.get_running_loop()
        if self._loop not in (None, running):
            raise UsageError("this AsyncClient was made in another event loop: make one for each loop")
        self._loop = running


# The maximum number of unread changes in the buffer. When it is full, the daemon waits, and sends the rest together.
MAX_UNREAD = 16


class AsyncSubscription:
    """An async iterator of IndexChanged and an async context manager. `begun` is the state at the start.

    It has its own connection, so that unread changes do not delay other calls.
    """

    begun: IndexSubscribeResult

    def __init__(self, places: IndexPaths, params: IndexSubscribeParams, *, may_start: bool) -> None:
        self._places = places
        self._params = params
        self._may_start = may_start
        self._unread: asyncio.Queue[Raw | None] = asyncio.Queue()
        self._wire: Wire | None = None
        self._clock: int | None = None
        self._closed = False

    async def __aenter__(self) -> AsyncSubscription:
        await self._begin()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncSubscription:
        return self

    async def __anext__(self) -> IndexChanged:
        """Return the next change. Raises Unavailable, with the `clock` to resume from, if the connection is lost."""
        if self._closed:
            raise StopAsyncIteration
        wire = self._wire or await self._begin()
        raw = await self._unread.get()
        if raw is None:
            self._unread.put_nowait(None)  # wakes up the next call
            if self._closed:
                raise StopAsyncIteration
            clock: Details = {"clock": self._clock}
            raise Unavailable("the connection to the daemon was lost: subscribe again from this clock", clock)
        if self._unread.empty():
            wire.resume()
        changed = decode(raw, IndexChanged)
        self._clock = changed.clock
        return changed

    async def close(self) -> None:
        self._closed = True
        if self._wire is not None:
            self._wire.close()
            await self._wire.lost

    async def _begin(self) -> Wire:
        wire = await open_wire(self._places, may_start=self._may_start, on_notification=self._take)
        wire.lost.add_done_callback(lambda _: self._unread.put_nowait(None))
        self._wire = wire
        try:
            self.begun = await wire.call("index.subscribe", self._params, IndexSubscribeResult, None, SHORT_S)
        except BaseException:
            await self.close()
            raise
        self._clock = self.begun.clock
        return wire

    def _take(self, message: Response) -> None:
        if message.method != CHANGED or not isinstance(message.params, Raw):
            return
        self._unread.put_nowait(message.params.copy())  # a view would keep the whole buffer alive
        if self._wire is not None and self._unread.qsize() >= MAX_UNREAD:
            self._wire.pause()
