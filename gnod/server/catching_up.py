"""Those who wait until what was pending when they came is embedded, whatever comes after them.

To wait for an empty backlog could take for ever where somebody always saves something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gnod.ingest.embedding import EmbeddingRun
from gnod.store import vectors
from gnod.store.database import Read


class _Waiting(NamedTuple):
    """`last`: what had arrived when it came."""

    last: int
    done: asyncio.Future[None]


class CatchingUp:
    def __init__(self, read: Read) -> None:
        self._read = read
        self._waiting: list[_Waiting] = []

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits, so that what came first is embedded first."""
        return bool(self._waiting)

    async def wait(self, request: Callable[[], Awaitable[None]]) -> None:
        """Return when everything that is pending now is done, or a round that `request` asks for has ended."""
        last = await self._read(vectors.last_arrival)
        if last == 0:  # nothing, or nothing that was counted: no model has embedded anything yet
            await request()
            return
        waiting = _Waiting(last, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        ended = asyncio.ensure_future(request())
        try:
            await asyncio.wait({waiting.done, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            self._waiting.remove(waiting)

    async def look(self, run: EmbeddingRun) -> None:
        """Tell those who wait for nothing any more that this run has still to do."""
        oldest = await self._read(lambda c: vectors.first_arrival(c, run.uri, run.collections))
        for waiting in self._waiting:
            if (oldest is None or oldest > waiting.last) and not waiting.done.done():
                waiting.done.set_result(None)
