"""The versions of a database's schema: numbered migrations, each in one transaction with the number it leads to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import apsw

from gnod.errors import DatabaseCorrupt, NewerDatabase
from gnod.store.faults import Kind

Migration = Callable[[apsw.Connection], None]


class Schema(NamedTuple):
    """What `Database` has to know of what it opens: whose file it is, and how it is brought to the newest version."""

    kind: Kind
    migrate: Callable[[apsw.Connection, Path], None]
    refuse_newer: Callable[[apsw.Connection, Path], int]


def run(
    connection: apsw.Connection, migrations: Sequence[Migration], before: int, on_first: Migration | None = None
) -> None:
    """Run the migrations after version `before`, each whole or not at all. `on_first`: what belongs to the first."""
    for number, migration in enumerate(migrations[before:], before + 1):
        with connection:
            migration(connection)
            record(connection, number)
            if number == 1 and on_first is not None:
                on_first(connection)


def refuse_newer(connection: apsw.Connection, path: Path, kind: Kind, newest: int) -> int:
    """Return the version of the schema. Raises NewerDatabase, and DatabaseCorrupt for one that is none."""
    version = stored_version(connection, path, kind)
    if version > newest:
        raise NewerDatabase(
            f"the {kind.noun} {path} was written by a newer gnod (schema {version}, this one knows {newest}); "
            "upgrade gnod, or choose another index with --index"
        )
    return version


def stored_version(connection: apsw.Connection, path: Path, kind: Kind) -> int:
    """Return 0 for a database without tables. Raises DatabaseCorrupt for a version that is none."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_meta'").fetchone():
        return 0
    found = connection.execute("SELECT value FROM schema_meta WHERE key = 'schema_version'").get
    try:
        version = int(found or "")
    except ValueError:
        version = 0
    if version < 1:
        raise DatabaseCorrupt(f"the {kind.noun} {path} is damaged, it does not say its version: {kind.lost}")
    return version


def record(connection: apsw.Connection, number: int) -> None:
    """Write down that the schema has this version now."""
    connection.execute("CREATE TABLE IF NOT EXISTS schema_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")
    connection.execute("INSERT OR REPLACE INTO schema_meta VALUES ('schema_version', ?)", (str(number),))
