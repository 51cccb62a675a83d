"""What the parts of a backup have to be before they are put in place. Changes nothing but those parts, unpacked.

A backup may come from anywhere. A database is looked at without running anything that is in it until its schema has
been found to be the one that gnod makes; the tables of sqlite-vec, which are copies, are made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from gnod.config import load
from gnod.errors import BackupRejected, DatabaseCorrupt, GnoError, NewerDatabase
from gnod.store import lost_words, memory_schema, migrations, schema
from gnod.store.archive import Tell
from gnod.store.database import Connection
from gnod.store.faults import INDEX, MEMORIES, Kind, translated
from gnod.store.schema import Migration

# The tables of sqlite-vec (knn.table_of), and what it keeps in others beside them.
_COPIES = f"vec_{'[0-9a-f]' * 8}*"
_PROGRESS_STEPS = 1_000_000
# What PRAGMA optimize makes.
_STATISTICS = "'CREATE TABLE sqlite_stat1(tbl,idx,stat)', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'"


class _Wanted(NamedTuple):
    """What a database has to be. `copies`: tables that are left out of account, since `settle` drops them once the
    schema is known to be ours. `find_fault` says what is wrong with what no check of SQLite's knows."""

    kind: Kind
    migrations: Sequence[Migration]
    copies: str | None = None
    settle: Callable[[Connection], None] = lambda _: None
    find_fault: Callable[[Connection], str | None] = lambda _: None


def check_index(path: Path, file: Path, tell: Tell) -> None:
    """Raise unless the database is an index of gnod's, whole, and not newer. `file`: the backup, for the message."""
    _check(path, file, _Wanted(INDEX, migrations.MIGRATIONS, _COPIES, _drop_copies, _fault_of_index), tell)


def check_memories(path: Path, file: Path, tell: Tell) -> None:
    """As `check_index`. What is sealed stays so: whether there is a key for it shows when it is used."""
    _check(path, file, _Wanted(MEMORIES, memory_schema.MIGRATIONS), tell)


def check_config(path: Path, file: Path) -> None:
    try:
        load.load(path)
    except GnoError as error:
        raise BackupRejected(f"{file} cannot be restored: its index.yml is faulty ({error.message})") from error


def _check(path: Path, file: Path, wanted: _Wanted, tell: Tell) -> None:
    noun = wanted.kind.noun

    def going_on() -> bool:
        tell("check", 0, None)
        return False

    def rejected(reason: str) -> BackupRejected:
        return BackupRejected(f"{file} cannot be restored: its {noun} {reason}", {"file": str(file)})

    connection = Connection(str(path))
    try:
        connection.set_progress_handler(going_on, _PROGRESS_STEPS)
        # What is in the file must not do more than be a table until it has been looked at.
        connection.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
        if connection.pragma("application_id") != wanted.kind.application_id:
            raise rejected("is a database of another program")
        version, newest = schema.stored_version(connection, file, wanted.kind), len(wanted.migrations)
        if version > newest:
            raise NewerDatabase(
                f"{file} was made by a newer gnod (schema {version}, this one knows {newest}); upgrade gnod"
            )
        if _schema(connection, wanted) != _schema_of(version, wanted):
            raise rejected("has tables, triggers or views that gnod does not make")
        wanted.settle(connection)
        faults = [str(fault) for (fault,) in connection.execute("PRAGMA integrity_check (3)")]
        if faults != ["ok"]:
            raise rejected(f"is damaged ({faults[0][:200]})")
        if connection.execute("PRAGMA foreign_key_check").fetchone():
            raise rejected("is damaged (rows without the row that they belong to)")
        if fault := "it is empty" if version == 0 else wanted.find_fault(connection):
            raise rejected(f"is damaged ({fault})")
    except DatabaseCorrupt as error:
        raise rejected("does not say its version") from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, apsw.MismatchError) as error:
        raise rejected(f"is damaged ({error})") from error
    except apsw.Error as error:
        with translated(path, wanted.kind):
            raise error
    finally:
        connection.close()


def _schema(connection: Connection, wanted: _Wanted) -> list[tuple[str, ...]]:
    """Return all of the schema that is not SQLite's, FTS5's or sqlite-vec's own affair, and names of what is FTS5's."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, CASE WHEN name GLOB 'documents_fts_*' THEN '' ELSE coalesce(sql, '') END"
        " FROM sqlite_schema WHERE NOT"
        f" (type = 'table' AND name GLOB 'sqlite_stat[14]' AND coalesce(sql, '') IN ({_STATISTICS}))"
        " AND NOT (type IN ('table', 'index') AND coalesce(tbl_name GLOB ?, 0)) ORDER BY 1, 2",
        (wanted.copies,),
    )
    return [tuple(str(value) for value in row) for row in rows]


def _schema_of(version: int, wanted: _Wanted) -> list[tuple[str, ...]]:
    connection = Connection(":memory:")
    schema.run(connection, wanted.migrations[:version], 0)
    found = _schema(connection, wanted)
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


def _fault_of_index(connection: Connection) -> str | None:
    connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
    unfindable = "SELECT 1 FROM documents WHERE active AND id NOT IN (SELECT id FROM documents_fts_docsize)"
    if connection.execute(unfindable).fetchone() or lost_words.are_lost(connection):
        return "documents that no search would find"
    return None
