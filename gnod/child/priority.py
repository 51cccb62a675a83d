"""Let work that nobody waits for have the processor and the disk last.

On Linux this is said of a thread, and the threads that it starts later inherit it. There is no way back: to raise a
priority again needs rights that an ordinary user lacks.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading

_THREAD_NICE = 10
# ioprio_set(2), for which the C library has no function. The numbers of arm64 are those of all newer machines.
_SYSTEM_CALLS = {"x86_64": 251, "aarch64": 30, "riscv64": 30}
_WHO_PROCESS = 1
_CALLING_THREAD = 0
_LOWEST_BEST_EFFORT = 2 << 13 | 7


def lower_process(nice: int) -> None:
    """Lower this process, which has one thread yet. `nice`: by how much; 0 leaves it as it is."""
    if nice:
        with contextlib.suppress(OSError):
            os.nice(nice)
        _lower_disk()


def lower_thread() -> None:
    """Lower this thread. Elsewhere than on Linux it would be the whole process: there it stays as it is."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, max(_THREAD_NICE, os.getpriority(os.PRIO_PROCESS, thread)))
        _lower_disk()


def _lower_disk() -> None:
    """A kernel without it, or a sandbox that forbids it, is no reason to fail."""
    if sys.platform == "linux" and (number := _SYSTEM_CALLS.get(os.uname().machine)):
        ctypes.CDLL(None).syscall(number, _WHO_PROCESS, _CALLING_THREAD, _LOWEST_BEST_EFFORT)
