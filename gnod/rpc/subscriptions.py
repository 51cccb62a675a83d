"""Notifies subscribers: of changed documents at once, of a changed state at intervals. Must not depend on the index.

A subscriber waits for `wake`, then until its client has read most of the sent data, and only then checks for changes.
So the daemon keeps nothing for a client that does not read, and the client loses nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable

from gnod.protocol.subscription import CHANGED, IndexChanged
from gnod.rpc.call import NotificationSender

STATE_EVERY_S = 0.5
# Seconds to wait after a change, because `wake` is often called many times in a row.
_REST_S = 0.05

Check = Callable[[bool], Awaitable[IndexChanged | None]]
"""Returns the changes since its last result, or None. Reports a change of state alone only if the argument is true."""

_log = logging.getLogger(__name__)


class Subscriptions:
    """All subscribers of the daemon. They get a change of state alone at most every `state_every_s` seconds."""

    def __init__(self, state_every_s: float = STATE_EVERY_S) -> None:
        self._state_every_s = state_every_s
        self._numbers = itertools.count(1)
        self._wake_ups: set[asyncio.Event] = set()

    def next_number(self) -> int:
        return next(self._numbers)

    def wake(self) -> None:
        """Make every subscriber check for changes. Call it in the event loop's thread."""
        for wake_up in self._wake_ups:
            wake_up.set()

    async def follow(self, check: Check, notifications: NotificationSender, answered: asyncio.Event) -> None:
        """Notify a client of changes after its answer, until this is cancelled or the connection ends."""
        wake_up = asyncio.Event()
        wake_up.set()  # there may be changes after the state in the reply
        self._wake_ups.add(wake_up)
        try:
            await answered.wait()
            await self._notify(check, notifications, wake_up)
        except ConnectionError:
            pass  # the connection handles this error
        except Exception:
            _log.exception("subscription.broken")
            notifications.abort()  # the client connects again and resumes from its clock
        finally:
            self._wake_ups.discard(wake_up)

    async def _notify(self, check: Check, notifications: NotificationSender, wake_up: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        state_due = loop.time() + self._state_every_s
        is_delayed = False
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(state_due if is_delayed else None):
                    await wake_up.wait()
            wake_up.clear()
            await notifications.room()
            is_delayed = loop.time() < state_due
            changed = await check(not is_delayed)
            if changed is not None:
                notifications.send(CHANGED, changed)
                state_due = loop.time() + self._state_every_s
                is_delayed = False
                if changed.more:
                    wake_up.set()
                    continue
            await asyncio.sleep(_REST_S)
