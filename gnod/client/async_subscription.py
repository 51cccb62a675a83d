"""A subscription to changes of the index, for programs with an event loop."""

from __future__ import annotations

import asyncio

from msgspec import Raw

from gnod.client.replies import decode
from gnod.client.wire import Wire, open_wire
from gnod.errors import Details, Unavailable
from gnod.paths import Places
from gnod.protocol.jsonrpc import Response
from gnod.protocol.subscription import CHANGED, IndexChanged, IndexSubscribeParams, IndexSubscribeResult

# Unread changes that are buffered; beyond that the daemon waits, and sends the rest together.
MAX_UNREAD = 16


class AsyncSubscription:
    """An async iterator of IndexChanged and an async context manager. `begun` is the state at the start.

    It has a connection of its own, so that unread changes do not delay other calls.
    """

    begun: IndexSubscribeResult

    def __init__(self, places: Places, params: IndexSubscribeParams, *, may_start: bool) -> None:
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
            self._unread.put_nowait(None)  # for the next call
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
        """End the subscription."""
        self._closed = True
        if self._wire is not None:
            self._wire.close()
            await self._wire.lost

    async def _begin(self) -> Wire:
        wire = await open_wire(self._places, may_start=self._may_start, on_notification=self._take)
        wire.lost.add_done_callback(lambda _: self._unread.put_nowait(None))
        self._wire = wire
        try:
            self.begun = await wire.call("index.subscribe", self._params, IndexSubscribeResult, None)
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
