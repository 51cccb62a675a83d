"""Landlock, through ctypes: a Linux process permanently gives up access to files, TCP and signals.

This module must not depend on the confined process. It requests only what the kernel's version of the interface ("ABI",
see landlock(7)) supports.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from gnod.child.system_calls import NotHeld, call, no_new_privileges

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
_ASK_VERSION = 1
_RULE_PATH_BENEATH = 1
_ALL_THREADS = 1 << 3

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_FILE, _MAKE_REGULAR = 1 << 5, 1 << 8
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_OF_FIRST_VERSION = (1 << 13) - 1
_OF_PLAIN_FILES = 1 | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE

READ = _READ_FILE | _READ_DIR
# Allow regular files only, so that the folder can be emptied without recursion.
READ_AND_WRITE = READ | _WRITE_FILE | _REMOVE_FILE | _MAKE_REGULAR | _TRUNCATE

_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # Python 3.14 requires it with _pack_
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def restrict(rules: Iterable[tuple[str, int]] | None, *, reading: bool) -> list[str]:
    """Forbid this thread and its later threads to use TCP, to signal other processes, and to access files outside
    `rules`.

    A rule is a path with READ or READ_AND_WRITE for everything below it; a missing path is skipped. Without `rules`,
    files are not restricted. `reading`: also restrict reading. Restrictions on files also forbid starting programs.
    Returns what is enforced, in words. Raises NotHeld.
    """
    known = version()
    files = _handled_files(known, reading) if rules is not None else 0
    network = _BIND_AND_CONNECT_TCP if known >= 4 else 0
    scoped = _ABSTRACT_SOCKETS_AND_SIGNALS if known >= 6 else 0
    if not files | network | scoped:
        raise NotHeld("the kernel's Landlock is too old")
    attributes = _Ruleset(files, network, scoped)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = call(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path, rights in rules or ():
            _allow(ruleset, path, rights & files)
        no_new_privileges()
        call(_RESTRICT_SELF, ruleset, _ALL_THREADS if known >= 8 else 0)
    finally:
        os.close(ruleset)
    words = {"reading": files and reading, "writing": files, "TCP": network, "signals": scoped}
    return [word for word, is_held in words.items() if is_held]


def version() -> int:
    """Return the kernel's version of the interface. Raises NotHeld."""
    return call(_CREATE_RULESET, None, 0, _ASK_VERSION)


def _handled_files(known: int, reading: bool) -> int:
    handled = _OF_FIRST_VERSION
    if known >= 2:
        handled |= _REFER
    if known >= 3:
        handled |= _TRUNCATE
    if known >= 5:
        handled |= _IOCTL_DEVICE
    return handled if reading else handled & ~READ


def _allow(ruleset: int, path: str, rights: int) -> None:
    with suppress(OSError):
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore] # Linux has it
        try:
            if not stat.S_ISDIR(os.fstat(folder).st_mode):
                rights &= _OF_PLAIN_FILES
            if rights:
                rule = _PathBeneath(rights, folder)
                call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
        finally:
            os.close(folder)
