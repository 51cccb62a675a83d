"""Work that nobody waits for gives way to searches: to those that are computed, and to those that are about to come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A search goes on in the daemon when it has the query's vector, and the next keystroke may follow.
_QUIET_S = 0.3
# While searches follow one another without end, background work still gets a tenth of the time.
_LONGEST_REST = 9
_CHECK_S = 0.005


class GivingWay:
    """Several threads may use it."""

    def __init__(self) -> None:
        self._searches: set[int] = set()
        self._quiet_until = 0.0

    @contextmanager
    def searching(self, request_id: int) -> Iterator[None]:
        """Note that somebody waits for what the block does."""
        self._searches.add(request_id)
        try:
            yield
        finally:
            self._quiet_until = time.monotonic() + _QUIET_S
            self._searches.remove(request_id)

    def rest(self, worked_s: float) -> None:
        """Return when nobody searches, at the latest after a multiple of the time that the last piece of work took."""
        until = time.monotonic() + _LONGEST_REST * worked_s
        while (now := time.monotonic()) < until and (self._searches or now < self._quiet_until):
            time.sleep(_CHECK_S)

    def wait(self, stop: Callable[[], bool]) -> None:
        """Return when nobody waits for work any more, or `stop` says so."""
        while self._searches and not stop():
            time.sleep(_CHECK_S)
