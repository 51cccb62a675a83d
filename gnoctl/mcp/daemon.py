"""The daemon as the bridge sees it: there when it is needed, through restarts. Knows no method."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from gnod.client import AsyncClient
from gnod.client.answers import OnProgress
from gnod.errors import GnoError, ShuttingDown, Unavailable
from gnod.paths import Places
from gnod.protocol.params import NoParams, Params
from gnod.protocol.results import DaemonStatusResult, Result

# A daemon that is going away takes connections for a moment still, and drops them.
PAUSES_S = (0.0, 0.1, 0.5)

R = TypeVar("R", bound=Result)


class Daemon:
    """A connection that is opened by the first call, and again after the daemon went away."""

    def __init__(self, places: Places, *, start: bool) -> None:
        self._client = AsyncClient(places, start=start)

    async def call(self, method: str, params: Params, result_type: type[R], on_progress: OnProgress | None = None) -> R:
        """Return the daemon's answer. A call that a restart interrupts is repeated: only for methods to which once
        more does no harm."""
        for pause_s in PAUSES_S:
            try:
                return await self._client.call(method, params, result_type, on_progress=on_progress)
            except Unavailable as error:
                # Those with a number of their own say that another try now would end no better.
                if type(error) not in (Unavailable, ShuttingDown):
                    raise
            await asyncio.sleep(pause_s)
        return await self._client.call(method, params, result_type, on_progress=on_progress)

    async def warm(self) -> None:
        """Start the daemon if need be, so that the first question does not wait for it. Fails in silence: that
        question will say why."""
        try:
            await self._client.call("daemon.status", NoParams(), DaemonStatusResult)
        except GnoError:
            return

    async def close(self) -> None:
        await self._client.close()
