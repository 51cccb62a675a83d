"""A client with many requests does not delay a client with few, over real connections."""

from __future__ import annotations

import asyncio
import contextvars
from pathlib import Path

from gnod import fair_turns
from gnod.store.connection import Connection
from gnod.store.database import Database
from tests.rpc.harness import serving


async def test_a_client_with_many_requests_does_not_delay_one_with_one() -> None:
    async with serving() as served, await served.client() as greedy, await served.client() as modest:
        for number in range(60):
            greedy.call("in_turn", {"size": number}, request_id=number)
        await served.methods.begun.acquire()
        modest.call("in_turn", {"size": 1000}, request_id=1)
        modest.call("in_turn", {"size": 1001}, request_id=2)
        modest.call("echo", {"text": "cheap"}, request_id=3)
        assert (await modest.receive())["id"] == 3, "cheap requests do not wait"
        greedy.cancel(1)
        assert (await greedy.receive())["error"]
        served.methods.released.set()
        assert [(await modest.receive())["id"] for _ in range(2)] == [1, 2]
        assert {(await greedy.receive())["id"] for _ in range(59)} == {0, *range(2, 60)}
        assert served.methods.order[:5] == [0, 2, 1000, 3, 1001], "the clients take turns"


def test_reads_of_a_database_take_turns(tmp_path: Path) -> None:
    """Requests wait for the reader threads."""
    database = Database(tmp_path / "i.sqlite", readers=1)
    order: list[str] = []

    async def read(name: str) -> None:
        def work(_: Connection) -> None:
            order.append(name)

        await database.read(work)

    async def scenario() -> None:
        async with asyncio.TaskGroup() as group:
            for name in ("a", "a", "a", "a", "b", "c"):
                context = contextvars.copy_context()
                context.run(fair_turns.client.set, name)
                group.create_task(read(name), context=context)

    asyncio.run(scenario())
    database.close()
    assert order == ["a", "a", "b", "c", "a", "a"]
