"""Requests to stop the daemon or to reopen its index. Knows no services and no sockets.

A caller belongs to what will be closed, so a request returns at once; `lifecycle.serve` carries it out.
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
        self._requested = asyncio.Event()
        self._befores: list[Callable[[], None]] = []

    def stop(self) -> None:
        """End the daemon after the requests in flight."""
        self.stopping.set()
        self._requested.set()

    def reopen(self, before: Callable[[], None] | None = None) -> None:
        """Close everything that has the index open, run `before` in a thread, and start again.

        The lock and the listening socket stay: clients that connect meanwhile are served afterwards. Open connections
        are closed after their requests. An exception of `before` is logged, and the index is opened all the same. A
        `before` that was requested before a `stop` still runs.
        """
        if before is not None:
            self._befores.append(before)
        self._requested.set()

    async def requested(self) -> None:
        """Wait for a request."""
        await self._requested.wait()

    async def run_befores(self) -> None:
        """Run the functions requested so far, while the index is closed."""
        befores, self._befores = self._befores, []
        self._requested.clear()
        if self.stopping.is_set():
            self._requested.set()
        for before in befores:
            try:
                await asyncio.to_thread(before)
            except Exception:
                _log.exception("reopen.before_failed")
