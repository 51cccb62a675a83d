"""The connection to the daemon, which survives restarts of the daemon. Knows no method."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from gnod.client import AsyncClient
from gnod.client.replies import OnProgress
from gnod.errors import GnoError, ShuttingDown, Unavailable
from gnod.paths import Places
from gnod.protocol.base import NoParams, Params, Result
from gnod.protocol.daemon import DaemonStatusResult

# A daemon that is shutting down still accepts connections for a moment, and drops them.
PAUSES_S = (0.0, 0.1, 0.5)

R = TypeVar("R", bound=Result)


class Daemon:
    """Connects at the first call, and again after the daemon has ended."""

    def __init__(self, places: Places, *, start: bool) -> None:
        self._client = AsyncClient(places, start=start)

    async def call(self, method: str, params: Params, result_type: type[R], on_progress: OnProgress | None = None) -> R:
        """Return the daemon's answer. Repeats a call that a restart interrupts, so the method must be idempotent."""
        for pause_s in PAUSES_S:
            try:
                return await self._client.call(method, params, result_type, on_progress=on_progress)
            except Unavailable as error:
                # Its subclasses say that another try now would fail as well.
                if type(error) not in (Unavailable, ShuttingDown):
                    raise
            await asyncio.sleep(pause_s)
        return await self._client.call(method, params, result_type, on_progress=on_progress)

    async def warm(self) -> None:
        """Start the daemon, so that the first call need not wait. Ignores errors: the first call reports them."""
        try:
            await self._client.call("daemon.status", NoParams(), DaemonStatusResult)
        except GnoError:
            return

    async def close(self) -> None:
        await self._client.close()
