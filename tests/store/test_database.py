"""Open, refuse and migrate databases, read while writing, and check the writer's heartbeat."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from gnod.errors import DatabaseCorrupt, ForeignDatabase, RequestCancelled, StorageFailed
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.faults import INDEX
from gnod.store.index_schema import SCHEMA
from gnod.store.memory.memory_schema import SCHEMA as MEMORY_SCHEMA
from gnod.store.schema import Schema


def test_a_new_database_has_the_application_id_and_is_private(tmp_path: Path) -> None:
    Database(tmp_path / "sub" / "i.sqlite").close()
    path = tmp_path / "sub" / "i.sqlite"
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (INDEX.application_id,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("schema", "synchronous", "fullfsync"), [(SCHEMA, 1, 0), (MEMORY_SCHEMA, 2, 1)])
def test_only_data_that_cannot_be_rebuilt_wait_for_the_disk(
    schema: Schema, synchronous: int, fullfsync: int, tmp_path: Path
) -> None:
    database = Database(tmp_path / "i.sqlite", schema=schema, use_knn=False)
    pragmas = database.submit_maintenance(lambda c: (c.pragma("synchronous"), c.pragma("fullfsync"))).result()
    database.close()
    assert pragmas == (synchronous, fullfsync)


def test_the_database_of_another_program_is_refused_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(ForeignDatabase, match="another program"):
        Database(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["i.sqlite"]


@pytest.mark.parametrize("pragma", ["journal_mode = WAL", "user_version = 0", "journal_mode = DELETE"])
def test_an_unfinished_new_database_is_opened(tmp_path: Path, pragma: str) -> None:
    path = tmp_path / "i.sqlite"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(f"PRAGMA {pragma}; VACUUM")
    for _ in range(2):
        database = Database(path)
        assert database.submit_read(lambda c: c.pragma("application_id")).result() == INDEX.application_id
        database.close()


@pytest.mark.parametrize("content", [b"not a database, but long enough to be one\n" * 100, b"x"])
def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "i.sqlite"
    path.write_bytes(content)
    with pytest.raises((ForeignDatabase, DatabaseCorrupt)):
        Database(path)
    assert path.read_bytes() == content


def test_a_damaged_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "i.sqlite"
    Database(path).close()
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(DatabaseCorrupt, match="damaged"):
        Database(path)


def test_a_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed):
        Database(tmp_path / "file" / "i.sqlite")


def test_a_failed_write_changes_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path / "i.sqlite")

    def fails(connection: Connection) -> None:
        connection.execute("INSERT INTO contexts VALUES ('/', 'a')")
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        database.submit_write(fails).result()
    assert database.submit_read(lambda c: c.execute("SELECT count(*) FROM contexts").get).result() == 0
    database.close()


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path: Path) -> None:
    database = Database(tmp_path / "i.sqlite")
    database.submit_maintenance(lambda c: c.execute("PRAGMA max_page_count = 80").get).result()
    with pytest.raises(StorageFailed, match="no space left"):
        database.submit_write(
            lambda c: (
                c.execute(
                    "INSERT INTO mirrors (mirror_hash, markdown, title, packed) VALUES ('h', ?, '', NULL)",
                    ("x" * 10_000_000,),
                ).get
            )
        ).result()
    database.submit_write(lambda c: c.execute("INSERT INTO contexts VALUES ('/', 'a')").get).result()
    assert database.submit_read(lambda c: c.execute("SELECT count(*) FROM contexts").get).result() == 1
    database.close()


def test_readers_do_not_wait_for_the_writer(tmp_path: Path) -> None:
    database = Database(tmp_path / "i.sqlite")
    inside, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        connection.execute("INSERT INTO contexts VALUES ('/', 'a')")
        inside.set()
        assert go_on.wait(60)

    write = database.submit_write(slow)
    assert inside.wait(60)
    assert database.submit_read(lambda c: c.execute("SELECT count(*) FROM contexts").get).result(timeout=60) == 0
    go_on.set()
    write.result()
    assert database.submit_read(lambda c: c.execute("SELECT count(*) FROM contexts").get).result() == 1
    database.close()


def test_readers_cannot_write(tmp_path: Path) -> None:
    database = Database(tmp_path / "i.sqlite")
    with pytest.raises(StorageFailed):
        database.submit_read(lambda c: c.execute("INSERT INTO contexts VALUES ('/', 'a')").get).result()
    database.close()


def test_a_long_read_can_be_interrupted(tmp_path: Path) -> None:
    database = Database(tmp_path / "i.sqlite", readers=1)
    started = threading.Event()

    def endless(connection: Connection) -> object:
        started.set()
        return connection.execute(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
        ).get

    future = database.submit_read(endless)
    waiting = database.submit_read(lambda c: c.execute("SELECT 1").get)
    assert started.wait(60)
    database.interrupt(waiting)
    assert waiting.cancelled()
    while not future.done():
        database.interrupt(future)
    with pytest.raises(RequestCancelled):
        future.result()
    assert database.submit_read(lambda c: c.execute("SELECT 1").get).result() == 1
    database.close()


def test_each_write_is_announced_before_its_caller_continues(tmp_path: Path) -> None:
    """A client that reads after its own write must not get an older answer."""
    with closing(Database(tmp_path / "i.sqlite")) as database:
        announced: list[bool] = []
        database.written.connect(lambda: announced.append(future.done()))
        release = threading.Event()

        def write(connection: Connection) -> None:
            release.wait(60)
            connection.execute("INSERT INTO contexts VALUES ('/', 'a')")

        future = database.submit_write(write)
        release.set()
        future.result()
        assert announced == [False]
        with pytest.raises(ZeroDivisionError):
            database.submit_write(lambda _: 1 // 0).result()
        assert len(announced) == 1, "nothing was written"


# This takes a minute unless it is interrupted.
_COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?) SELECT sum(i) FROM n"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "index.sqlite")
    yield database
    database.close()


def test_a_free_writer_answers_at_once(database: Database) -> None:
    database.heartbeat().result(timeout=60)


@pytest.mark.stress
def test_a_writer_at_work_answers_each_time(database: Database) -> None:
    started = threading.Event()

    def count(connection: Connection) -> None:
        started.set()
        connection.execute(_COUNT, (10_000_000,)).fetchall()

    work = database.submit_maintenance(count)
    assert started.wait(60)
    beats = 0
    while not work.done():
        database.heartbeat().result(timeout=60)
        beats += 1
    assert beats >= 3, "that were more than the one after the end"


def test_a_writer_that_hangs_does_not_answer_until_it_is_free(database: Database) -> None:
    free = threading.Event()
    database.submit_write(lambda _: free.wait(60))
    heartbeat = database.heartbeat()
    assert wait([heartbeat], timeout=0.2).not_done
    free.set()
    heartbeat.result(timeout=60)


def test_a_cancelled_wait_delays_no_other(database: Database) -> None:
    free = threading.Event()
    database.submit_write(lambda _: free.wait(60))
    database.heartbeat().cancel()
    last = database.heartbeat()
    free.set()
    last.result(timeout=60)
