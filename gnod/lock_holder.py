"""Read from the lock file which process serves an index. The daemon and clients use this module.

The content of the file stays when the process ends, so it counts only while the lock is held. Must not depend on
sockets.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from gnod.errors import Refused
from gnod.private import own_file

_READ_BYTES = 16 * 1024


class Holder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of the lock file. `pid`: 0 if it is not written yet. `version`: the version of gnod. `socket`: the
    socket path; None while the process starts. `failure`: the error that ended the process, if any."""

    pid: int = 0
    version: str = ""
    started_at: str = ""
    socket: str | None = None
    failure: str | None = None


def holder_of(lock_file: Path) -> Holder | None:
    """Return the process that holds the lock; None if no process does. Takes the lock for a moment."""
    return _read(lock_file, is_held=True)


def last_failure(lock_file: Path) -> str | None:
    """Return the error that ended the last daemon, if no daemon holds the lock now."""
    last = _read(lock_file, is_held=False)
    return last.failure if last else None


def read(descriptor: int) -> Holder:
    """Return the content of an open lock file; an empty Holder if it cannot be read."""
    try:
        return msgspec.json.decode(os.pread(descriptor, _READ_BYTES, 0), type=Holder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Holder()


def _read(lock_file: Path, *, is_held: bool) -> Holder | None:
    """Return the content if the state of the lock is `is_held`."""
    try:
        descriptor = own_file(lock_file, os.O_RDONLY)
    except (OSError, Refused):
        return None  # no daemon of this user has served the index
    try:
        return read(descriptor) if _is_locked(descriptor) == is_held else None
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
