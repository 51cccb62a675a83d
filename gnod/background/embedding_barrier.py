"""Lets callers wait until the chunks that are pending now are embedded.

New chunks may arrive all the time, so an empty backlog may never come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gnod.ingest.embedding import EmbeddingRun
from gnod.store.connection import Read
from gnod.store.vectors import vectors


class _BarrierWait(NamedTuple):
    """`last`: the newest pending text when the wait began."""

    last: int
    done: asyncio.Future[None]


class BacklogBarrier:
    def __init__(self, read: Read) -> None:
        self._read = read
        self._waiting: list[_BarrierWait] = []

    @property
    def is_awaited(self) -> bool:
        """Whether a caller waits. Then the oldest chunks are embedded first."""
        return bool(self._waiting)

    async def wait(self, request: Callable[[], Awaitable[None]]) -> None:
        """Return when everything that is pending now is done, or the round of `request` has ended."""
        last = await self._read(vectors.last_arrival)
        if last == 0:  # nothing is pending, or no model has embedded anything yet
            await request()
            return
        waiting = _BarrierWait(last, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        ended = asyncio.ensure_future(request())
        try:
            await asyncio.wait({waiting.done, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            self._waiting.remove(waiting)

    async def update(self, run: EmbeddingRun) -> None:
        """Complete the waits for chunks that this run has embedded."""
        oldest = await self._read(lambda c: vectors.first_arrival(c, run.uri, run.collections))
        for waiting in self._waiting:
            if (oldest is None or oldest > waiting.last) and not waiting.done.done():
                waiting.done.set_result(None)
