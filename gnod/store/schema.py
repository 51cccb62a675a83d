"""Schema versions: numbered migrations, each in one transaction with the row that records it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from gnod.errors import DatabaseCorrupt, NewerDatabase
from gnod.store.health.faults import Kind

Migration = Callable[[apsw.Connection], None]


class Schema(NamedTuple):
    """The schema of a kind of database, for `Database`."""

    kind: Kind
    migrate: Callable[[apsw.Connection, Path], None]
    refuse_newer: Callable[[apsw.Connection, Path], int]


def run(
    connection: apsw.Connection, migrations: Sequence[Migration], before: int, on_first: Migration | None = None
) -> None:
    """Run the migrations after version `before`. `on_first` runs with the first one."""
    for number, migration in enumerate(migrations[before:], before + 1):
        with connection:
            migration(connection)
            record(connection, number)
            if number == 1 and on_first is not None:
                on_first(connection)


def refuse_newer(connection: apsw.Connection, path: Path, kind: Kind, newest: int) -> int:
    """Return the version of the schema. Raises NewerDatabase, and DatabaseCorrupt for an invalid version."""
    version = stored_version(connection, path, kind)
    if version > newest:
        raise NewerDatabase(
            f"the {kind.noun} {path} was written by a newer gnod (schema {version}, this one knows {newest}); "
            "upgrade gnod, or choose another index with --index"
        )
    return version


def stored_version(connection: apsw.Connection, path: Path, kind: Kind) -> int:
    """Return 0 for a database without tables. Raises DatabaseCorrupt for an invalid version."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_meta'").fetchone():
        return 0
    found = connection.execute("SELECT value FROM schema_meta WHERE key = 'schema_version'").get
    try:
        version = int(found or "")
    except ValueError:
        version = 0
    if version < 1:
        raise DatabaseCorrupt(f"the {kind.noun} {path} is damaged, its version is missing: {kind.lost}")
    return version


def record(connection: apsw.Connection, number: int) -> None:
    """Record that the schema has this version."""
    connection.execute("CREATE TABLE IF NOT EXISTS schema_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")
    connection.execute("INSERT OR REPLACE INTO schema_meta VALUES ('schema_version', ?)", (str(number),))
