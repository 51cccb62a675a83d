"""An index of every older version, made by the code of that version (schemas/make.py), is opened by this one."""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from gnod.config import load
from gnod.config.model import CollectionConfig, IngestConfig
from gnod.errors import DatabaseCorrupt, GnoError, NewerDatabase
from gnod.ingest.convert import convert
from gnod.ingest.ignore import IgnoreFiles
from gnod.ingest.pool import WorkerPool
from gnod.ingest.prepare import prepare
from gnod.ingest.sync import Sync, SyncReport
from gnod.store import llm_cache, migrations, packing
from gnod.store.database import Connection, Database
from gnod.store.documents import collections, documents, maintenance, writing
from gnod.store.documents.collections import Folder
from gnod.store.health import runtime_flags
from gnod.store.migrations import SCHEMA_VERSION
from gnod.store.vectors import vectors

pytestmark = pytest.mark.slow

SCHEMAS = Path(__file__).parent / "schemas"
VERSIONS = range(1, SCHEMA_VERSION + 1)
MODEL = "hf:example/small-model"

# What the statements of each migration are: machines have run them, so they never change. A new one adds a line.
MIGRATIONS = {
    1: "a4c0e6bec3651968",
    2: "13eaf2ce6d0d1815",
    3: "01adebd058a1db1b",
    4: "78123e8394046f95",
    5: "c106f4212fe81bb0",
    6: "8b0631a67310e6e9",
    7: "5e16ecc2d9ffd7e1",
    8: "088c5678f962bdb1",
    9: "4e77a8c8ae8a5cfb",
    10: "56605660e0d97d74",
    11: "4972471448f3860e",
    12: "e744eb9e72709ee2",
    13: "dde27b54192825a5",
    14: "ecf4a3af7e7f45ef",
    15: "5dd92e5ef4bb487f",
    16: "18cceed2e6d75a5b",
    17: "cb4736c27a33b612",
    18: "c19d8f55bf8738a6",
    19: "3778aabe65daccfd",
    20: "c76c7934da093284",
    21: "003f521520251660",
    22: "c6fca23d5aaeddf3",
}

# What a sync makes of the same files, whichever way the index came about.
CONTENTS = (
    "SELECT c.name, d.path, d.source_hash, d.size, d.mtime_ns, d.mirror_hash, d.title, d.mime, d.converter, d.language,"
    " d.doc_type, d.author, d.dated, d.metadata, d.line_map, d.locations, d.active"
    " FROM documents d JOIN collections c ON c.id = d.collection_id ORDER BY d.path",
    "SELECT * FROM content ORDER BY mirror_hash",
    "SELECT * FROM chunks ORDER BY mirror_hash, seq",
    "SELECT d.path, t.tag FROM tags t JOIN documents d ON d.id = t.document_id ORDER BY d.path, t.tag",
    "SELECT d.path, e.name, e.kind, e.line, e.end_line, e.path FROM definitions e"
    " JOIN documents d ON d.id = e.document_id ORDER BY d.path, e.seq",
    "SELECT d.path, n.name, n.rank, n.depth FROM names n JOIN documents d ON d.id = n.document_id ORDER BY 1, 2, 3",
    "SELECT d.path, kind, target, key, reach, fragment, line, start, end FROM links l"
    " JOIN documents d ON d.id = l.document_id ORDER BY d.path, l.seq",
    "SELECT path, stage, kind, message, size, mtime_ns FROM ingest_errors ORDER BY path",
    "SELECT collection, path FROM changes WHERE path <> 'empty.md' ORDER BY path",
    "SELECT scope, text FROM contexts",
    "SELECT term, doc, cnt FROM temp.terms ORDER BY term",
)
QUERIES = ("crane", "apfelbaum", "味噌汁", "яблони", "next_high_water", "april")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    shutil.copytree(SCHEMAS / "notes", folder)
    return folder


def old_index(version: int, path: Path, notes: Path) -> Path:
    """Make the index of that version, as its daemon left it."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute((SCHEMAS / f"v{version}.sql").read_text().replace("@NOTES@", str(notes)))
    connection.close()
    return path


@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_index_is_upgraded_completely(version: int, tmp_path: Path, notes: Path) -> None:
    path = old_index(version, tmp_path / "old.sqlite", notes)
    before = contents_of(path)
    Database(tmp_path / "fresh.sqlite").close()
    database = Database(path)
    assert schema(path) == schema(tmp_path / "fresh.sqlite")
    after = contents_of(path)
    for table, rows in before.items():
        # What older versions had is there as it was, but for columns that came later and what is to be read again.
        if table not in ("schema_meta", "documents", "content", "mirrors"):
            assert [row[: len(rows[0])] for row in after[table]] == rows, table
    texts = before.get("mirrors") or before["content"]
    assert [row[:2] for row in after["mirrors"]] == [row[:2] for row in texts]  # hash and text
    assert len(after["documents"]) == len(before["documents"]) == 7

    def work(connection: Connection) -> None:
        assert_whole(connection)
        if version >= 2:
            assert runtime_flags.is_embedding_paused(connection)
            assert vectors.serving(connection) == {"notes": MODEL}
            assert connection.execute("SELECT count(*) FROM content_vectors").get == 5
            assert [each.message for each in vectors.failed(connection, MODEL)] == ["the model gave no vector"]
        if version >= 3:
            assert llm_cache.get(connection, "key") == "kept words"
        assert connection.execute("SELECT count(*) FROM changes").get >= 8  # 7 documents, and 1 that failed

    database.submit_maintenance(work).result()
    database.close()


async def test_a_sync_afterwards_converges_with_a_fresh_index(tmp_path: Path, notes: Path) -> None:
    fresh = Database(tmp_path / "fresh.sqlite")
    fresh.submit_write(lambda c: _prepare_fresh(c, notes)).result()
    pool = WorkerPool(size=1, timeout_s=30, memory_mb=2048)  # one for all versions: its start takes longer than a sync
    try:
        await _sync(fresh, pool, notes)
        for version in VERSIONS:
            old = Database(old_index(version, tmp_path / f"old-{version}.sqlite", notes))
            await _assert_a_sync_converges(version, old, fresh, pool, notes)
            await asyncio.to_thread(old.close)
    finally:
        await pool.close()
    await asyncio.to_thread(fresh.close)


async def _assert_a_sync_converges(version: int, old: Database, fresh: Database, pool: WorkerPool, notes: Path) -> None:
    ids = (
        "SELECT id, embed_hash FROM content_vectors WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks k"
        " JOIN documents d ON d.mirror_hash = k.mirror_hash WHERE d.mime = 'text/x-python') ORDER BY id"
    )
    embedded = old.submit_read(lambda c: c.execute(ids).fetchall()).result()
    old.submit_write(_rebuild_after_tokenizer_change).result()
    report = await _sync(old, pool, notes)
    assert (report.added, report.removed, report.failed) == (0, 0, 1), version
    if version >= 2:  # nothing that has a vector is embedded again, but source code, which has headings since 17
        assert old.submit_read(lambda c: c.execute(ids).fetchall()).result() == embedded, version
    old.submit_maintenance(maintenance.compact).result()  # as new keys are
    for statement in CONTENTS:
        assert _rows(old, statement) == _rows(fresh, statement), (version, statement)
    pending = old.submit_read(lambda c: vectors.count_pending(c, MODEL, ["notes"])).result()
    assert pending == (6 if version == 1 else 1 if version < 17 else 0), version
    old.submit_maintenance(assert_whole).result()


@pytest.mark.parametrize(
    "earlier",
    [
        "UPDATE documents SET path = 'сад.txt', mime = 'text/plain', converter = 'text/1' WHERE path = 'сад.md'",
        "UPDATE chunks SET heading = '' WHERE heading = 'Сад'",
    ],
    ids=["a text has the headings of Markdown with the same text", "Markdown that was plain text has no headings"],
)
async def test_content_that_earlier_versions_shared_has_its_own_headings(
    earlier: str, tmp_path: Path, notes: Path
) -> None:
    path = old_index(10, tmp_path / "old.sqlite", notes)
    connection = apsw.Connection(str(path))
    connection.execute(earlier)
    assert connection.changes() > 0
    connection.close()
    if "сад.txt" in earlier:
        (notes / "сад.md").rename(notes / "сад.txt")
    fresh = Database(tmp_path / "fresh.sqlite")
    fresh.submit_write(lambda c: _prepare_fresh(c, notes)).result()
    old = Database(path)
    pool = WorkerPool(size=1, timeout_s=30, memory_mb=2048)
    try:
        old.submit_write(_rebuild_after_tokenizer_change).result()
        await _sync(old, pool, notes)
        await _sync(fresh, pool, notes)
    finally:
        await pool.close()
    old.submit_maintenance(maintenance.compact).result()
    for statement in CONTENTS[:3]:
        assert _rows(old, statement) == _rows(fresh, statement), statement
    await asyncio.to_thread(old.close)
    await asyncio.to_thread(fresh.close)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_a_crash_within_a_migration_leaves_the_version_before(
    version: int, tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_index(version - 1, tmp_path / "old.sqlite", notes)
    before = (schema(path), contents_of(path))
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", version)
    for statements in itertools.count():
        connection = apsw.Connection(str(path))
        seen = itertools.count()
        connection.set_exec_trace(partial(goes_on, seen, statements))
        try:
            migrations.migrate(connection, path)
            break
        except apsw.ExecTraceAbort:
            pass
        finally:
            connection.set_exec_trace(None)
            connection.close()
        assert (schema(path), contents_of(path)) == before, statements
    assert statements > 4  # it was ended after each of them
    assert contents_of(path)["schema_meta"] != before[1]["schema_meta"]


def test_an_exception_within_a_migration_leaves_the_version_before(
    tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_index(1, tmp_path / "old.sqlite", notes)
    before = (schema(path), contents_of(path))

    def m002_breaks(connection: Connection) -> None:
        migrations.m002_vectors(connection)
        raise apsw.CorruptError("a page is torn")

    # The list of migrations is data.
    monkeypatch.setattr(
        migrations, "MIGRATIONS", [migrations.m001_first_schema, m002_breaks, *migrations.MIGRATIONS[2:]]
    )
    with pytest.raises(DatabaseCorrupt):
        Database(path)
    assert (schema(path), contents_of(path)) == before


@pytest.mark.parametrize("with_wal", [False, True])
def test_a_downgrade_is_refused_and_touches_nothing(with_wal: bool, tmp_path: Path, notes: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    made = old_index(SCHEMA_VERSION, tmp_path / "made.sqlite", notes)
    connection = apsw.Connection(str(made))
    connection.execute("UPDATE schema_meta SET value = '999' WHERE key = 'schema_version'")
    if with_wal:  # as a killed daemon leaves it
        shutil.copy(made, folder / "index.sqlite")
        shutil.copy(f"{made}-wal", folder / "index.sqlite-wal")
        connection.close()
    else:
        connection.close()
        shutil.copy(made, folder / "index.sqlite")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert len(before) == 1 + with_wal
    with pytest.raises(NewerDatabase, match=rf"schema 999.* {SCHEMA_VERSION}\b"):
        Database(folder / "index.sqlite")
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    if with_wal:
        after.pop("index.sqlite-shm")  # what SQLite makes of the log for itself, each time anew
    assert after == before


def test_full_text_in_a_format_of_a_newer_sqlite_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    Database(path).close()
    for version in (4, 5):  # those that SQLite writes today
        change(path, f"UPDATE documents_fts_config SET v = {version} WHERE k = 'version'")
        Database(path).close()
    change(path, "UPDATE documents_fts_config SET v = 6 WHERE k = 'version'")

    with pytest.raises(NewerDatabase, match=r"SQLite [\d.]+ is not supported: .* format 6, .* up to 5; .*apsw"):
        Database(path)


def change(path: Path, statement: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("value", ["", "seven", "-1", "0", "1.5", "999999999999999999999999"])
def test_a_version_that_is_none_is_a_sentence(value: str, tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    Database(path).close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE schema_meta SET value = ? WHERE key = 'schema_version'", (value,))
    connection.close()
    with pytest.raises(GnoError):
        Database(path)


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.yml")), ids=lambda path: path.stem)
def test_an_old_config_file_works(path: Path, tmp_path: Path, notes: Path) -> None:
    config = tmp_path / "index.yml"
    config.write_text(path.read_text().replace("@NOTES@", str(notes)))
    loaded = load.load(config)
    assert [(c.name, c.path) for c in loaded.config.collections] == [("notes", str(notes))]
    assert [c.text for c in loaded.config.contexts] == ["what the fixtures are about"]
    assert loaded.warnings == ()


def test_org_files_get_the_headings_that_version_8_did_not_see(tmp_path: Path) -> None:
    data = b"* Zebra\n\nThe zebra lives in the savanna.\n"
    org = prepare(convert(data, "a.org", max_characters=1_000), relative_path="a.org", source_hash="0" * 64, stat=None)
    connection = apsw.Connection(str(tmp_path / "index.sqlite"))
    migrations.migrate(connection, tmp_path / "index.sqlite")
    collections.mirror(connection, [Folder("notes", "/notes", None)], [])
    writing.put(connection, 1, "a.org", org, now=0.0)
    connection.execute("UPDATE chunks SET heading = ''")
    packing.register(connection)
    connection.execute(  # it was a table
        "CREATE TEMP TRIGGER title_left INSTEAD OF UPDATE OF title ON content"
        " BEGIN UPDATE mirrors SET title = NEW.title WHERE mirror_hash = NEW.mirror_hash; END"
    )
    migrations.m009_headings(connection)
    assert documents.known_files(connection, 1, ["a.org"])["a.org"].reusable_hash is None
    writing.put(connection, 1, "a.org", org, now=0.0)
    assert connection.execute("SELECT heading FROM chunks").fetchall() == [("Zebra",)]
    connection.close()


def test_no_migration_changes_and_each_has_its_fixture(tmp_path: Path) -> None:
    """Machines have run the migrations as they were. One that is edited reaches new machines only: write another."""
    made = {}
    connection = apsw.Connection(str(tmp_path / "index.sqlite"))
    for version, migration in enumerate(migrations.MIGRATIONS, start=1):
        said: list[str] = []
        connection.set_exec_trace(partial(remember, said))
        migration(connection)
        # Layout does not count, nor do comments, nor a time of day.
        text = re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", "".join(said)))
        made[version] = sha256(re.sub(r"\b\d{15,}\b", "NOW", text).encode()).hexdigest()[:16]
    connection.close()
    assert made == MIGRATIONS, "write a new migration with its digest and fixture; an old one stays as it is"
    names = {path.name for path in SCHEMAS.glob("*.sql")}
    assert names == {f"v{version}.sql" for version in VERSIONS}, "schemas/make.py says how a fixture is made"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fixture_has_the_schema_of_its_version(
    version: int, tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", version)
    path = tmp_path / "new.sqlite"
    connection = apsw.Connection(str(path))
    migrations.migrate(connection, path)
    connection.close()
    assert schema(path) == schema(old_index(version, tmp_path / "old.sqlite", notes))


def goes_on(seen: Iterator[int], last: int, _: object, statement: str, __: object) -> bool:
    """Say no to the statement with the number `last`; the transaction's own ones are not counted."""
    return statement.startswith(("BEGIN", "COMMIT", "ROLLBACK")) or next(seen) < last


def remember(said: list[str], _: object, statement: str, __: object) -> bool:
    said.append(statement)
    return True


def assert_whole(connection: Connection) -> None:
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")


def schema(path: Path) -> list[tuple[object, ...]]:
    """Return what the schema has, without SQLite's own statistics. An index that was upgraded keeps the order of the
    columns in its full-text table."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").fetchall()
    connection.close()
    return [
        (kind, name, table, re.sub(r"\s+", " ", str(sql)).replace("filepath, title, body,", "body, title, filepath,"))
        for kind, name, table, sql in rows
        if not str(table).startswith("sqlite_stat")
    ]


def contents_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of every table that is neither SQLite's nor empty."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    names = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        " AND name NOT GLOB 'sqlite_*' AND name NOT GLOB 'documents_fts_*'"
    ).fetchall()
    tables = {str(name): sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for (name,) in names}
    connection.close()
    return {name: rows for name, rows in tables.items() if rows}


def _prepare_fresh(connection: Connection, notes: Path) -> None:
    connection.execute("INSERT INTO collections (name, path) VALUES ('notes', ?)", (str(notes),))
    connection.execute("INSERT INTO contexts VALUES ('notes:', 'what the fixtures are about')")


def _rebuild_after_tokenizer_change(connection: Connection) -> None:
    """As the daemon does when it starts."""
    if not migrations.tokenizer_is_current(connection):
        writing.invalidate(connection)
        migrations.record_tokenizer(connection)


async def _sync(database: Database, pool: WorkerPool, notes: Path) -> SyncReport:
    collection = CollectionConfig(name="notes", path=str(notes))
    run = Sync(
        collection,
        database=database,
        pool=pool,
        limits=IngestConfig(),
        ignore_files=IgnoreFiles(),
        progress=lambda *_: None,
    )
    return await run.run()


def _rows(database: Database, statement: str) -> list[tuple[object, ...]]:
    def work(connection: Connection) -> list[tuple[object, ...]]:
        if "temp.terms" in statement:
            connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab (main, documents_fts, row)"
            )
        return connection.execute(statement).fetchall()

    return database.submit_maintenance(work).result()
