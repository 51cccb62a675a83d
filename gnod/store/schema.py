"""Create and upgrade the schema of a database with numbered migrations. Each runs in one transaction with the row that
records its number.

The first migration creates the schema of the first release; later ones change it. Two rows of `schema_meta` describe
the schema of a database: `version` is the number of its last migration, and `fingerprint` is a hash of the SQL of the
first one, which changes only during development. A database with another fingerprint, or with none, is accepted if it
nevertheless has the tables of its version. This module knows only the table `schema_meta`.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import apsw

from gnod.errors import DatabaseCorrupt, NewerDatabase, OutdatedDatabase
from gnod.store.faults import Kind

Migration = Callable[[apsw.Connection], None]

_META = "CREATE TABLE IF NOT EXISTS schema_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT"
_VERSION, _FINGERPRINT = "version", "fingerprint"
# Development versions had this row instead of `version`, with another numbering.
_DEVELOPMENT = "schema_version"
# Tables that PRAGMA optimize creates.
_STATISTICS = "'CREATE TABLE sqlite_stat1(tbl,idx,stat)', 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)'"
# White space and comments, which SQLite skips. To SQLite, other Unicode white space is part of a name.
_SKIPPED = r"(?:[ \t\n\f\r]|--[^\n]*+)"
# Strings and quoted names, which stay unchanged; punctuation, which needs no space around it; all other space.
_LAYOUT = re.compile(rf"""('(?:[^']|'')*+'|"(?:[^"]|"")*+")|{_SKIPPED}*+([(),]){_SKIPPED}*+|{_SKIPPED}++""")

_log = logging.getLogger(__name__)


class Schema(NamedTuple):
    """The schema of a kind of database, for `Database`. `first`: the SQL of the first migration. `check` raises if this
    program cannot use a database with this schema."""

    kind: Kind
    first: str
    migrations: Sequence[Migration]
    check: Callable[[apsw.Connection], None] = lambda _: None

    @property
    def newest(self) -> int:
        return len(self.migrations)

    @property
    def fingerprint(self) -> str:
        return _fingerprint(self.first)


def migrate(connection: apsw.Connection, path: Path, schema: Schema) -> None:
    """Create the schema, or upgrade it to the newest version. Raises the errors of `usable_version`."""
    before = usable_version(connection, path, schema)
    fields = {"database": str(path), "from": before, "to": schema.newest}
    if is_upgrade := 0 < before < schema.newest:
        _log.info("schema.upgrading", extra={"fields": fields})
    if before and _recorded(connection, _FINGERPRINT) != schema.fingerprint:
        with connection:
            _record(connection, before, schema)
    for number, migration in enumerate(schema.migrations[before:], before + 1):
        with connection:
            connection.execute(_META)
            migration(connection)
            schema.check(connection)
            _record(connection, number, schema)
    if is_upgrade:
        _log.info("schema.upgraded", extra={"fields": fields})


def usable_version(connection: apsw.Connection, path: Path, schema: Schema) -> int:
    """Return the result of `version_of`. Raises NewerDatabase, and the errors of `version_of` and `check`. Writes
    nothing."""
    version = version_of(connection, path, schema)
    if version > schema.newest:
        raise NewerDatabase(
            f"the {schema.kind.noun} {path} was written by a newer gnod (schema {version}, this one knows "
            f"{schema.newest}); upgrade gnod, or choose another index with --index"
        )
    if version:
        schema.check(connection)
    return version


def version_of(connection: apsw.Connection, path: Path, schema: Schema) -> int:
    """Return the version of a database, or 0 if it has no tables. Raises OutdatedDatabase if a development version made
    it with another schema, and DatabaseCorrupt if the version is invalid. Writes nothing."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_meta'").fetchone():
        return 0
    try:
        version = int(_recorded(connection, _VERSION) or bool(_recorded(connection, _DEVELOPMENT)))
    except ValueError:
        version = 0
    if version < 1:
        raise DatabaseCorrupt(f"the {schema.kind.noun} {path} is damaged, its version is missing: {schema.kind.lost}")
    is_known = version > schema.newest or _recorded(connection, _FINGERPRINT) == schema.fingerprint
    if not is_known and objects(connection) != objects_of(version, schema):
        raise OutdatedDatabase(
            f"the {schema.kind.noun} {path} was made by a gnod from before the first release: {schema.kind.remedy}"
        )
    return version


def objects(connection: apsw.Connection) -> list[tuple[str, ...]]:
    """Return the tables, indexes, triggers and views with their SQL, without SQLite's statistics. The SQL is normalised
    without comments. FTS5's own tables have only names, because their SQL depends on its version."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, CASE WHEN name GLOB 'documents_fts_*' THEN '' ELSE coalesce(sql, '') END"
        " FROM sqlite_schema WHERE NOT"
        f" (type = 'table' AND name GLOB 'sqlite_stat[14]' AND coalesce(sql, '') IN ({_STATISTICS})) ORDER BY 1, 2"
    )
    return [(str(type_), str(name), str(table), _normal(str(sql))) for type_, name, table, sql in rows]


def objects_of(version: int, schema: Schema) -> list[tuple[str, ...]]:
    """Return the result of `objects` for a new database of this version."""
    connection = apsw.Connection(":memory:")
    try:
        migrate(connection, Path(":memory:"), schema._replace(migrations=schema.migrations[:version]))
        return objects(connection)
    finally:
        connection.close()


def _recorded(connection: apsw.Connection, key: str) -> str | None:
    found: str | None = connection.execute("SELECT value FROM schema_meta WHERE key = ?", (key,)).get
    return found


def _record(connection: apsw.Connection, number: int, schema: Schema) -> None:
    rows = ((_VERSION, str(number)), (_FINGERPRINT, schema.fingerprint))
    connection.executemany("INSERT OR REPLACE INTO schema_meta VALUES (?, ?)", rows)
    connection.execute("DELETE FROM schema_meta WHERE key = ?", (_DEVELOPMENT,))


@cache
def _fingerprint(sql: str) -> str:
    return hashlib.sha256(_normal(sql).encode()).hexdigest()[:16]


def _normal(sql: str) -> str:
    return _LAYOUT.sub(lambda found: found[1] or found[2] or " ", sql).strip(" ")
