"""The folder in which one model is put together: one process at a time, and room for it on the disk."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from gnod.errors import GnoError, StorageFailed

# So much stays free: the database and everything else on the disk want to go on.
MARGIN_BYTES = 100 * 1000 * 1000
POLL_S = 0.3

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Staged(NamedTuple):
    """A file that was checked and can be installed. `source`: where it came from, in words."""

    path: Path
    sha256: str
    source: str


@contextmanager
def alone_in(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the folder, which is created; call `waiting` now and then while another process has it."""
    lock = _locked(folder, waiting)
    try:
        yield
    finally:
        lock.close()


def check_space(folder: Path, needed: int) -> None:
    """Raise StorageFailed, saying how much is needed and free, unless `needed` bytes fit."""
    free = shutil.disk_usage(folder).free
    if needed + MARGIN_BYTES > free:
        raise StorageFailed(
            f"not enough room in {folder}: {_megabytes(needed + MARGIN_BYTES)} are needed and {_megabytes(free)} are "
            "free. Free some space, or set GNO_CACHE_DIR to a folder on another disk",
            {"needed_bytes": needed + MARGIN_BYTES, "free_bytes": free, "folder": str(folder)},
        )


def storage_error(error: OSError, folder: Path) -> GnoError:
    """Return what to tell of an error of the disk."""
    if error.errno not in _FULL:
        return StorageFailed(f"{error.filename or folder}: {error.strerror or error}", {"folder": str(folder)})
    try:
        free = f"{_megabytes(shutil.disk_usage(folder).free)} are free"
    except OSError:
        free = "no room is left"
    return StorageFailed(
        f"the disk is full, or this user may not write that much, in {folder} ({free}). "
        "Free some space, or set GNO_CACHE_DIR to a folder on another disk; what was fetched is kept",
        {"folder": str(folder)},
    )


def _locked(folder: Path, waiting: Callable[[], None]) -> IO[bytes]:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "lock"
        try:
            lock = path.open("ab")
        except FileNotFoundError:  # the other one has just finished and removed the folder
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(path, lock):
                return lock
        except BlockingIOError:
            waiting()
            time.sleep(POLL_S)
        lock.close()


def _is_still(path: Path, lock: IO[bytes]) -> bool:
    """Say whether the lock's name leads to it yet: whoever had it may have removed the folder."""
    try:
        return path.stat().st_ino == os.fstat(lock.fileno()).st_ino
    except FileNotFoundError:
        return False


def _megabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{size / 1e6:,.0f} MB"
