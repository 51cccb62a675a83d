"""Check the unpacked parts of a backup before they are moved in place.

A backup is untrusted. Nothing in a database runs until its schema is known to equal gnod's own; the tables of
sqlite-vec, which older versions kept, are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from gnod.config import load
from gnod.errors import BackupRejected, DatabaseCorrupt, GnoError, NewerDatabase
from gnod.store import memory_schema, migrations, schema
from gnod.store.backup.archive import OnProgress
from gnod.store.database import Connection
from gnod.store.health import fts_integrity
from gnod.store.health.faults import INDEX, MEMORIES, Kind, translated
from gnod.store.schema import Migration
from gnod.store.vectors import knn

_PROGRESS_STEPS = 1_000_000
# Created by PRAGMA optimize.
_STATISTICS = "'CREATE TABLE sqlite_stat1(tbl,idx,stat)', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'"


class _Expected(NamedTuple):
    """What a database must be. `copies`: tables to ignore; `drop_copies` drops them once the schema is known to be
    gnod's. `find_fault` checks what SQLite does not."""

    kind: Kind
    migrations: Sequence[Migration]
    copies: str | None = None
    drop_copies: Callable[[Connection], None] = lambda _: None
    find_fault: Callable[[Connection], str | None] = lambda _: None


def check_index(path: Path, file: Path, on_progress: OnProgress) -> None:
    """Raise unless the database is an intact index of gnod, and not newer. `file`: the backup, for the message."""
    _check(
        path, file, _Expected(INDEX, migrations.MIGRATIONS, knn.COPIES, knn.drop_tables, _fault_of_index), on_progress
    )


def check_memories(path: Path, file: Path, on_progress: OnProgress) -> None:
    """As `check_index`. The memories stay encrypted; their key is not checked."""
    _check(path, file, _Expected(MEMORIES, memory_schema.MIGRATIONS), on_progress)


def check_config(path: Path, file: Path) -> None:
    try:
        load.load(path)
    except GnoError as error:
        raise BackupRejected(f"{file} cannot be restored: its index.yml is faulty ({error.message})") from error


def _check(path: Path, file: Path, expected: _Expected, on_progress: OnProgress) -> None:
    noun = expected.kind.noun

    def going_on() -> bool:
        on_progress("check", 0, None)
        return False

    def rejected(reason: str) -> BackupRejected:
        return BackupRejected(f"{file} cannot be restored: its {noun} {reason}", {"file": str(file)})

    connection = Connection(str(path))
    try:
        connection.set_progress_handler(going_on, _PROGRESS_STEPS)
        # Nothing in the schema may run until it has been compared.
        connection.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
        if connection.pragma("application_id") != expected.kind.application_id:
            raise rejected("is a database of another program")
        version, newest = schema.stored_version(connection, file, expected.kind), len(expected.migrations)
        if version > newest:
            raise NewerDatabase(
                f"{file} was made by a newer gnod (schema {version}, this one knows {newest}); upgrade gnod"
            )
        if _schema(connection, expected) != _schema_of(version, expected):
            raise rejected("has tables, triggers or views that gnod does not create")
        expected.drop_copies(connection)
        faults = [str(fault) for (fault,) in connection.execute("PRAGMA integrity_check (3)")]
        if faults != ["ok"]:
            raise rejected(f"is damaged ({faults[0][:200]})")
        if connection.execute("PRAGMA foreign_key_check").fetchone():
            raise rejected("is damaged (rows without the row that they belong to)")
        if fault := "it is empty" if version == 0 else expected.find_fault(connection):
            raise rejected(f"is damaged ({fault})")
    except DatabaseCorrupt as error:
        raise rejected("has no version") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, apsw.MismatchError) as error:
        raise rejected(f"is damaged ({error})") from error
    except apsw.Error as error:
        with translated(path, expected.kind):
            raise error
    finally:
        connection.close()


def _schema(connection: Connection, expected: _Expected) -> list[tuple[str, ...]]:
    """Return the schema without the tables of SQLite and sqlite-vec; of FTS5's, only the names. An index that was
    upgraded has other columns first in its full-text table (gnod.store.documents.columns)."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, CASE WHEN name GLOB 'documents_fts_*' THEN '' WHEN name = 'documents_fts'"
        " THEN replace(sql, 'filepath, title, body,', 'body, title, filepath,') ELSE coalesce(sql, '') END"
        " FROM sqlite_schema WHERE NOT"
        f" (type = 'table' AND name GLOB 'sqlite_stat[14]' AND coalesce(sql, '') IN ({_STATISTICS}))"
        " AND NOT (type IN ('table', 'index') AND coalesce(tbl_name GLOB ?, 0)) ORDER BY 1, 2",
        (expected.copies,),
    )
    return [tuple(str(value) for value in row) for row in rows]


def _schema_of(version: int, expected: _Expected) -> list[tuple[str, ...]]:
    connection = Connection(":memory:")
    schema.run(connection, expected.migrations[:version], 0)
    found = _schema(connection, expected)
    connection.close()
    return found


def _fault_of_index(connection: Connection) -> str | None:
    connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
    unfindable = "SELECT 1 FROM documents WHERE active AND id NOT IN (SELECT id FROM documents_fts_docsize)"
    if connection.execute(unfindable).fetchone() or fts_integrity.has_lost_words(connection):
        return "documents that no search would find"
    return None
