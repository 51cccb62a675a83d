"""Whether the writer answers: it does while it is free or at work, and not while it hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest

from gnod.store.connection import Connection
from gnod.store.database import Database

# A minute of work, if nobody ends it.
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
    begun = threading.Event()

    def count(connection: Connection) -> None:
        begun.set()
        connection.execute(_COUNT, (10_000_000,)).fetchall()

    work = database.submit_maintenance(count)
    assert begun.wait(60)
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
