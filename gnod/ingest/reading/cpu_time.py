"""Limit the CPU time of one way to read a file, so that another can be tried within the file's own limit.

A few kilobytes can keep a library busy for hours. The limit works in Python code and in regular expressions. If C code
does not return, the pool ends the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_REPEAT_S = 0.5


class CpuTimeExceeded(BaseException):
    """Not an Exception: libraries catch those and continue."""


@contextmanager
def limit_cpu_time(seconds: float) -> Iterator[None]:
    """Raise CpuTimeExceeded in the block when it has used this much CPU time. Cannot be nested. It has no effect
    outside the main thread, because other threads receive no signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_exceeded)
    # Repeat the signal, because the library may catch the exception.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _REPEAT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _raise_exceeded(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise CpuTimeExceeded
