"""Open the index database; one writer thread, a pool of reader threads; apsw's errors become ours here.

WAL lets readers go on while the writer works. Every write is one transaction: it happens whole or not at all.
"""

from __future__ import annotations

import shutil
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import apsw

from gnod.errors import DatabaseCorrupt, ForeignDatabase, GnoError, RequestCancelled, StorageFailed
from gnod.store import knn, migrations

T = TypeVar("T")
Connection = apsw.Connection

# "gnod" in ASCII: `file` and we tell our databases from others by it.
APPLICATION_ID = 0x676E6F64

READERS = 4
_BUSY_TIMEOUT_MS = 10_000
_FULL_BYTES = 128 * 1024
_CACHE_KIB = 8 * 1024
# About a third of a second of work: often enough to tell work from a hang, and too seldom to cost anything.
_PULSE_STEPS = 5_000_000


class Read(Protocol):
    """Runs work on a reader thread, for coroutines."""

    def __call__(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...


class Database:
    """The database file of one index, opened and migrated.

    `knn_missing` says why there are no sqlite-vec tables, when there are none: vectors are stored all the same.

    Raises ForeignDatabase or NewerDatabase, leaving the file as it is, and DatabaseCorrupt or StorageFailed.
    """

    def __init__(self, path: Path, *, readers: int = READERS, use_knn: bool = True) -> None:
        self.path = path
        self.knn_missing: str | None = None if use_knn else "switched off"
        with translated(path):
            self._writer_connection = _open_writer(path)
            if use_knn:
                self.knn_missing = _attach_knn(self._writer_connection)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="gnod-writer")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="gnod-reader")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._reader_connections: list[Connection] = []
        self._running: dict[Future[object], Connection] = {}
        self._pulses: deque[Future[None]] = deque()
        self._writer_connection.set_progress_handler(self._beat, _PULSE_STEPS)

    def write(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run `work` on the writer thread inside one transaction."""
        return self._writer.submit(self._write, work)

    def maintain(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run `work` on the writer thread outside any transaction (VACUUM, checkpoints)."""
        return self._writer.submit(self._maintain, work)

    def pulse(self) -> Future[None]:
        """Return what is done as soon as the writer is free, or gets on with what it does: a VACUUM may take minutes,
        and is no hang."""
        beat: Future[None] = Future()
        self._pulses.append(beat)
        self._writer.submit(self._beat)
        return beat

    def read(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run `work` on a reader thread; it sees one consistent state. `interrupt` ends it early."""
        future: Future[T] = Future()
        self._readers.submit(self._read, work, future)
        return future

    def interrupt(self, future: Future[T]) -> None:
        """Make a running read raise RequestCancelled; one that waits for a thread does not start."""
        if future.cancel():
            return
        with self._lock:
            connection = self._running.get(future)  # type: ignore[arg-type]
            if connection is not None:
                connection.interrupt()

    def close(self) -> None:
        """Finish the writes that were handed in, then close. Reads that still run are interrupted."""
        with self._lock:
            for connection in self._running.values():
                connection.interrupt()
        self._readers.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)
        for connection in self._reader_connections:
            connection.close()
        with translated(self.path):
            self._writer_connection.execute("PRAGMA optimize")
        self._writer_connection.close()

    def _beat(self) -> bool:
        """Answer those who wait for a pulse. As SQLite's progress handler: False means go on."""
        while self._pulses:
            beat = self._pulses.popleft()
            if beat.set_running_or_notify_cancel():
                beat.set_result(None)
        return False

    def _write(self, work: Callable[[Connection], T]) -> T:
        with translated(self.path), atomic(self._writer_connection):
            return work(self._writer_connection)

    def _maintain(self, work: Callable[[Connection], T]) -> T:
        with translated(self.path):
            return work(self._writer_connection)

    def _read(self, work: Callable[[Connection], T], future: Future[T]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with translated(self.path):
                connection = self._reader_connection()
                with self._lock:
                    self._running[future] = connection  # type: ignore[index]
                try:
                    result = _in_snapshot(connection, work)
                finally:
                    with self._lock:
                        del self._running[future]  # type: ignore[arg-type]
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _reader_connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
            _configure(connection)
            if self.knn_missing is None:
                knn.load(connection)
            self._local.connection = connection
            with self._lock:
                self._reader_connections.append(connection)
        return connection


@contextmanager
def atomic(connection: Connection) -> Iterator[None]:
    """One transaction, taken for writing at once: an upgrade half way could find the database locked."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk makes SQLite roll back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn apsw's exceptions into ours. A message of SQLite's never reaches a user alone."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, path) from error
    except OSError as error:
        raise StorageFailed(f"the index {path} cannot be opened: {error.strerror}") from error


def _translate(error: apsw.Error, path: Path) -> GnoError:
    if isinstance(error, apsw.InterruptError):
        return RequestCancelled("cancelled")
    if isinstance(error, apsw.NotADBError):
        return ForeignDatabase(f"{path} is not a gnod index; move it away or choose another index with --index")
    if isinstance(error, apsw.CorruptError):
        return DatabaseCorrupt(f"the index {path} is damaged; stop gnod, move the file away and index again")
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _disk_is_full(path)):
        return StorageFailed(f"no space left on the disk that holds {path}; nothing was lost: free some and try again")
    if isinstance(error, apsw.ReadOnlyError):
        return StorageFailed(f"the index {path} cannot be written: check the permissions of it and its folder")
    if isinstance(error, apsw.CantOpenError):
        return StorageFailed(f"the index {path} cannot be opened: check that its folder exists and is yours")
    if isinstance(error, apsw.IOError):
        return StorageFailed(f"reading or writing the index {path} failed: {error}")
    if isinstance(error, apsw.BusyError):
        return StorageFailed(f"the index {path} is locked by another program")
    return StorageFailed(f"the index {path} failed: {error}")


def _disk_is_full(path: Path) -> bool:
    """SQLite calls it an I/O error when it cannot even make the file that its readers share."""
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BYTES
    except OSError:
        return False


def _open_writer(path: Path) -> Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists() or path.stat().st_size == 0
    if not is_new:
        _refuse_foreign(path)
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        path.chmod(0o600)  # it holds the text of private notes
        _configure(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 2000")
        if is_new:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrations.migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _attach_knn(connection: Connection) -> str | None:
    try:
        if missing := knn.load(connection):
            return missing
        with atomic(connection):
            knn.attach(connection)
    except BaseException:
        connection.close()
        raise
    return None


def _refuse_foreign(path: Path) -> None:
    """Look without touching: a read-only connection leaves a stranger's file as it is."""
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        found = connection.pragma("application_id")
        if found != APPLICATION_ID:
            raise ForeignDatabase(
                f"{path} is a database of another program; move it away or choose another index with --index"
            )
        migrations.refuse_newer(connection, path)
    finally:
        connection.close()


def _configure(connection: Connection) -> None:
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute("PRAGMA temp_store = MEMORY")


def _in_snapshot(connection: Connection, work: Callable[[Connection], T]) -> T:
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        # An interrupt may have ended it already.
        if connection.in_transaction:
            connection.execute("COMMIT")
