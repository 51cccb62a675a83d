"""Call something again when it fails for a moment, with growing pauses in between."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class GaveUp(Exception):
    """Every attempt failed; the last failure is the cause."""


def retry_with_backoff(
    action: Callable[[], T],
    *,
    attempts: int = 5,
    first_pause_s: float = 0.2,
    longest_pause_s: float = 10.0,
    retry_on: tuple[type[Exception], ...] = (ConnectionError, TimeoutError),
) -> T:
    """Return what `action` returns, trying up to `attempts` times.

    The pause doubles each time, up to `longest_pause_s`, and is shortened at random, so that a hundred clients
    which failed together do not come back together.
    """
    pause_s = first_pause_s
    for attempt in range(1, attempts + 1):
        try:
            return action()
        except retry_on as error:
            if attempt == attempts:
                raise GaveUp(f"{attempts} attempts failed") from error
        time.sleep(pause_s * random.uniform(0.5, 1.0))
        pause_s = min(pause_s * 2, longest_pause_s)
    raise AssertionError("attempts must be at least 1")
