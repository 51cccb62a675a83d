"""Making a backup while everything goes on: snapshots of index and memories, then one archive of them and the config.

A snapshot is SQLite's online backup inside of a read transaction. In WAL mode such a reader blocks no writer, and
since it stays in its own state of the database, no write makes the copy begin anew. (VACUUM INTO sees one state as
well, but makes every table and index anew, and tells nothing of its progress or how large the file will be.)
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
from gnod.errors import BackupExists, BackupRejected, DatabaseCorrupt, ForeignDatabase, StorageFailed
from gnod.paths import Places
from gnod.store import archive, migrations, staging
from gnod.store.archive import Manifest, Tell
from gnod.store.database import Connection, Database
from gnod.store.faults import MEMORIES, translated

# At most so many pages (of 4 KiB) in one go: some milliseconds, after which somebody may have cancelled.
_PAGES = 2_000
_BUSY_TIMEOUT_MS = 10_000
# What the manifest, the config and the file system itself need beside the databases.
_ROOM = 8 * 1024 * 1024


class Backup(NamedTuple):
    """`memory_bytes`: how large the part of the memories is; 0: there are none."""

    file: Path
    bytes: int
    documents: int
    memory_bytes: int


def make(database: Database, places: Places, file: Path, *, force: bool, tell: Tell) -> Backup:
    """Write a backup to `file`, which is there whole afterwards, or not at all.

    Blocks; not for the event loop. Raises BackupExists, BackupRejected, DatabaseCorrupt, StorageFailed.
    """
    try:
        _check_target(file, force=force)
    except OSError as error:
        raise StorageFailed(f"{file} cannot be written: {error.strerror}") from error
    _check_room(places, file)
    with staging.folder(places) as folder:
        snapshot, memories = folder / archive.INDEX, folder / archive.MEMORIES
        about = database.read(lambda connection: _snapshot(connection, snapshot, places.index, tell)).result()
        parts = {archive.INDEX: snapshot}
        memory_bytes = 0
        if _snapshot_memories(places.memory_database, memories, tell):
            parts[archive.MEMORIES] = memories
            memory_bytes = memories.stat().st_size
        if places.config_file.is_file():
            parts[archive.CONFIG] = places.config_file
        size = _write(file, about, parts, force=force, tell=tell)
        return Backup(file, size, about.documents, memory_bytes)


def _snapshot(source: Connection, target: Path, index: str, tell: Tell) -> Manifest:
    """Copy the index as it is now. To be called inside of a read transaction."""
    documents = int(source.execute("SELECT count(*) FROM documents WHERE active").get)  # from here on it stands still
    _copy(source, target, tell)
    if not _is_whole(target):
        raise DatabaseCorrupt("the index is damaged, so there is no backup of it; `gnoctl doctor` says more")
    return Manifest(
        format=archive.FORMAT,
        version=gnod.__version__,
        schema=migrations.SCHEMA_VERSION,
        index=index,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        documents=documents,
    )


def _snapshot_memories(database: Path, target: Path, tell: Tell) -> bool:
    """Copy the memories as they are now, sealed, and return False where there is no database of them.

    By a connection of its own: the daemon opens the database only when somebody uses it, and nobody has to for this.
    """
    if not database.exists():
        return False
    with _told_of_memories(database):
        connection = Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
            connection.execute("BEGIN")
            if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
                return False  # gnod ended before it could make it
            if connection.pragma("application_id") != MEMORIES.application_id:
                raise apsw.NotADBError
            _copy(connection, target, tell)
        finally:
            connection.close()
        if not _is_whole(target):
            raise apsw.CorruptError
    return True


@contextmanager
def _told_of_memories(database: Path) -> Iterator[None]:
    try:
        with translated(database, MEMORIES):
            yield
    except (DatabaseCorrupt, ForeignDatabase) as error:
        raise DatabaseCorrupt(
            f"the memories in {database} are damaged, or the file is another program's, so there is no backup of them: "
            "move it away to back up the rest, or `gnoctl restore --memories` brings back those of a backup"
        ) from error


def _copy(source: Connection, target: Path, tell: Tell) -> None:
    page_bytes = source.pragma("page_size")
    copy = Connection(str(target))
    try:
        copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")  # nobody keeps half of it
        with copy.backup("main", source, "main") as work:
            while not work.done:
                work.step(_PAGES)
                tell("copy", (work.page_count - work.remaining) * page_bytes, work.page_count * page_bytes)
    finally:
        copy.close()
    _leave_wal_mode(target)


def _leave_wal_mode(path: Path) -> None:
    """So that the file is all there is: https://sqlite.org/fileformat.html, offsets 18 and 19."""
    with path.open("r+b") as file:
        file.seek(18)
        file.write(b"\1\1")


def _is_whole(path: Path) -> bool:
    """A damaged database is copied page by page like a good one, and nobody would know until it is needed."""
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
        raise BackupExists(f"{file} is there already; choose another name, or --force to replace it")
    if not archive.begins_like_one(file):
        raise BackupRejected(f"{file} is no backup of gnod, so it is not replaced; choose another name")


def _check_room(places: Places, file: Path) -> None:
    """The snapshots lie beside the index, and the archive where it is wanted."""
    wanted = staging.bytes_of(places.database) + staging.bytes_of(places.memory_database) + _ROOM
    beside, there = places.data_dir, file.parent
    try:
        if beside.stat().st_dev == there.stat().st_dev:
            staging.check_room(there, 2 * wanted)
        else:
            staging.check_room(beside, wanted)
            staging.check_room(there, wanted)
    except OSError as error:
        raise StorageFailed(f"{file} cannot be written: {error.strerror}") from error


def _write(file: Path, about: Manifest, parts: Mapping[str, Path], *, force: bool, tell: Tell) -> int:
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.unlink(missing_ok=True)  # of one that was killed
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            os.fchmod(out.fileno(), 0o600)  # it holds the text of private notes
            archive.write(out, about, parts, tell)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        _put_in_place(partial, file, force=force)
    except OSError as error:
        reason = "no space left on its disk" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror
        raise StorageFailed(f"{file} cannot be written: {reason}") from error
    finally:
        partial.unlink(missing_ok=True)
    staging.sync_folder(file.parent)
    return size


def _put_in_place(partial: Path, file: Path, *, force: bool) -> None:
    if force:
        partial.replace(file)
        return
    try:
        os.link(partial, file)  # replaces nothing, not even what came in this moment
    except FileExistsError:
        raise BackupExists(f"{file} is there already; choose another name, or --force to replace it") from None
    except OSError:  # a file system without links
        partial.replace(file)
