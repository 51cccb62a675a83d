"""When subscribers are told something: changes at once, a mere change of state now and then. Knows no index.

A subscriber sleeps until `wake`, waits until its client has room, and only then looks what there is to tell: so nothing
is kept for a client that does not read, and nothing is lost to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable

from gnod.protocol.methods import CHANGED
from gnod.protocol.results import IndexChanged
from gnod.server.outlet import Outlet

STATE_EVERY_S = 0.5
# Those who wake are many, and often come together.
_REST_S = 0.05

Look = Callable[[bool], Awaitable[IndexChanged | None]]
"""Returns what is new since it last returned something, if anything is; a mere change of state only when asked to."""

_log = logging.getLogger(__name__)


class Subscribing:
    """All subscribers of the daemon."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._sleepers: set[asyncio.Event] = set()

    def next_number(self) -> int:
        return next(self._numbers)

    def wake(self) -> None:
        """Let everybody look: something may have changed. To be called in the event loop's thread."""
        for sleeper in self._sleepers:
            sleeper.set()

    async def follow(self, look: Look, outlet: Outlet, answered: asyncio.Event) -> None:
        """Tell a client what is new, from its answer on, until this is cancelled or the connection ends."""
        woken = asyncio.Event()
        woken.set()  # for what came since the state in the answer
        self._sleepers.add(woken)
        try:
            await answered.wait()
            await _tell(look, outlet, woken)
        except ConnectionError:
            pass  # the connection learns of it by itself
        except Exception:
            _log.exception("subscription.broken")
            outlet.abort()  # one that seems to live would be worse: who connects again resumes where it was
        finally:
            self._sleepers.discard(woken)


async def _tell(look: Look, outlet: Outlet, woken: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    state_due = loop.time() + STATE_EVERY_S
    is_held = False
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(state_due if is_held else None):
                await woken.wait()
        woken.clear()
        await outlet.room()
        is_held = loop.time() < state_due
        news = await look(not is_held)
        if news is not None:
            outlet.tell(CHANGED, news)
            state_due = loop.time() + STATE_EVERY_S
            is_held = False
            if news.more:
                woken.set()
                continue
        await asyncio.sleep(_REST_S)
