"""Linux system calls that neither Python nor the C library wraps."""

from __future__ import annotations

import ctypes
import os

_PR_SET_NO_NEW_PRIVS = 38


class NotHeld(Exception):
    """This kernel, or a sandbox around the process, does not support the call."""


def call(number: int, *arguments: object) -> int:
    """Return the kernel's result. Raises NotHeld for an error."""
    library = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = library.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise NotHeld(os.strerror(ctypes.get_errno()))
    return result


def no_new_privileges() -> None:
    """Give up the rights of setuid programs. The kernel requires this before any restriction."""
    if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise NotHeld("no_new_privs is refused")
