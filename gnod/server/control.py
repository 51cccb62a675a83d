"""What the daemon is asked to do with itself: to stop, or to open its index anew. Knows no services and no sockets.

Whoever asks is a part of what will be closed, so asking returns at once; `lifecycle.serve` does it afterwards.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

_log = logging.getLogger(__name__)


class Control:
    """To be used in the event loop's thread. `stopping` is set by the first `stop`."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self._asked = asyncio.Event()
        self._befores: list[Callable[[], None]] = []

    def stop(self) -> None:
        """End the daemon after the requests in flight."""
        self.stopping.set()
        self._asked.set()

    def reopen(self, before: Callable[[], None] | None = None) -> None:
        """Close everything that has the index open, run `before` in a thread, and start again.

        The lock and the listening socket stay: who connects meanwhile is served afterwards. Connections that are open
        are closed after their requests. A `before` that raises is logged, and the index is opened all the same; one
        that was asked for before a `stop` still runs.
        """
        if before is not None:
            self._befores.append(before)
        self._asked.set()

    async def asked(self) -> None:
        """Return as soon as something was asked for."""
        await self._asked.wait()

    async def run_befores(self) -> None:
        """Do what was to be done while nobody has the index open. What is asked for from now on is yet to come."""
        befores, self._befores = self._befores, []
        self._asked.clear()
        if self.stopping.is_set():
            self._asked.set()
        for before in befores:
            try:
                await asyncio.to_thread(before)
            except Exception:
                _log.exception("reopen.before_failed")
