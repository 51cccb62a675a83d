"""A limit on the processor time of one way to read a file, so that another can be tried before the file's own time is
over.

Libraries have places where a few kilobytes take hours. Counts time in Python and in its regular expressions; what C
code does without coming back is the pool's affair, which ends the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN_S = 0.5


class OutOfPatience(BaseException):
    """Not an Exception: libraries catch those, and go on."""


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise OutOfPatience in the block when it has used so much processor time. Not to be nested; without effect
    outside the main thread, where no signal arrives."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _lose)
    # Again and again: it may be caught after all.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _lose(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise OutOfPatience
