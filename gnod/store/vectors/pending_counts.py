"""How many texts are pending, for every search: counting very many takes longer than the search, so a count is kept for
a while. The first pending text is noticed at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gnod.store.connection import Connection
from gnod.store.vectors import vectors

# Spend at most this share of the time on counting.
SHARE = 0.02


class _Counted(NamedTuple):
    """`arrived`: as `vectors.last_arrival` was."""

    number: int
    arrived: int
    until: float


class PendingCounts:
    """Any thread may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[tuple[str, tuple[str, ...]], _Counted] = {}

    def of(self, connection: Connection, uri: str, collections: Sequence[str]) -> int:
        """Return how many texts of these collections the model has not embedded. Where counting takes long, the number
        may be some seconds old."""
        key, arrived = (uri, tuple(collections)), vectors.last_arrival(connection)
        known = self._known.get(key)
        is_current = known is not None and (known.number > 0 or known.arrived == arrived)
        if known is None or not is_current or self._clock() >= known.until:
            started = self._clock()
            number = vectors.count_pending(connection, uri, collections)
            now = self._clock()
            known = self._known[key] = _Counted(number, arrived, now + (now - started) / SHARE)
        return known.number
