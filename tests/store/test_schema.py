"""Schemas: atomic migrations, and databases of newer releases and of versions before the first release."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import apsw
import pytest

from gnod.errors import DatabaseCorrupt, GnoError, NewerDatabase, OutdatedDatabase, StorageFailed
from gnod.store import schema
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.index_schema import SCHEMA
from gnod.store.memory import memory_schema
from tests.small_index import SmallIndex

NEWEST = SCHEMA.newest


def m_next(connection: Connection) -> None:
    """Migrate as a later release may do."""
    connection.execute(
        "ALTER TABLE tags ADD COLUMN since REAL;"
        "UPDATE tags SET since = 0;"
        "CREATE TABLE notes (document_id INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT;"
        "CREATE INDEX notes_by_text ON notes (note);"
        "INSERT INTO notes SELECT id, title FROM documents"
    )


NEXT = SCHEMA._replace(migrations=(*SCHEMA.migrations, m_next))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a closed index of this version with two documents."""
    path = tmp_path / "data" / "index.sqlite"
    index = SmallIndex(path)
    index.add({"a.md": "---\ntags: [calm]\n---\n# Zebra\n\ngrass\n", "b.md": "# Lion\n"})
    index.close()
    return path


def change(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        connection.execute(statement)
        assert connection.changes() or "UPDATE" not in statement, statement
    connection.close()


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def shape(path: Path) -> tuple[object, ...]:
    return tuple(rows(path, f"SELECT * FROM {table} ORDER BY 1, 2") for table in ("sqlite_schema", "schema_meta"))


def test_a_later_migration_upgrades_an_index(path: Path) -> None:
    Database(path, schema=NEXT).close()
    assert rows(path, "SELECT value FROM schema_meta WHERE key = 'version'") == [(str(NEWEST + 1),)]
    assert rows(path, "SELECT note FROM notes ORDER BY note") == [("Lion",), ("Zebra",)]
    assert rows(path, "SELECT tag, since FROM tags") == [("calm", 0.0)]
    upgraded, new = shape(path), path.with_name("new.sqlite")
    Database(new, schema=NEXT).close()
    assert [row[:3] for row in upgraded[0]] == [row[:3] for row in shape(new)[0]]  # type: ignore[attr-defined]
    Database(path, schema=NEXT).close()
    assert shape(path) == upgraded, "opening it again changes nothing"
    with pytest.raises(NewerDatabase, match=rf"schema {NEWEST + 1}, this one knows {NEWEST}\)"):
        Database(path)


@pytest.mark.parametrize("is_upgrade", [False, True])
def test_a_crash_during_a_migration_leaves_the_previous_version(path: Path, is_upgrade: bool) -> None:
    """`is_upgrade`: an existing index is upgraded. Otherwise, a new one is created."""
    path = path if is_upgrade else path.with_name("new.sqlite")
    target = NEXT if is_upgrade else SCHEMA
    apsw.Connection(str(path)).close()
    before = rows(path, "SELECT * FROM sqlite_schema")
    for statements in itertools.count(0, 1 if is_upgrade else 10):
        connection = apsw.Connection(str(path))
        connection.set_exec_trace(partial(goes_on, itertools.count(), statements))
        try:
            schema.migrate(connection, path, target)
            break
        except apsw.ExecTraceAbort:
            pass
        finally:
            connection.set_exec_trace(None)
            connection.close()
        assert rows(path, "SELECT * FROM sqlite_schema") == before, statements
    assert statements > 5, "it was ended after each of them"
    assert rows(path, "SELECT value FROM schema_meta WHERE key = 'version'") == [(str(target.newest),)]


def goes_on(seen: Iterator[int], last: int, _: object, statement: str, __: object) -> bool:
    """Reject the statement with the number `last`. Statements of the transaction itself are not counted."""
    return statement.startswith(("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")) or next(seen) < last


@pytest.mark.parametrize(
    ("error", "raised"), [(apsw.FullError("disk full"), StorageFailed), (apsw.CorruptError("torn"), DatabaseCorrupt)]
)
def test_a_failed_migration_leaves_the_previous_version(path: Path, error: apsw.Error, raised: type[GnoError]) -> None:
    before = shape(path)

    def m_breaks(connection: Connection) -> None:
        m_next(connection)
        raise error

    with pytest.raises(raised):
        Database(path, schema=SCHEMA._replace(migrations=(*SCHEMA.migrations, m_breaks)))
    assert shape(path) == before


@pytest.mark.parametrize("with_wal", [False, True])
def test_an_index_of_a_newer_release_is_refused_unchanged(path: Path, tmp_path: Path, with_wal: bool) -> None:
    folder = tmp_path / "left"
    folder.mkdir()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE schema_meta SET value = '999' WHERE key = 'version'")
    if with_wal:  # a killed daemon leaves the log
        shutil.copy(path, folder / "index.sqlite")
        shutil.copy(f"{path}-wal", folder / "index.sqlite-wal")
        connection.close()
    else:
        connection.close()
        shutil.copy(path, folder / "index.sqlite")
    before = contents(folder)
    assert len(before) == 1 + with_wal
    with pytest.raises(NewerDatabase, match=rf"newer gnod \(schema 999, this one knows {NEWEST}\)"):
        Database(folder / "index.sqlite")
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    # SQLite creates the -shm file of the log again each time.
    return {each.name: each.read_bytes() for each in folder.iterdir() if not each.name.endswith("-shm")}


@pytest.mark.parametrize("value", ["", "seven", "-1", "0", "1.5", "999999999999999999999999"])
def test_an_invalid_version_is_reported_in_one_sentence(path: Path, value: str) -> None:
    change(path, f"UPDATE schema_meta SET value = '{value}' WHERE key = 'version'")
    with pytest.raises((DatabaseCorrupt, NewerDatabase)):
        Database(path)


def test_full_text_in_a_format_of_a_newer_sqlite_is_refused(path: Path) -> None:
    for version in (4, 5):  # the formats of current SQLite versions
        change(path, f"UPDATE documents_fts_config SET v = {version} WHERE k = 'version'")
        Database(path).close()
    change(path, "UPDATE documents_fts_config SET v = 6 WHERE k = 'version'")
    with pytest.raises(NewerDatabase, match=r"SQLite [\d.]+ is not supported: .* format 6, .* up to 5; .*apsw"):
        Database(path)


# Marks of development versions: a number from another numbering under another key, which may be equal, lower or higher.
# The fingerprint of the schema is missing or different.
MARKS = [
    *(
        f"DELETE FROM schema_meta WHERE key = 'fingerprint';"
        f"UPDATE schema_meta SET key = 'schema_version', value = '{number}' WHERE key = 'version'"
        for number in (1, 22, 999)
    ),
    "DELETE FROM schema_meta WHERE key = 'fingerprint'",
    "UPDATE schema_meta SET value = '0123456789abcdef' WHERE key = 'fingerprint'",
]
# White space and comments in a statement are ignored.
LAYOUT = (
    "UPDATE sqlite_schema SET sql = replace(sql, 'document_id', '  -- of; before, (\n document_id') WHERE name = 'tags'"
)


@pytest.mark.parametrize("mark", MARKS)
def test_an_index_from_before_the_release_is_used_if_its_schema_is_the_first(path: Path, mark: str) -> None:
    change(path, mark, LAYOUT)
    for target in (SCHEMA, NEXT):  # and later upgraded like any other
        index = Database(path, schema=target)
        assert index.submit_read(lambda c: c.execute("SELECT count(*) FROM documents").get).result() == 2
        index.close()
        stamped = rows(path, "SELECT key, value FROM schema_meta WHERE key NOT LIKE 'token%' ORDER BY key")
        assert stamped == [("fingerprint", SCHEMA.fingerprint), ("version", str(target.newest))]


def test_the_fingerprint_changes_with_the_schema_and_not_with_its_layout() -> None:
    changed = {SCHEMA._replace(first=each).fingerprint for each in (SCHEMA.first, f"-- more\n  {SCHEMA.first}")}
    assert changed == {SCHEMA.fingerprint}
    assert SCHEMA._replace(first=SCHEMA.first.replace("tag TEXT", "label TEXT")).fingerprint not in changed


def edited(table: str, old: str, new: str) -> str:
    return f"UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}') WHERE name = '{table}'"


@pytest.mark.parametrize(
    "other",
    [
        "ALTER TABLE tags ADD COLUMN more TEXT",
        "DROP TABLE llm_cache",
        "CREATE TABLE vec_01234567_rowids (x)",
        edited("documents_fts", "body, title, filepath", "filepath, title, body"),
        edited("ingest_error_came", "''too_large''", "''too_large--\n''"),
        edited("tags", "tag TEXT NOT NULL,", "tag TEXT -- NOT NULL,\n,"),
        edited("document_came", "FROM collections", "FROM\u00a0collections"),
    ],
    ids=["column more", "table missing", "table more", "other order", "in a string", "in a comment", "in a name"],
)
@pytest.mark.parametrize("mark", [MARKS[0], MARKS[-1]])
def test_another_index_from_before_the_release_is_refused_unchanged(path: Path, other: str, mark: str) -> None:
    change(path, mark, other)
    before = contents(path.parent)
    with pytest.raises(OutdatedDatabase, match=r"before the first release: gnod quarantines it and rebuilds it"):
        Database(path)
    assert contents(path.parent) == before


def test_memories_from_before_the_release_are_kept(tmp_path: Path) -> None:
    """They are the user's data. A database with the same tables is used; with other tables, it is refused unchanged."""
    path = tmp_path / "memory.sqlite"
    opened = partial(Database, path, schema=memory_schema.SCHEMA, use_knn=False)
    opened().close()
    for mark in MARKS:
        change(path, mark)
        opened().close()
    change(path, MARKS[-1], "DROP INDEX memories_superseded_by")
    before = contents(tmp_path)
    with pytest.raises(OutdatedDatabase, match="before the first release: it is not changed"):
        opened()
    assert contents(tmp_path) == before
