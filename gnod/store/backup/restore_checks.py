"""Check the unpacked parts of a backup before they are moved in place.

A backup is untrusted. Nothing in a database runs until its schema is known to equal gnod's own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from gnod.config import load
from gnod.errors import BackupRejected, DatabaseCorrupt, GnoError, NewerDatabase, OutdatedDatabase
from gnod.store import index_schema
from gnod.store.backup.archive import OnProgress
from gnod.store.connection import Connection
from gnod.store.faults import translated
from gnod.store.health import fts_integrity
from gnod.store.memory import memory_schema
from gnod.store.schema import Schema, objects, objects_of, version_of

_PROGRESS_STEPS = 1_000_000


def check_index(path: Path, file: Path, on_progress: OnProgress) -> None:
    """Raise unless the database is an intact index of gnod, and not newer. `file`: the backup, for the message."""
    _check(path, file, index_schema.SCHEMA, _fault_of_index, on_progress)


def check_memories(path: Path, file: Path, on_progress: OnProgress) -> None:
    """As `check_index`. The memories stay encrypted; their key is not checked."""
    _check(path, file, memory_schema.SCHEMA, lambda _: None, on_progress)


def check_config(path: Path, file: Path) -> None:
    try:
        load.load(path)
    except GnoError as error:
        raise BackupRejected(f"{file} cannot be restored: its index.yml is faulty ({error.message})") from error


def _check(
    path: Path,
    file: Path,
    expected: Schema,
    find_fault: Callable[[Connection], str | None],
    on_progress: OnProgress,
) -> None:
    """`find_fault` checks what SQLite does not."""

    def going_on() -> bool:
        on_progress("check", 0, None)
        return False

    def rejected(reason: str) -> BackupRejected:
        return BackupRejected(f"{file} cannot be restored: its {expected.kind.noun} {reason}", {"file": str(file)})

    connection = Connection(str(path))
    try:
        connection.set_progress_handler(going_on, _PROGRESS_STEPS)
        # Nothing in the schema may run until it has been compared.
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
            raise rejected("is damaged (rows without the row that they belong to)")
        if fault := "it is empty" if version == 0 else find_fault(connection):
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


def _fault_of_index(connection: Connection) -> str | None:
    connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
    unfindable = "SELECT 1 FROM documents WHERE active AND id NOT IN (SELECT id FROM documents_fts_docsize)"
    if connection.execute(unfindable).fetchone() or fts_integrity.has_lost_words(connection):
        return "documents that no search would find"
    return None
