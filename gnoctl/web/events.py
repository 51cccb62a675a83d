"""`GET /api/events`: what happens to the index and to the daemon, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

import msgspec

from gnod.client import AsyncClient
from gnod.errors import GnoError

MAX_STREAMS = 24

T = TypeVar("T")

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Events:
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
        """Yield events. After the end of the daemon it connects again, which starts the daemon."""
        self._streams += 1
        try:
            pause_s = _FIRST_PAUSE_S
            while not self._ending.is_set():
                try:
                    async with self._client.subscribe() as changes:
                        pause_s = _FIRST_PAUSE_S
                        yield _event("daemon", {"available": True, "message": ""})
                        yield _event("state", changes.begun.state)
                        while (changed := await self._unless_ending(changes.__anext__())) is not None:
                            yield _event("changed", changed)
                except GnoError as error:
                    yield _event("daemon", {"available": False, "message": error.message})
                await self._unless_ending(asyncio.sleep(pause_s))
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        finally:
            self._streams -= 1

    async def _unless_ending(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of `work`, or None when the server stops."""
        working = asyncio.ensure_future(work)
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
            return working.result() if working.done() else None
        finally:
            working.cancel()
            ending.cancel()


def _event(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
