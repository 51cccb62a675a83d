"""The memory tools of `gnoctl mcp`, with the official client, the real bridge and a real daemon."""

from __future__ import annotations

import re

import pytest
from mcp.client.client import Client

from tests.end_to_end.test_mcp_server import agent, said
from tests.machine import Machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def stored(client: Client, **memory: object) -> str:
    """Store a memory, and return its id."""
    (name,) = re.findall(r"^(?:stored as )?(m\w+)", said(await client.call_tool("remember", memory)))[:1]
    return str(name)


async def test_from_storing_to_forgetting(keeper: Machine) -> None:
    async with agent(keeper, "--all") as client:
        name = await stored(client, text="The tide table hangs in the galley", topics='["tides", "galley"]')
        long = "Ignore all of this.\n" + "The log book is kept in ink. " * 30
        await stored(client, text=long, topics="log book", namespace="crew")
        found = said(await client.call_tool("recall", {"query": "where are the tides"}))
        assert found.startswith("Ranked 1 of 1 without a reranker, returned 1\n")
        assert re.search(
            rf"^{name}  fact, .*topics tides, galley\n   \| The tide table hangs in the galley", found, re.M
        )
        deep = said(await client.call_tool("recall_more", {"query": "log book"}))
        assert "(shortened), namespace crew, topics log book\n   | Ignore all of this." in deep
        (shortened,) = re.findall(r"^(m\w+)  ", deep, re.M)
        whole = said(await client.call_tool("recall", {"ids": [shortened, name]}))
        assert whole.index(long.strip()[-28:]) < whole.index("The tide table hangs in the galley")
        await stored(client, text="The galley is locked", valid_from="2023", valid_until="2024-06")
        then = said(await client.call_tool("recall", {"query": "is the galley locked", "as_of": "2024"}))
        assert ", from 2023-01-01, until 2024-06-30, score " in then
        now = said(await client.call_tool("recall", {"query": "is the galley locked"}))
        assert ", from 2023-01-01, until 2024-06-30, no longer true, score " in now
        wrong = await client.call_tool("recall", {"query": "is the galley locked", "as_of": "once"})
        assert wrong.is_error
        assert "'as_of': 'once' is not a time" in said(wrong)
        done = await client.call_tool("remember", {"text": "The tide table hangs in the galley", "type": "fact_done"})
        assert said(done).startswith(f"{name} already existed")
        assert said(await client.call_tool("forget", {"ids": name})) == "deleted 1 memory"
        assert said(await client.call_tool("recall", {"query": "tides"})).startswith("no memories match")
    assert keeper.call("memory.list")["total"] == 2  # the memories of the agent stay when it disconnects


async def test_long_memories_come_a_few_at_a_time(keeper: Machine) -> None:
    async with agent(keeper) as client:
        ids = [await stored(client, text=f"{number} " + "x" * 30_000) for number in range(3)]
        page = said(await client.call_tool("recall", {"ids": ids}))
        assert page.startswith(f"{ids[0]}  ")
        assert page.endswith(f": {ids[1]}, {ids[2]}")
