"""The folder in which one model is prepared: locked for other processes, with enough space on the disk."""

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
from gnod.models.embedding_profiles import Profile
from gnod.models.files import NO_PIN, Pin

# This much stays free, for the database and everything else on the disk.
MARGIN_BYTES = 100 * 1000 * 1000
POLL_S = 0.3

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FREE_SPACE = "Free some space, or set GNO_CACHE_DIR to a folder on another disk"


class Staged(NamedTuple):
    """Checked files that can be installed, the model first; its hash is `sha256`. `pin`: of the files that were
    downloaded. `profile`: what the model's repository states."""

    paths: list[Path]
    sha256: str
    pin: Pin = NO_PIN
    profile: Profile | None = None


@contextmanager
def exclusive(folder: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Create and lock the folder; call `on_wait` now and then while another process holds it."""
    lock = _locked(folder, on_wait)
    try:
        yield
    finally:
        lock.close()


def check_space(folder: Path, needed: int) -> None:
    """Raise StorageFailed unless `needed` bytes fit."""
    free = shutil.disk_usage(folder).free
    if needed + MARGIN_BYTES > free:
        raise StorageFailed(
            f"not enough space in {folder}: {_megabytes(needed + MARGIN_BYTES)} are needed and {_megabytes(free)} are "
            f"free. {_FREE_SPACE}",
            {"needed_bytes": needed + MARGIN_BYTES, "free_bytes": free, "folder": str(folder)},
        )


def storage_error(error: OSError, folder: Path) -> GnoError:
    """Return the error to report for an error of the disk."""
    if error.errno not in _FULL:
        return StorageFailed(f"{error.filename or folder}: {error.strerror or error}", {"folder": str(folder)})
    try:
        free = f"{_megabytes(shutil.disk_usage(folder).free)} are free"
    except OSError:
        free = "no space is left"
    return StorageFailed(
        f"the disk is full, or this user may not write that much, in {folder} ({free}). {_FREE_SPACE}; the part "
        "that was fetched is kept",
        {"folder": str(folder)},
    )


def _locked(folder: Path, on_wait: Callable[[], None]) -> IO[bytes]:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "lock"
        try:
            lock = path.open("ab")
        except FileNotFoundError:  # the other process has just finished and removed the folder
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same(path, lock):
                return lock
        except BlockingIOError:
            on_wait()
            time.sleep(POLL_S)
        lock.close()


def _is_same(path: Path, lock: IO[bytes]) -> bool:
    """Tell whether the path is still that of the lock: another process may have removed the folder."""
    try:
        return path.stat().st_ino == os.fstat(lock.fileno()).st_ino
    except FileNotFoundError:
        return False


def _megabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{size / 1e6:,.0f} MB"
