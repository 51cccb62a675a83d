"""The client for programs with an event loop: many requests in flight, over one connection.

Starts the daemon if it is not running. Knows no method; `shortcuts` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from gnod.client.async_subscription import AsyncSubscription
from gnod.client.connection import places_of
from gnod.client.replies import OnProgress
from gnod.client.shortcuts import Shortcuts
from gnod.client.wire import Wire, open_wire
from gnod.errors import Unavailable
from gnod.paths import Places
from gnod.protocol.base import Params, Result
from gnod.protocol.subscription import IndexSubscribeParams

R = TypeVar("R", bound=Result)


class AsyncClient(Shortcuts):
    """A client for one event loop; any number of tasks may call at once. An async context manager.

    Cancelling a task cancels its request. If the connection is lost, the calls in flight raise Unavailable, and the
    next call connects again."""

    def __init__(self, places: Places, *, start: bool = True) -> None:
        self._places = places
        self._may_start = start
        self._wire: Wire | None = None
        self._opening = asyncio.Lock()
        self._subscriptions: WeakSet[AsyncSubscription] = WeakSet()
        self._closed = False

    @classmethod
    async def connect(cls, index: str | None = None, *, socket: Path | None = None, start: bool = True) -> AsyncClient:
        """Return a client of `index` (default: `GNO_INDEX`, else "default"), or of the daemon behind `socket`.

        `start`: start the daemon if it is not running, unless GNO_NO_AUTOSTART is set. Raises DaemonNotRunning, or the
        daemon's error if it cannot start.
        """
        client = cls(places_of(index, socket), start=start)
        await client._connected()
        return client

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls in flight raise Unavailable."""
        self._closed = True
        for subscription in [*self._subscriptions]:
            await subscription.close()
        if self._wire is not None:
            self._wire.close()
            await self._wire.lost

    async def call(
        self, method: str, params: Params, result_type: type[R], *, on_progress: OnProgress | None = None
    ) -> R:
        """Return the daemon's answer. Raises the daemon's error, or Unavailable if the connection is lost.

        `on_progress` is called in the event loop, for each progress notification before the answer.
        """
        wire = await self._connected()
        return await wire.call(method, params, result_type, on_progress)

    def subscribe(self, since: int | None = None, collections: Sequence[str] = ()) -> AsyncSubscription:
        """Return the changes of the index from now on, or from the clock `since`; of all collections if empty."""
        params = IndexSubscribeParams(since=since, collections=[*collections])
        subscription = AsyncSubscription(self._places, params, may_start=self._may_start)
        self._subscriptions.add(subscription)
        return subscription

    async def _connected(self) -> Wire:
        async with self._opening:  # one task connects, the others wait
            if self._closed:
                raise Unavailable("this client is closed")
            if self._wire is None or self._wire.is_closed:
                self._wire = await open_wire(self._places, may_start=self._may_start)
            return self._wire
