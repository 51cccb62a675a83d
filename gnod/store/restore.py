"""Putting a backup in the place of the index, in three steps that leave the old one or the new one, whatever happens.

`prepare` makes and checks everything beside the index, which stays in use. `swap` is called while nobody has the index
open: it writes down what is to be moved, and moves it. What a crash has interrupted there is carried on by `finish`,
which every start calls before it opens the index: each move can be made again.

A backup may come from anywhere. Its database is looked at without running anything that is in it until its schema has
been found to be the one that gnod makes; the tables of sqlite-vec, which are copies, are made anew.
"""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from gnod.config import load, storage
from gnod.errors import BackupRejected, DatabaseCorrupt, GnoError, NewerDatabase, StorageFailed
from gnod.paths import Places
from gnod.store import archive, changes, migrations, schema, staging
from gnod.store.archive import Manifest, Tell
from gnod.store.database import Connection, Database
from gnod.store.faults import INDEX, translated

_PLAN = "plan.json"
_RESTORED = "restored_at"
# The tables of sqlite-vec (knn.table_of), and what it keeps in others beside them.
_COPIES = f"vec_{'[0-9a-f]' * 8}*"
_PROGRESS_STEPS = 1_000_000
# What the manifest, a migration and SQLite's log need beside the index.
_ROOM = 32 * 1024 * 1024

_log = logging.getLogger(__name__)


class Prepared(NamedTuple):
    """`moves` is for `swap`. `config`: "restored", "kept" (another one is there), "same" (this one is) or "none" (the
    archive has none)."""

    manifest: Manifest
    documents: int
    config: str
    moves: list[Move]


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """What of the staging folder goes where, and the name that what was there gets (None: it is not worth keeping)."""

    name: str
    target: str
    kept: str | None


def prepare(places: Places, file: Path, *, with_config: bool, keep: bool, now: datetime, tell: Tell) -> Prepared:
    """Unpack and check `file` in the staging folder, and bring it up to this version. The caller clears the folder,
    unless it goes on to `swap`.

    `with_config`: also where there is a config file already. `keep`: what is there is worth keeping. Raises
    BackupRejected, NewerDatabase, ConfigInvalid, StorageFailed.
    """
    folder = staging.path_of(places)
    staging.clear(places)
    with suppress(FileNotFoundError):
        staging.check_room(places.data_dir, file.stat().st_size + _ROOM)
    try:
        folder.mkdir(mode=0o700, parents=True)
        manifest = archive.read(file, folder, tell)
    except OSError as error:
        raise StorageFailed(f"{file} cannot be unpacked to {folder}: {error.strerror}") from error
    index, config = folder / archive.INDEX, folder / archive.CONFIG
    _check_index(index, file, tell)
    stamp = now.strftime("%Y%m%d-%H%M%S")
    moves = []
    config_is = _compare(config, places.config_file)
    if config_is == "restored" or (config_is == "kept" and with_config):
        _check_config(config, file)
        moves.append(_move(archive.CONFIG, places.config_file, stamp if config_is == "kept" else None))
        config_is = "restored"
    moves.append(_move(archive.INDEX, places.database, stamp if keep else None))
    tell("upgrade", 0, None)
    return Prepared(manifest, _bring_along(index, now), config_is, moves)


def swap(places: Places, moves: list[Move]) -> None:
    """Put what was prepared in place. Nobody may have the index open. Raises what went wrong: the old one is there."""
    try:
        _decide(staging.path_of(places), moves)
        _carry_out(places)
    finally:
        staging.clear(places)


def finish(places: Places) -> None:
    """Carry out what a crash has interrupted, and remove what it left. For the start, before the index is opened."""
    if (staging.path_of(places) / _PLAN).exists():
        try:
            _carry_out(places)
        except (OSError, GnoError, msgspec.MsgspecError):
            _log.exception("restore.failed")  # and the old index is opened
    staging.clear(places)


def restored_at(connection: Connection) -> str | None:
    """Return when the index was last put in place from a backup, in ISO 8601."""
    value: str | None = connection.execute("SELECT value FROM schema_meta WHERE key = ?", (_RESTORED,)).get
    return value


def _decide(folder: Path, moves: list[Move]) -> None:
    """From here on the restore happens, whenever that is."""
    unfinished = folder / f"{_PLAN}.tmp"
    with unfinished.open("wb") as file:
        file.write(msgspec.json.encode(moves))
        file.flush()
        os.fsync(file.fileno())
    staging.sync_folder(folder)
    unfinished.replace(folder / _PLAN)
    staging.sync_folder(folder)


def _carry_out(places: Places) -> None:
    """Make the moves that were decided on. Where one cannot be made, those before it are taken back."""
    folder = staging.path_of(places)
    moves = msgspec.json.decode((folder / _PLAN).read_bytes(), type=list[Move])
    try:
        for move in moves:
            _make(folder, move)
    except BaseException:
        for move in moves:
            with suppress(OSError, GnoError):
                _take_back(folder, move)
        raise
    _log.info("index.restored", extra={"fields": {"kept": [move.kept for move in moves if move.kept]}})


def _compare(config: Path, present: Path) -> str:
    """Return what becomes of the config file, unless it is asked for."""
    if not config.exists():
        return "none"
    if not present.exists():
        return "restored"
    return "same" if present.read_bytes() == config.read_bytes() else "kept"


def _check_config(config: Path, file: Path) -> None:
    try:
        load.load(config)
    except GnoError as error:
        raise BackupRejected(f"{file} cannot be restored: its index.yml is faulty ({error.message})") from error


def _check_index(index: Path, file: Path, tell: Tell) -> None:
    """Raise unless the database is one of gnod's, whole, and not newer."""

    def going_on() -> bool:
        tell("check", 0, None)
        return False

    def rejected(reason: str) -> BackupRejected:
        return BackupRejected(f"{file} cannot be restored: {reason}", {"file": str(file)})

    connection = Connection(str(index))
    try:
        connection.set_progress_handler(going_on, _PROGRESS_STEPS)
        # What is in the file must not do more than be a table until it has been looked at.
        connection.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
        if connection.pragma("application_id") != INDEX.application_id:
            raise rejected("its index is a database of another program")
        version = schema.stored_version(connection, file, INDEX)
        if version > migrations.SCHEMA_VERSION:
            raise NewerDatabase(
                f"{file} was made by a newer gnod (schema {version}, this one knows {migrations.SCHEMA_VERSION});"
                " upgrade gnod"
            )
        if _schema(connection) != _schema_of(version):
            raise rejected("its index has tables, triggers or views that gnod does not make")
        _drop_copies(connection)
        faults = [str(fault) for (fault,) in connection.execute("PRAGMA integrity_check (3)")]
        if faults != ["ok"]:
            raise rejected(f"its index is damaged ({faults[0][:200]})")
        if connection.execute("PRAGMA foreign_key_check").fetchone():
            raise rejected("its index is damaged (rows without the row that they belong to)")
        connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
        unfindable = "SELECT 1 FROM documents WHERE active AND id NOT IN (SELECT id FROM documents_fts_docsize)"
        if connection.execute(unfindable).fetchone():
            raise rejected("its index is damaged (documents that no search would find)")
    except DatabaseCorrupt as error:
        raise rejected("its index does not say its version") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, apsw.MismatchError) as error:
        raise rejected(f"its index is damaged ({error})") from error
    except apsw.Error as error:
        with translated(index):
            raise error
    finally:
        connection.close()


def _schema(connection: Connection) -> list[tuple[str, ...]]:
    """Return all of the schema that is not SQLite's, FTS5's or sqlite-vec's own affair, and names of what is FTS5's."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, CASE WHEN name GLOB 'documents_fts_*' THEN '' ELSE coalesce(sql, '') END"
        " FROM sqlite_schema WHERE name NOT GLOB 'sqlite_stat[14]'"
        " AND NOT (type IN ('table', 'index') AND tbl_name GLOB ?) ORDER BY 1, 2",
        (_COPIES,),
    )
    return [tuple(str(value) for value in row) for row in rows]


def _schema_of(version: int) -> list[tuple[str, ...]]:
    connection = Connection(":memory:")
    migrations.migrate(connection, Path(":memory:"), up_to=version)
    found = _schema(connection)
    connection.close()
    return found


def _drop_copies(connection: Connection) -> None:
    """Drop the tables of sqlite-vec without sqlite-vec, which was not made for data of strangers. Opening the index
    makes them anew from the vectors."""
    tables = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name GLOB ?"
    rows = connection.execute(tables, (_COPIES,)).fetchall()
    connection.execute("BEGIN IMMEDIATE; PRAGMA writable_schema = ON")
    virtual = [name for name, sql in rows if str(sql).upper().startswith("CREATE VIRTUAL")]
    connection.executemany("DELETE FROM sqlite_schema WHERE name = ?", [(name,) for name in virtual])
    connection.execute("PRAGMA writable_schema = RESET; COMMIT")
    for name, _ in rows:
        if name not in virtual:
            connection.execute(f'DROP TABLE "{name}"')


def _bring_along(index: Path, now: datetime) -> int:
    """Bring the database up to this version, and return how many documents are in it."""

    def work(connection: Connection) -> int:
        changes.begin_anew(connection, int(now.timestamp() * 1e6))
        connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, ?)", (_RESTORED, now.isoformat()))
        return int(connection.execute("SELECT count(*) FROM documents WHERE active").get)

    database = Database(index)
    try:
        return database.write(work).result()
    finally:
        database.close()


def _move(name: str, target: Path, stamp: str | None) -> Move:
    return Move(name=name, target=str(target), kept=f"{target}.before-restore-{stamp}" if stamp else None)


def _make(folder: Path, move: Move) -> None:
    staged, target = folder / move.name, Path(move.target)
    if not staged.exists():
        return  # before a crash
    if move.name == archive.CONFIG:
        if move.kept and not Path(move.kept).exists():
            shutil.copy2(target, move.kept)
        storage.write(target, staged.read_text("utf-8"))  # it may be a link, and on another disk
        staged.unlink()
        return
    _settle(target)
    if move.kept and target.exists() and not Path(move.kept).exists():
        _link(target, Path(move.kept))
    for suffix in ("-wal", "-shm"):
        # What is left of a log belongs to the old index, and would be written into the new one.
        left = Path(f"{target}{suffix}")
        if left.exists() and move.kept and suffix == "-wal":
            left.replace(f"{move.kept}{suffix}")
        left.unlink(missing_ok=True)
    staged.chmod(0o600)
    staged.replace(target)
    staging.sync_folder(target.parent)


def _take_back(folder: Path, move: Move) -> None:
    """Undo `_make` of a config file; that of the index is the last, and was not made."""
    staged, target = folder / move.name, Path(move.target)
    if move.name == archive.CONFIG and not staged.exists():
        if move.kept:
            storage.write(target, Path(move.kept).read_text("utf-8"))
        else:
            target.unlink(missing_ok=True)
    if move.kept:
        log = Path(f"{move.kept}-wal")
        if log.exists():
            log.replace(f"{target}-wal")
        Path(move.kept).unlink(missing_ok=True)


def _settle(database: Path) -> None:
    """Write what waits in the log into the database, so that it is one file. A damaged one stays as it is."""
    with suppress(apsw.Error):
        connection = Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
        finally:
            connection.close()


def _link(path: Path, kept: Path) -> None:
    try:
        os.link(path, kept)
    except OSError:  # a file system without links
        shutil.copy2(path, kept)
