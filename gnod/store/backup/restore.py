"""Restore a backup in three steps. In any case, the result is either the old data or the new data.

`prepare` unpacks and checks the backup in a folder beside the index. `swap` writes the plan of moves and moves the
files; it runs while no database is open. `finish` continues after a crash; it runs at every start before the index is
opened. See restore_moves.py.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import apsw
import msgspec

from gnod.config import load
from gnod.errors import BackupRejected, DatabaseCorrupt, GnoError, NewerDatabase, OutdatedDatabase, StorageFailed
from gnod.paths import IndexPaths
from gnod.store import index_schema
from gnod.store.backup import archive, restore_moves, staging
from gnod.store.backup.archive import Manifest, OnProgress
from gnod.store.backup.restore_moves import Move
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.faults import translated
from gnod.store.health.damage import has_lost_words
from gnod.store.memory import memory_schema
from gnod.store.schema import Schema, objects, objects_of, version_of
from gnod.store.tables import changes

_RESTORED = "restored_at"
# Space for the manifest, a migration and SQLite's log.
_ROOM = 32 * 1024 * 1024
_PROGRESS_STEPS = 1_000_000
ConfigFate = Literal["restored", "kept", "same", "none"]
MemoriesFate = Literal["restored", "kept", "none"]
_log = logging.getLogger(__name__)


class PreparedRestore(NamedTuple):
    """`moves` is for `swap`. `kept`: the new names of the current files. `config` and `memories`: "restored", "kept"
    (the current ones stay), "same" (both are equal) or "none" (the archive has none)."""

    manifest: Manifest
    documents: int
    config: ConfigFate
    memories: MemoriesFate
    moves: list[Move]
    kept: list[str]


def prepare(
    places: IndexPaths,
    file: Path,
    *,
    config: bool,
    memories: bool,
    keep_index: bool,
    now: datetime,
    on_progress: OnProgress,
) -> PreparedRestore:
    """Unpack and check `file` in the staging folder, and upgrade it to this version. The caller must clear the folder
    unless it calls `swap`. Raises BackupRejected, NewerDatabase, StorageFailed.

    `config`, `memories`: replace existing ones. `keep_index`: keep the current index under another name.
    """
    folder = staging.path_of(places)
    manifest = _unpack(places, file, folder, on_progress)
    new_index, new_config, new_memories = (folder / name for name in archive.PARTS)
    _check(new_index, file, index_schema.SCHEMA, on_progress)
    config_is = _default_for_config(new_config, places.config_file)
    memories_are: MemoriesFate = "none"
    moves = []
    if config_is == "restored" or (config_is == "kept" and config):
        _check_config(new_config, file)
        aside = _beside(places.config_file, now) if config_is == "kept" else None
        moves.append(Move(name=archive.CONFIG, target=str(places.config_file), aside=aside))
        config_is = "restored"
    if new_memories.exists():
        _check(new_memories, file, memory_schema.SCHEMA, on_progress)
        memories_are = "restored" if memories or not _has_memories(places.memory_database) else "kept"
    if memories_are == "restored":
        # Always keep the current memories under another name, because a memory may be added until the move.
        aside = _beside(places.memory_database, now)
        moves.append(Move(name=archive.MEMORIES, target=str(places.memory_database), aside=aside))
    aside = _beside(places.database, now) if keep_index else str(folder / f"{archive.INDEX}.before")
    moves.append(Move(name=archive.INDEX, target=str(places.database), aside=aside))
    kept = [move.aside for move in moves if move.aside and Path(move.target).exists()]
    if not keep_index:
        kept = [path for path in kept if path != aside]
    on_progress("upgrade", 0, None)
    if memories_are == "restored":
        Database(new_memories, schema=memory_schema.SCHEMA, readers=1, use_knn=False).close()
    return PreparedRestore(manifest, _upgrade(new_index, now), config_is, memories_are, moves, kept)


def swap(places: IndexPaths, moves: list[Move]) -> None:
    """Move the prepared files into place. No database may be open. If this raises, the old files are in place."""
    folder = staging.path_of(places)
    try:
        restore_moves.decide(folder, moves)
        restore_moves.carry_out(folder)
    finally:
        staging.clear(places)


def finish(places: IndexPaths) -> None:
    """Continue an interrupted restore, and clear the folder. Call this at the start, before the index is opened."""
    try:
        restore_moves.finish(staging.path_of(places))
    except (OSError, GnoError, msgspec.MsgspecError):
        _log.exception("restore.failed")  # the old index is opened
    staging.clear(places)


def restored_at(connection: Connection) -> str | None:
    """Return when the index was last restored, in ISO 8601."""
    value: str | None = connection.execute("SELECT value FROM schema_meta WHERE key = ?", (_RESTORED,)).get
    return value


def _unpack(places: IndexPaths, file: Path, folder: Path, on_progress: OnProgress) -> Manifest:
    staging.clear(places)
    with suppress(OSError):  # reading it reports the error
        staging.check_room(places.data_dir, file.stat().st_size + _ROOM)
    try:
        folder.mkdir(mode=0o700, parents=True)
        return archive.read(file, folder, on_progress)
    except OSError as error:
        raise StorageFailed(f"{file} cannot be unpacked to {folder}: {error.strerror}") from error


def _check(path: Path, file: Path, expected: Schema, on_progress: OnProgress) -> None:
    """Raise unless this is an intact database of gnod that is not newer. `file`: the backup, for the messages. Memories
    stay encrypted; their key is not checked.

    A backup is untrusted. Nothing in a database runs before its schema is known to equal gnod's own.
    """

    def going_on() -> bool:
        on_progress("check", 0, None)
        return False

    def rejected(reason: str) -> BackupRejected:
        return BackupRejected(f"{file} cannot be restored: its {expected.kind.noun} {reason}", {"file": str(file)})

    connection = Connection(str(path))
    try:
        connection.set_progress_handler(going_on, _PROGRESS_STEPS)
        # Nothing in the schema may run before it has been compared.
        connection.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
        if connection.pragma("application_id") != expected.kind.application_id:
            raise rejected("is a database of another program")
        version = version_of(connection, file, expected)
        if version > expected.newest:
            raise NewerDatabase(
                f"{file} was made by a newer gnod (schema {version}, this one knows {expected.newest}); upgrade gnod"
            )
        if objects(connection) != objects_of(version, expected):
            raise rejected("has tables, triggers or views that gnod does not create")
        faults = [str(fault) for (fault,) in connection.execute("PRAGMA integrity_check (3)")]
        if faults != ["ok"]:
            raise rejected(f"is damaged ({faults[0][:200]})")
        if connection.execute("PRAGMA foreign_key_check").fetchone():
            raise rejected("is damaged (some rows refer to missing rows)")
        if fault := "it is empty" if version == 0 else _unfindable(connection, expected):
            raise rejected(f"is damaged ({fault})")
    except OutdatedDatabase as error:
        raise rejected("was made by a gnod from before the first release, with another schema") from error
    except DatabaseCorrupt as error:
        raise rejected("has no version") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, apsw.MismatchError) as error:
        raise rejected(f"is damaged ({error})") from error
    except apsw.Error as error:
        with translated(path, expected.kind):
            raise error
    finally:
        connection.close()


def _unfindable(connection: Connection, expected: Schema) -> str | None:
    """Check what SQLite does not: searches must find every document of an index. Returns the fault, or None."""
    if expected is not index_schema.SCHEMA:
        return None
    connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
    unfindable = "SELECT 1 FROM documents WHERE active AND id NOT IN (SELECT id FROM documents_fts_docsize)"
    if connection.execute(unfindable).fetchone() or has_lost_words(connection):
        return "documents that no search would find"
    return None


def _check_config(path: Path, file: Path) -> None:
    try:
        load.load(path)
    except GnoError as error:
        raise BackupRejected(f"{file} cannot be restored: its index.yml is faulty ({error.message})") from error


def _default_for_config(config: Path, present: Path) -> ConfigFate:
    """Return the default fate of the config file."""
    if not config.exists():
        return "none"
    if not present.exists():
        return "restored"
    return "same" if present.read_bytes() == config.read_bytes() else "kept"


def _has_memories(database: Path) -> bool:
    """Return whether there may be memories. A damaged database may have some."""
    if not database.exists():
        return False
    try:
        connection = Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
            return bool(has_tables and connection.execute("SELECT count(*) FROM memories").get)
        finally:
            connection.close()
    except apsw.Error:
        return True


def _upgrade(index: Path, now: datetime) -> int:
    """Upgrade the database to this version. Returns its number of documents."""

    def work(connection: Connection) -> int:
        changes.make_readers_start_over(connection)
        connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, ?)", (_RESTORED, now.isoformat()))
        return int(connection.execute("SELECT count(*) FROM documents WHERE active").get)

    database = Database(index)
    try:
        return database.submit_write(work).result()
    finally:
        database.close()


def _beside(path: Path, now: datetime) -> str:
    """Return an unused name."""
    name = f"{path}.before-restore-{now:%Y%m%d-%H%M%S}"
    return f"{name}-{now:%f}" if Path(name).exists() else name
