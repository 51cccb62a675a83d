"""Calls of the daemon, which survive its restarts, and their progress, at a rate that an agent can show. Knows no
method."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from gnoctl import text
from gnod.client import AsyncClient
from gnod.client.connection import OnProgress
from gnod.errors import GnoError, ShuttingDown, Unavailable
from gnod.paths import Places
from gnod.protocol.base import NoParams, Params, ProgressValue, Result
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


# An answer arrives word by word; agents show a few updates per second.
PAUSE_S = 0.2

Report = Callable[[float, str], Awaitable[None]]


@asynccontextmanager
async def relayed(report: Report) -> AsyncIterator[OnProgress]:
    """Yield a callback for the daemon's progress; `report` gets a number that only increases, as MCP requires."""
    latest: list[str] = []
    changed = asyncio.Event()

    def take(value: ProgressValue) -> None:
        latest[:] = [describe(value)]
        changed.set()

    async def pass_on() -> None:
        number, reported = 0, None
        while True:
            await changed.wait()
            changed.clear()
            if latest[0] != reported:
                number, reported = number + 1, latest[0]
                await report(number, reported)
                await asyncio.sleep(PAUSE_S)

    passing = asyncio.create_task(pass_on())
    # A disconnected agent is detected elsewhere.
    passing.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        yield take
    finally:
        passing.cancel()


def describe(value: ProgressValue) -> str:
    """Return the progress as text.

    >>> describe(ProgressValue(stage="index", done=2, total=10, label="notes"))
    'index notes: 2 of 10'
    """
    what = " ".join(filter(None, (value.stage, value.label)))
    if isinstance(value.text, str) or not (value.done or value.total):
        return text.line(what)
    return text.line(f"{what}: {value.done} of {value.total}" if value.total else f"{what}: {value.done}")
