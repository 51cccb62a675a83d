"""Open a database, run its writer thread and a pool of reader threads, and translate apsw's errors.

In WAL mode the writer does not block readers. Every write is one transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import stat
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar
from unicodedata import normalize

import apsw

from gnod.disks.spellings import folded
from gnod.errors import DatabaseCorrupt, ForeignDatabase, StorageFailed
from gnod.fair_turns import Turns
from gnod.private import private_folder
from gnod.signals import Signal
from gnod.store import index_schema, packing
from gnod.store.connection import Connection, Read
from gnod.store.faults import damaged, identify, translated
from gnod.store.keyword_index.postings import feed
from gnod.store.keyword_index.postings.feed import Feed
from gnod.store.keyword_index.postings.versions import Postings
from gnod.store.keyword_index.postings.view import attach, in_one_view, in_snapshot
from gnod.store.schema import Schema, migrate, usable_version
from gnod.store.tables import changes
from gnod.store.vectors import vector_rows

T = TypeVar("T")

READERS = 4
_BUSY_TIMEOUT_MS = 10_000
# The number of snapshots that may be open at once. Each has its own connection, which is kept.
SNAPSHOTS = 16
# The cache of each reading connection. The system also caches the pages of the file. With four times as much, searches
# are not faster, and four threads take 24 MB more.
_CACHE_KIB = 2 * 1024
# A transaction of 400 documents changes about this much. Pages that do not fit in the cache are written twice.
_WRITER_CACHE_KIB = 32 * 1024
# SQLite steps between heartbeats: about a third of a second. This distinguishes work from a hang at no measurable cost.
_HEARTBEAT_STEPS = 5_000_000
# If a large transaction makes the log longer, it is later truncated to this length.
_KEPT_LOG_BYTES = 4 << 20
# Five vectors of 384 dimensions fit on a page. A page of 4 kB would have two, and a quarter would stay unused.
_PAGE_BYTES = 8192
_LOG_PAGES = 1000
_MODE = 0o600
_MAGIC = b"SQLite format 3\0"

_log = logging.getLogger(__name__)


class Database:
    """An open and migrated database file of gnod; by default that of an index.

    `knn_missing`: why sqlite-vec is not loaded, or None.
    `unclean_shutdown`: the last process did not close the database. `failure`: why the last write failed, or None.
    `file_identity`: the open files. `damaged` is emitted when damage is found, in any thread and perhaps often.
    `written` is emitted in the writer's thread, after each transaction and before its caller continues.

    Raises ForeignDatabase, NewerDatabase or OutdatedDatabase, without changing the file, and DatabaseCorrupt or
    StorageFailed.
    """

    def __init__(
        self, path: Path, *, schema: Schema = index_schema.SCHEMA, readers: int = READERS, use_knn: bool = True
    ) -> None:
        self.path = path
        self._kind = schema.kind
        self.knn_missing: str | None = None if use_knn else "disabled"
        self.failure: StorageFailed | None = None
        self.damaged: Signal[[]] = Signal()
        self.written: Signal[[]] = Signal()
        with translated(path, self._kind):
            self.unclean_shutdown = _has_bytes(path.with_name(path.name + "-wal"))
            self._writer_connection = _open_writer(path, schema)
            if use_knn:
                self.knn_missing = _load_knn(self._writer_connection)
            # This creates -wal and -shm.
            self._writer_connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            self.file_identity = identify(path)
        self.postings: Postings | None = None
        self._feed: Feed | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="gnod-writer")
        self._readers = ThreadPoolExecutor(readers, thread_name_prefix="gnod-reader")
        self._local = threading.local()
        self._lock = threading.Lock()
        self._reader_connections: list[Connection] = []
        self._running: dict[Future[object], Connection] = {}
        self._turns = Turns(readers)
        self._snapshots = Turns(SNAPSHOTS)
        self._idle_snapshots: list[_Snapshot] = []
        self._heartbeats: deque[Future[None]] = deque()
        self._writer_connection.set_progress_handler(self._beat, _HEARTBEAT_STEPS)

    async def read(self, work: Callable[[Connection], T], /) -> T:
        """Run a read on a reader thread. Cancelling the caller interrupts the query in SQLite."""
        return await self._read_in_turn(work, None)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Read]:
        """Yield a `read` function. All its calls see the state of the database at the first call. Waits while SNAPSHOTS
        are open; clients take turns. Calls run one at a time. Cancelling a call interrupts it."""
        async with self._snapshots:
            snapshot = self._idle_snapshots.pop() if self._idle_snapshots else _Snapshot()

            async def read(work: Callable[[Connection], T], /) -> T:
                return await self._read_in_turn(work, snapshot)

            try:
                yield read
            finally:
                with contextlib.suppress(RuntimeError):  # the database is closed
                    ended = self._readers.submit(snapshot.end)
                    # Give the snapshot back even if the caller is cancelled here. Otherwise each cancelled query would
                    # cost a connection.
                    ended.add_done_callback(lambda _: self._idle_snapshots.append(snapshot))
                    await asyncio.shield(asyncio.wrap_future(ended))

    async def write(self, work: Callable[[Connection], T], /) -> T:
        """Run a write in one transaction. The write is completed even if the caller is cancelled."""
        return await asyncio.wrap_future(self.submit_write(work))

    async def maintain(self, work: Callable[[Connection], T], /) -> T:
        """Run `work` on the writer thread outside any transaction (VACUUM, checkpoints)."""
        return await asyncio.wrap_future(self.submit_maintenance(work))

    def submit_write(self, work: Callable[[Connection], T]) -> Future[T]:
        """Submit a `write`, for threads and for callers that do not wait."""
        return self._writer.submit(self._write, work)

    def submit_maintenance(self, work: Callable[[Connection], T]) -> Future[T]:
        """Submit a `maintain`, for threads and for callers that do not wait."""
        return self._writer.submit(self._maintain, work)

    def follow(self, terms: Feed) -> None:
        """Give a feed the terms of each write from now on. Call this before the first write."""
        feed.follow(self._writer_connection, terms)
        self._feed = terms

    def heartbeat(self) -> Future[None]:
        """Return a future that is done when the writer is free or makes progress. A VACUUM may take minutes."""
        beat: Future[None] = Future()
        self._heartbeats.append(beat)
        self._writer.submit(self._beat)
        return beat

    def submit_read(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run `work` on a reader thread, with one consistent snapshot. `interrupt` ends it early."""
        return self._submit_read(work, None)

    def interrupt(self, future: Future[T]) -> None:
        """Make a running read raise RequestCancelled. A read that waits for a thread never starts."""
        if future.cancel():
            return
        with self._lock:
            connection = self._running.get(future)  # type: ignore[arg-type]
            if connection is not None:
                connection.interrupt()

    def close(self) -> None:
        """Finish the submitted writes, then close. Running reads are interrupted."""
        with self._lock:
            for connection in self._running.values():
                connection.interrupt()
        self._readers.shutdown(wait=True, cancel_futures=True)
        self._writer.shutdown(wait=True)
        for connection in self._reader_connections:
            connection.close()
        try:
            self._writer_connection.execute("PRAGMA optimize")
        except apsw.Error as error:  # the database is damaged, or the disk is full
            _log.debug("index.not_optimised", extra={"fields": {"reason": type(error).__name__}})
        with contextlib.suppress(apsw.Error):
            self._writer_connection.close()

    async def _read_in_turn(self, work: Callable[[Connection], T], snapshot: _Snapshot | None) -> T:
        """Read when it is this client's turn. Waiting reads of all clients alternate."""
        async with self._turns:
            future = self._submit_read(work, snapshot)
            try:
                return await asyncio.wrap_future(future)
            except asyncio.CancelledError:
                self.interrupt(future)
                raise

    def _submit_read(self, work: Callable[[Connection], T], snapshot: _Snapshot | None) -> Future[T]:
        future: Future[T] = Future()
        self._readers.submit(self._run_read, work, future, snapshot)
        return future

    def _beat(self) -> bool:
        """Complete the heartbeats. This is also SQLite's progress handler: False continues the statement."""
        while self._heartbeats:
            beat = self._heartbeats.popleft()
            if beat.set_running_or_notify_cancel():
                beat.set_result(None)
        return False

    def _write(self, work: Callable[[Connection], T]) -> T:
        connection, clock = self._writer_connection, 0
        if self._feed:
            self._feed.begin()
        with self._writing(), atomic(connection):
            result = work(connection)
            if self._feed:
                clock = changes.present(connection).clock
        if self._feed:
            self._feed.committed(clock)
        self.written.emit()
        return result

    def _maintain(self, work: Callable[[Connection], T]) -> T:
        with self._writing():
            result = work(self._writer_connection)
        self.written.emit()
        return result

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
            self.damaged.emit()
            # It was a gnod database when it was opened.
            raise error if isinstance(error, DatabaseCorrupt) else damaged(self.path, self._kind) from error

    def _run_read(self, work: Callable[[Connection], T], future: Future[T], snapshot: _Snapshot | None) -> None:
        # Take the lock first: a caller that waits for it can still be cancelled.
        with snapshot.lock if snapshot else contextlib.nullcontext():
            if future.set_running_or_notify_cancel():
                self._complete_read(work, future, snapshot)

    def _complete_read(self, work: Callable[[Connection], T], future: Future[T], snapshot: _Snapshot | None) -> None:
        try:
            with self._watched():
                connection = self._snapshot_connection(snapshot) if snapshot else self._reader_connection()
                with self._lock:
                    self._running[future] = connection  # type: ignore[index]
                try:
                    result = in_one_view(connection, work) if snapshot else in_snapshot(connection, work)
                finally:
                    with self._lock:
                        del self._running[future]  # type: ignore[arg-type]
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _snapshot_connection(self, snapshot: _Snapshot) -> Connection:
        if snapshot.connection is None:
            snapshot.connection = self._open_reader()
        if not snapshot.connection.in_transaction:
            snapshot.connection.execute("BEGIN")
        return snapshot.connection

    def open_reader(self) -> Connection:
        """Return a connection for the caller's own thread. It is closed with the database."""
        with self._watched():
            return self._open_reader()

    def _reader_connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._open_reader()
        return connection

    def _open_reader(self) -> Connection:
        connection = open_reader(self.path, self.postings)
        if self.knn_missing is None:
            vector_rows.load_extension(connection)
        with self._lock:
            self._reader_connections.append(connection)
        return connection


class _Snapshot:
    """A connection whose transaction stays open between calls. `lock` allows one call at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connection: Connection | None = None

    def end(self) -> None:
        with self.lock:
            if self.connection is not None and self.connection.in_transaction:
                self.connection.execute("COMMIT")


@contextmanager
def atomic(connection: Connection) -> Iterator[None]:
    """Run one transaction. It takes the write lock at once, because a later upgrade of the lock could fail."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite may have rolled back already, for example on a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _open_writer(path: Path, schema: Schema) -> Connection:
    private_folder(path.parent)
    if _has_bytes(path):
        _refuse_unsuitable(path, schema)
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        if stat.S_IMODE(path.stat().st_mode) != _MODE:
            path.chmod(_MODE)  # it contains private notes
        _configure(connection, _WRITER_CACHE_KIB)
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # this affects only a new database
        connection.execute("PRAGMA journal_mode = WAL")
        _sync(connection, schema)
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_KEPT_LOG_BYTES}")
        if connection.pragma("application_id") != schema.kind.application_id:
            connection.execute(f"PRAGMA application_id = {schema.kind.application_id}")
        migrate(connection, path, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def _sync(connection: Connection, schema: Schema) -> None:
    """Make SQLite wait for the disk at each transaction if the data cannot be rebuilt."""
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if schema.kind.is_rebuilt else 'FULL'}")
    # On macOS, fsync leaves data in the cache of the disk. Other systems do not make this difference.
    connection.execute(f"PRAGMA fullfsync = {not schema.kind.is_rebuilt}")


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _load_knn(connection: Connection) -> str | None:
    try:
        return vector_rows.load_extension(connection)
    except BaseException:
        connection.close()
        raise


def _refuse_unsuitable(path: Path, schema: Schema) -> None:
    """Check the file read-only, so that a database that gnod cannot use is not changed."""
    wal = path.with_name(f"{path.name}-wal")
    # With an empty log, `immutable` keeps SQLite from creating files beside this one.
    is_checkpointed = not wal.exists() or wal.stat().st_size == 0
    address = f"{path.absolute().as_uri()}{'?immutable=1' if is_checkpointed else ''}"
    connection = Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        found = connection.pragma("application_id")
        # If the file is empty and unsigned, gnod may have ended before it set the application id.
        is_blank = found == 0 and _is_sqlite(path) and not connection.execute("SELECT count(*) FROM sqlite_schema").get
        if found != schema.kind.application_id and not is_blank:
            raise ForeignDatabase(f"{path} is a database of another program: {schema.kind.lost}")
        usable_version(connection, path, schema)
    finally:
        connection.close()


def _configure(connection: Connection, cache_kib: int = _CACHE_KIB) -> None:
    connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{cache_kib}")
    connection.execute("PRAGMA temp_store = MEMORY")
    # SQLite's own lower() supports ASCII only.
    connection.create_scalar_function("folded", _of_text(folded), 1, deterministic=True)
    connection.create_scalar_function("composed", _of_text(partial(normalize, "NFC")), 1, deterministic=True)
    packing.register(connection)


def _of_text(change: Callable[[str], str]) -> Callable[..., str | None]:
    return lambda *values: change(values[0]) if isinstance(values[0], str) else None


def open_reader(path: Path, postings: Postings | None = None) -> Connection:
    """Open a database for reading, in this process or another."""
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    attach(connection, postings)
    _configure(connection)
    return connection
