"""Lowers the CPU and disk priority of background work.

On Linux this affects a thread and the threads that it starts later. An ordinary user cannot raise the priority again.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading

_THREAD_NICE = 10
# The C library has no function for ioprio_set(2). All newer machines have the number of arm64.
_SYSTEM_CALLS = {"x86_64": 251, "aarch64": 30, "riscv64": 30}
_WHO_PROCESS = 1
_CALLING_THREAD = 0
_LOWEST_BEST_EFFORT = 2 << 13 | 7


def lower_process(nice: int) -> None:
    """Lower the priority of this process by `nice`, while it has only one thread; 0 changes nothing."""
    if nice:
        with contextlib.suppress(OSError):
            os.nice(nice)
        _lower_disk()


def lower_thread() -> None:
    """Lower the priority of this thread. Does nothing outside Linux, where it would affect the whole process."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, max(_THREAD_NICE, os.getpriority(os.PRIO_PROCESS, thread)))
        _lower_disk()


def _lower_disk() -> None:
    if sys.platform == "linux" and (number := _SYSTEM_CALLS.get(os.uname().machine)):
        ctypes.CDLL(None).syscall(number, _WHO_PROCESS, _CALLING_THREAD, _LOWEST_BEST_EFFORT)
