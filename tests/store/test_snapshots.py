"""Reads of one state of the database: `Database.snapshot`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from gnod.errors import StorageFailed
from gnod.store.connection import Connection
from gnod.store.database import SNAPSHOTS, Database

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "i.sqlite")
    yield opened
    opened.close()


def count(connection: Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM contexts").get)


def add(scope: str, connection: Connection) -> None:
    connection.execute("INSERT INTO contexts VALUES (?, 'a')", (scope,))


def itself(connection: Connection) -> Connection:
    return connection


async def test_all_calls_see_the_state_at_the_first_call(database: Database) -> None:
    async with database.snapshot() as read:
        await database.write(partial(add, "/before"))
        assert await read(count) == 1, "the state is that of the first call, not that of the opening"
        await database.write(partial(add, "/after"))
        assert await read(count) == 1
        assert await database.read(count) == 2, "a read of its own sees the newest state"
    async with database.snapshot() as read:
        assert await read(count) == 2


async def test_snapshots_are_independent_and_their_connections_are_kept(database: Database) -> None:
    async with database.snapshot() as first, database.snapshot() as second:
        assert await first(count) == 0
        await database.write(partial(add, "/"))
        assert (await first(count), await second(count)) == (0, 1)
        connections = {await first(itself), await second(itself)}
        assert len(connections) == 2
    async with database.snapshot() as read:
        assert await read(itself) in connections


async def test_a_surplus_snapshot_waits_for_another_to_end(database: Database) -> None:
    async with AsyncExitStack() as others:
        for _ in range(SNAPSHOTS - 1):
            await others.enter_async_context(database.snapshot())
        async with database.snapshot():
            late = asyncio.create_task(snapshot_and_count(database))
            await asyncio.sleep(0)
            assert await database.read(count) == 0, "a read of its own waits for no snapshot"
            assert not late.done()
        assert await late == 0


async def test_an_error_ends_neither_the_snapshot_nor_the_next_one(database: Database) -> None:
    async with database.snapshot() as read:
        assert await read(count) == 0
        with pytest.raises(StorageFailed):
            await read(partial(add, "/"))  # a snapshot is read-only
        with pytest.raises(ZeroDivisionError):
            await read(lambda _: 1 // 0)
        await database.write(partial(add, "/"))
        assert await read(count) == 0
    assert await snapshot_and_count(database) == 1


async def test_a_cancelled_call_is_interrupted_and_the_snapshot_goes_on(database: Database) -> None:
    started = threading.Event()

    def runs() -> bool:
        started.set()
        return False  # continue

    def endless(connection: Connection) -> object:
        # Interrupt inside the statement, because SQLite forgets an interrupt before it.
        connection.set_progress_handler(runs, 1000)
        return connection.execute(ENDLESS).get

    async with database.snapshot() as read:
        assert await read(count) == 0
        task = asyncio.ensure_future(read(endless))
        await asyncio.to_thread(started.wait, 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await database.write(partial(add, "/"))
        assert await read(count) == 0
    assert await snapshot_and_count(database) == 1


async def test_a_call_that_is_cancelled_behind_another_never_starts(database: Database) -> None:
    started, go_on, ran = threading.Event(), threading.Event(), threading.Event()

    def wait(_: Connection) -> None:
        started.set()
        assert go_on.wait(60)

    async with database.snapshot() as read:
        first = asyncio.ensure_future(read(wait))
        await asyncio.to_thread(started.wait, 60)
        second = asyncio.ensure_future(read(lambda _: ran.set()))
        await asyncio.sleep(0.05)  # until a thread has started it
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        go_on.set()
        await first
        assert await read(count) == 0
    assert not ran.is_set()


async def test_a_cancelled_caller_gives_its_connection_back(database: Database) -> None:
    inside = asyncio.Event()
    used: list[Connection] = []

    async def hold() -> None:
        async with database.snapshot() as read:
            used.append(await read(itself))
            inside.set()
            await asyncio.sleep(60)

    for _ in range(SNAPSHOTS + 1):  # one more than may be open at once
        inside.clear()
        task = asyncio.create_task(hold())
        await asyncio.wait_for(inside.wait(), 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert len(set(used)) == 1


async def test_the_database_may_be_closed_meanwhile(tmp_path: Path) -> None:
    database = Database(tmp_path / "i.sqlite")
    async with database.snapshot() as read:
        assert await read(count) == 0
        await asyncio.to_thread(database.close)
    assert not (tmp_path / "i.sqlite-wal").exists(), "no connection is left open"


async def snapshot_and_count(database: Database) -> int:
    async with database.snapshot() as read:
        return await read(count)
