"""`GET /api/events`: what happens to the index and to the daemon, as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator

import msgspec

from gnoctl import following
from gnod.client import AsyncClient
from gnod.errors import GnoError
from gnod.protocol.subscription import IndexChanged, SubscribedState

MAX_STREAMS = 24


class PageEvents:
    """The streams of all open pages. Each has a subscription of its own, so each begins with the present state."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._ending = asyncio.Event()
        self._streams = 0

    @property
    def is_full(self) -> bool:
        return self._streams >= MAX_STREAMS

    def end(self) -> None:
        """End all streams: the server stops."""
        self._ending.set()

    async def ended(self) -> None:
        await self._ending.wait()

    async def stream(self) -> AsyncGenerator[bytes]:
        """Yield events, and continue after the end of the daemon."""
        self._streams += 1
        try:
            async with contextlib.aclosing(following.changes(self._client)) as events:
                async for event in events:
                    for part in _parts(event):
                        yield part
        finally:
            self._streams -= 1


def _parts(event: SubscribedState | IndexChanged | GnoError | OSError) -> Iterator[bytes]:
    match event:
        case SubscribedState():
            yield _event("daemon", {"available": True, "message": ""})
            yield _event("state", event)
        case IndexChanged():
            yield _event("changed", event)
        case _:
            yield _event("daemon", {"available": False, "message": str(event)})


def _event(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
