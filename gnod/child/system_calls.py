"""System calls of Linux that neither Python nor the C library has a function for."""

from __future__ import annotations

import ctypes
import os

_PR_SET_NO_NEW_PRIVS = 38


class NotHeld(Exception):
    """This kernel, or a sandbox around us, does not do it."""


def call(number: int, *arguments: object) -> int:
    """Return what the kernel returns. Raises NotHeld for an error."""
    library = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = library.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise NotHeld(os.strerror(ctypes.get_errno()))
    return result


def no_new_privileges() -> None:
    """Give up what a program with special rights would lend us; the kernel wants that before anything else."""
    if ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise NotHeld("no_new_privs is refused")
