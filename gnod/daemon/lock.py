"""One daemon per index: an exclusive lock on a file that stays.

The lock, not the socket or a pid, decides which process serves an index: the kernel releases it however the process
ends. The file is never deleted, because the next process could not see the lock of a deleted file. Knows no sockets.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec

from gnod.errors import IndexLocked, StorageFailed
from gnod.paths import Places
from gnod.private import prepare, private_file

# gnoctl holds the lock for a moment when it checks whether a daemon runs.
PATIENCE_S = 0.2


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the lock file, for messages only: it remains after the process."""

    pid: int
    started_at: str


@contextmanager
def index_lock(places: Places) -> Iterator[None]:
    """Hold the index's lock for the block. Raises IndexLocked when another process has it.

    A forked child would keep the lock: start workers with exec.
    """
    descriptor = _open(places)
    try:
        _acquire(descriptor, places)
        _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


def _open(places: Places) -> int:
    try:
        prepare(places)
        return private_file(places.lock_file, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StorageFailed(
            f"cannot open the lock file {places.lock_file} ({error.strerror}): make its folder writable for you, or set"
            " GNO_DATA_DIR to another folder"
        ) from error


def _acquire(descriptor: int, places: Places) -> None:
    deadline = time.monotonic() + PATIENCE_S
    try:
        while True:
            try:
                return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise _locked(descriptor, places) from None
                time.sleep(0.01)
    except OSError as error:  # a network file system without locks
        raise StorageFailed(f"cannot lock {places.lock_file}: {error.strerror}") from error


def _locked(descriptor: int, places: Places) -> IndexLocked:
    holder = _read(descriptor)
    who = f"another gnod (pid {holder.pid})" if holder else "another gnod"
    details: dict[str, object] = {"index": places.index}
    if holder:
        details |= {"pid": holder.pid, "started_at": holder.started_at}
    return IndexLocked(f"{who} already serves index '{places.index}'", details)


def _read(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None  # locked, and not written yet


def _sign(descriptor: int) -> None:
    signature = Holder(pid=os.getpid(), started_at=datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(signature) + b"\n", 0)
    except OSError:
        pass  # a full disk: only the message of another daemon lacks the pid
