"""One daemon per index: an exclusive lock on a file that stays.

The lock, not the socket or a pid, decides which process serves an index, because the kernel always releases it when the
process ends. The file is never deleted: the next process could not see the lock of a deleted file. Must not depend on
sockets.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import msgspec

import gnod
from gnod import lock_holder
from gnod.errors import DaemonNotRunning, GnoError, IndexLocked, StorageFailed
from gnod.lock_holder import Holder
from gnod.paths import IndexPaths
from gnod.private import first_file

# gnoctl takes the lock for a moment to check whether a daemon is running.
PATIENCE_S = 0.2
_MAX_FAILURE_CHARS = 2000


class IndexLock:
    """The lock that this process holds. The content of its file describes this process to clients."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._holder = Holder(
            pid=os.getpid(),
            version=gnod.__version__,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        with suppress(OSError):
            os.ftruncate(descriptor, 0)  # the file must not name an earlier process, even on a full disk
        self._write(self._holder)

    def listens_at(self, socket: str | None) -> None:
        """Publish the socket path of this process to clients; None: the process does not answer yet."""
        self._holder = msgspec.structs.replace(self._holder, socket=socket)
        self._write(self._holder)

    def ends(self, failure: str | None = None) -> None:
        """Delete everything about this process from the file, except the reason for its failure."""
        self._write(Holder(failure=failure and failure[:_MAX_FAILURE_CHARS]))

    def _write(self, content: Holder) -> None:
        # On a full disk, only the messages for other processes may fail, not the daemon.
        with suppress(OSError):
            # Write everything in one call, so that readers see no mixture: blanks cover the old content.
            length = os.fstat(self.descriptor).st_size
            os.pwrite(self.descriptor, msgspec.json.encode(content).ljust(length), 0)


@contextmanager
def index_lock(places: IndexPaths, held: int | None = None) -> Iterator[IndexLock]:
    """Hold the index's lock during the block. Raises IndexLocked if another process holds it.

    `held`: the descriptor of a lock that this process already holds. A forked child would keep the lock, so start
    workers with exec.
    """
    descriptor = first_file(places, places.lock_file, os.O_RDWR | os.O_CREAT) if held is None else held
    try:
        _acquire(descriptor, places)
        lock = IndexLock(descriptor)
        try:
            yield lock
        except GnoError as error:
            # It is not a failure if the daemon is not supposed to start.
            lock.ends(None if isinstance(error, DaemonNotRunning) else error.message)
            raise
        lock.ends()
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, places: IndexPaths) -> None:
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


def _locked(descriptor: int, places: IndexPaths) -> IndexLocked:
    other = lock_holder.read(descriptor)
    who = f"another gnod (pid {other.pid})" if other.pid else "another gnod"
    details: dict[str, object] = {"index": places.index}
    if other.pid:
        details |= {"pid": other.pid, "started_at": other.started_at}
    return IndexLocked(f"{who} already serves index '{places.index}'", details)
