"""Progress of the daemon's calls, at a rate that an agent can show. Must not depend on the methods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from gnoctl.printing import text
from gnod.client.connection import OnProgress
from gnod.protocol.base import ProgressValue

# An answer arrives word by word, but agents show only a few updates per second.
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
    # Other code detects a disconnected agent.
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
