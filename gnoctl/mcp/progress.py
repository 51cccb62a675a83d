"""Progress on its way from the daemon to the agent: as much of it as an agent can use. Knows no tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from gnoctl import text
from gnod.client.answers import OnProgress
from gnod.protocol.results import ProgressValue

# An answer's words come one by one, and nobody shows more than a few lines a second.
PAUSE_S = 0.2

Tell = Callable[[float, str], Awaitable[None]]


@asynccontextmanager
async def relayed(tell: Tell) -> AsyncIterator[OnProgress]:
    """Yield what takes the daemon's progress; `tell` gets a number that only grows (MCP's rule), and a sentence."""
    latest: list[str] = []
    news = asyncio.Event()

    def take(value: ProgressValue) -> None:
        latest[:] = [describe(value)]
        news.set()

    async def pass_on() -> None:
        number, told = 0, None
        while True:
            await news.wait()
            news.clear()
            if latest[0] != told:
                number, told = number + 1, latest[0]
                await tell(number, told)
                await asyncio.sleep(PAUSE_S)

    passing = asyncio.create_task(pass_on())
    # An agent that hung up is noticed elsewhere.
    passing.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        yield take
    finally:
        passing.cancel()


def describe(value: ProgressValue) -> str:
    """Return the progress as a sentence.

    >>> describe(ProgressValue(stage="index", done=2, total=10, label="notes"))
    'index notes: 2 of 10'
    """
    what = " ".join(filter(None, (value.stage, value.label)))
    if isinstance(value.text, str) or not (value.done or value.total):
        return text.line(what)
    return text.line(f"{what}: {value.done} of {value.total}" if value.total else f"{what}: {value.done}")
