"""Make a backup while the daemon runs: snapshots of index and memories, then one archive with them and the config.

A snapshot is SQLite's online backup in a read transaction. In WAL mode it blocks no writer, and writes do not restart
it. (VACUUM INTO would rebuild every table and index, and reports neither progress nor size.)
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import apsw

import gnod
from gnod.config import storage
from gnod.errors import BackupExists, BackupRejected, DatabaseCorrupt, ForeignDatabase, StorageFailed
from gnod.paths import IndexPaths
from gnod.store import index_schema
from gnod.store.backup import archive, staging
from gnod.store.backup.archive import Manifest, OnProgress
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.faults import MEMORIES, translated

# Pages (of 4 KiB) per step. A step takes some milliseconds; the request can be cancelled between steps.
_PAGES = 2_000
_BUSY_TIMEOUT_MS = 10_000
# Space for the manifest, the config and the file system.
_ROOM = 8 * 1024 * 1024


class Backup(NamedTuple):
    """`memory_bytes`: the size of the memories, or 0 if there are none."""

    file: Path
    bytes: int
    documents: int
    memory_bytes: int


def make(database: Database, places: IndexPaths, file: Path, *, force: bool, on_progress: OnProgress) -> Backup:
    """Write a backup to `file`, completely or not at all.

    Blocks, so it must not run in the event loop. Raises BackupExists, BackupRejected, DatabaseCorrupt, StorageFailed.
    """
    try:
        _check_target(file, force=force)
    except OSError as error:
        raise StorageFailed(f"{file} cannot be written: {error.strerror}") from error
    _check_room(places, file)
    with staging.folder(places) as folder:
        snapshot, memories = folder / archive.INDEX, folder / archive.MEMORIES
        about = database.submit_read(
            lambda connection: _snapshot(connection, snapshot, places.index, on_progress)
        ).result()
        parts = {archive.INDEX: snapshot}
        memory_bytes = 0
        if _snapshot_memories(places.memory_database, memories, on_progress):
            parts[archive.MEMORIES] = memories
            memory_bytes = memories.stat().st_size
        if places.config_file.is_file():
            parts[archive.CONFIG] = places.config_file
        size = _write(file, about, parts, force=force, on_progress=on_progress)
        return Backup(file, size, about.documents, memory_bytes)


def _snapshot(source: Connection, target: Path, index: str, on_progress: OnProgress) -> Manifest:
    """Copy the index. Call this in a read transaction."""
    documents = int(source.execute("SELECT count(*) FROM documents WHERE active").get)  # begins the snapshot
    _copy(source, target, on_progress)
    if not _is_whole(target):
        raise DatabaseCorrupt("the index is damaged, so it cannot be backed up: run `gnoctl doctor`")
    return Manifest(
        format=archive.FORMAT,
        version=gnod.__version__,
        schema=index_schema.SCHEMA.newest,
        index=index,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        documents=documents,
    )


def _snapshot_memories(database: Path, target: Path, on_progress: OnProgress) -> bool:
    """Copy the encrypted memories. Return False if there are none.

    Uses its own connection, because the daemon opens the database of memories only when they are used.
    """
    if not database.exists():
        return False
    with _translated(database):
        connection = Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
            connection.execute("BEGIN")
            if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
                return False  # gnod ended before it created the tables
            if connection.pragma("application_id") != MEMORIES.application_id:
                raise apsw.NotADBError
            _copy(connection, target, on_progress)
        finally:
            connection.close()
        if not _is_whole(target):
            raise apsw.CorruptError
    return True


@contextmanager
def _translated(database: Path) -> Iterator[None]:
    try:
        with translated(database, MEMORIES):
            yield
    except (DatabaseCorrupt, ForeignDatabase) as error:
        raise DatabaseCorrupt(
            f"the memories in {database} are damaged, or foreign, so they cannot be backed up: "
            "move it away to back up the rest, or restore a backup with `gnoctl restore --memories`"
        ) from error


def _copy(source: Connection, target: Path, on_progress: OnProgress) -> None:
    page_bytes = source.pragma("page_size")
    copy = Connection(str(target))
    try:
        copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")  # a partial copy is deleted
        with copy.backup("main", source, "main") as work:
            while not work.done:
                work.step(_PAGES)
                on_progress("copy", (work.page_count - work.remaining) * page_bytes, work.page_count * page_bytes)
    finally:
        copy.close()
    _leave_wal_mode(target)


def _leave_wal_mode(path: Path) -> None:
    """Make the file usable without a log: https://sqlite.org/fileformat.html, offsets 18 and 19."""
    with path.open("r+b") as file:
        file.seek(18)
        file.write(b"\1\1")


def _is_whole(path: Path) -> bool:
    """Check the copy. A damaged database is copied page by page without an error."""
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute("PRAGMA quick_check (1)").fetchall() == [("ok",)]
    finally:
        connection.close()


def _check_target(file: Path, *, force: bool) -> None:
    if not file.parent.is_dir():
        raise StorageFailed(f"{file} cannot be written: there is no folder {file.parent}")
    if not os.path.lexists(file):
        return
    if file.is_dir():
        raise BackupRejected(f"{file} is a folder; name a file in it")
    if not force:
        raise BackupExists(f"{file} exists: choose another name, or --force to replace it")
    if not archive.begins_like_one(file):
        raise BackupRejected(f"{file} is not a backup of gnod, so it is not replaced: choose another name")


def _check_room(places: IndexPaths, file: Path) -> None:
    """Check the space for the snapshots beside the index, and for the archive."""
    needed = staging.bytes_of(places.database) + staging.bytes_of(places.memory_database) + _ROOM
    beside, there = places.data_dir, file.parent
    try:
        if beside.stat().st_dev == there.stat().st_dev:
            staging.check_room(there, 2 * needed)
        else:
            staging.check_room(beside, needed)
            staging.check_room(there, needed)
    except OSError as error:
        raise StorageFailed(f"{file} cannot be written: {error.strerror}") from error


def _write(file: Path, about: Manifest, parts: Mapping[str, Path], *, force: bool, on_progress: OnProgress) -> int:
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.unlink(missing_ok=True)  # left by a killed backup
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            os.fchmod(out.fileno(), 0o600)  # it contains private notes
            archive.write(out, about, parts, on_progress)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        _put_in_place(partial, file, force=force)
    except OSError as error:
        reason = "no space left on its disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror
        raise StorageFailed(f"{file} cannot be written: {reason}") from error
    finally:
        partial.unlink(missing_ok=True)
    storage.sync_folder(file.parent)
    return size


def _put_in_place(partial: Path, file: Path, *, force: bool) -> None:
    if force:
        partial.replace(file)
        return
    try:
        os.link(partial, file)  # fails if the file exists
    except FileExistsError:
        raise BackupExists(f"{file} exists: choose another name, or --force to replace it") from None
    except OSError:  # a file system without links
        partial.replace(file)
