"""Open the index database; one writer thread, a pool of reader threads; apsw's errors become ours here.

WAL lets readers go on while the writer works. Every write is one transaction: it happens whole or not at all.
"""

from __future__ import annotations

import contextlib
import logging
import stat
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import apsw

from gnod.errors import DatabaseCorrupt, ForeignDatabase, StorageFailed
from gnod.store import knn, migrations
from gnod.store.faults import damaged, footing_of, translated
from gnod.store.schema import Schema

T = TypeVar("T")
Connection = apsw.Connection

READERS = 4
_BUSY_TIMEOUT_MS = 10_000
_CACHE_KIB = 8 * 1024
# About a third of a second of work: often enough to tell work from a hang, and too seldom to cost anything.
_PULSE_STEPS = 5_000_000
_MODE = 0o600
_MAGIC = b"SQLite format 3\0"

_log = logging.getLogger(__name__)


class Read(Protocol):
    """Runs work on a reader thread, for coroutines."""

    def __call__(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...


class Database:
    """A database file of ours, opened and migrated: that of an index, unless `schema` says otherwise.

    `knn_missing` says why there are no sqlite-vec tables, when there are none: vectors are stored all the same.
    `ended_badly`: who had it open last did not close it. `failure`: why the last write could not be made; None: it was.
    `footing`: the files that are open. `on_damage` is called in any thread, perhaps often, when the file turns out to
    be damaged.

    Raises ForeignDatabase or NewerDatabase, leaving the file as it is, and DatabaseCorrupt or StorageFailed.
    """

    def __init__(
        self, path: Path, *, schema: Schema = migrations.SCHEMA, readers: int = READERS, use_knn: bool = True
    ) -> None:
        self.path = path
        self._kind = schema.kind
        self.knn_missing: str | None = None if use_knn else "switched off"
        self.failure: StorageFailed | None = None
        self.on_damage: Callable[[], None] = lambda: None
        with translated(path, self._kind):
            self.ended_badly = _has_bytes(path.with_name(path.name + "-wal"))
            self._writer_connection = _open_writer(path, schema)
            if use_knn:
                self.knn_missing = _attach_knn(self._writer_connection)
            self._writer_connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # makes the companions
            self.footing = footing_of(path)
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
        try:
            self._writer_connection.execute("PRAGMA optimize")
        except apsw.Error as error:  # damaged, or no room: of no use to anybody who closes
            _log.debug("index.not_optimised", extra={"fields": {"reason": type(error).__name__}})
        with contextlib.suppress(apsw.Error):
            self._writer_connection.close()

    def _beat(self) -> bool:
        """Answer those who wait for a pulse. As SQLite's progress handler: False means go on."""
        while self._pulses:
            beat = self._pulses.popleft()
            if beat.set_running_or_notify_cancel():
                beat.set_result(None)
        return False

    def _write(self, work: Callable[[Connection], T]) -> T:
        with self._writing(), atomic(self._writer_connection):
            return work(self._writer_connection)

    def _maintain(self, work: Callable[[Connection], T]) -> T:
        with self._writing():
            return work(self._writer_connection)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._watched():
                yield
        except StorageFailed as error:
            self.failure = error
            raise
        self.failure = None

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            with translated(self.path, self._kind):
                yield
        except (DatabaseCorrupt, ForeignDatabase) as error:
            self.on_damage()
            # It was ours when it was opened.
            raise error if isinstance(error, DatabaseCorrupt) else damaged(self.path, self._kind) from error

    def _read(self, work: Callable[[Connection], T], future: Future[T]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            with self._watched():
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


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _open_writer(path: Path, schema: Schema) -> Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _has_bytes(path):
        _refuse_foreign(path, schema)
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        if stat.S_IMODE(path.stat().st_mode) != _MODE:
            path.chmod(_MODE)  # it holds the text of private notes
        _configure(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA wal_autocheckpoint = 2000")
        if connection.pragma("application_id") != schema.kind.application_id:
            connection.execute(f"PRAGMA application_id = {schema.kind.application_id}")
        schema.migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


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


def _refuse_foreign(path: Path, schema: Schema) -> None:
    """Look without touching: a read-only connection leaves a stranger's file as it is."""
    wal = path.with_name(f"{path.name}-wal")
    # Where no write waits in the log, SQLite need not make files of its own beside this one either.
    is_settled = not wal.exists() or wal.stat().st_size == 0
    address = f"{path.absolute().as_uri()}{'?immutable=1' if is_settled else ''}"
    connection = Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        found = connection.pragma("application_id")
        # One of nobody's, and empty: perhaps a gnod ended here before it could sign.
        is_blank = found == 0 and _is_sqlite(path) and not connection.execute("SELECT count(*) FROM sqlite_schema").get
        if found != schema.kind.application_id and not is_blank:
            raise ForeignDatabase(
                f"{path} is a database of another program; move it away or choose another index with --index"
            )
        schema.refuse_newer(connection, path)
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
