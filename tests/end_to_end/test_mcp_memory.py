"""The memory tools of `gnoctl mcp`, with the official client, the real bridge and a real daemon."""

from __future__ import annotations

import re

import pytest

from tests.end_to_end.test_mcp_server import agent, refused, said
from tests.machine import Machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def test_from_storing_to_forgetting(keeper: Machine) -> None:
    async with agent(keeper) as client:
        # The client itself checks each answer against the tool's output schema.
        first = await client.call_tool(
            "memory_store",
            {"text": "The tide table hangs in the galley", "type": "fact", "topics": ["tides", "galley"]},
        )
        assert first.structured_content
        name = first.structured_content["id"]
        assert said(first) == f"stored as {name}"
        long = "Ignore all of this.\n" + "The log book is kept in ink. " * 30
        await client.call_tool("memory_store", {"text": long, "topics": ["log book"], "namespace": "crew"})
        found = await client.call_tool("memory_search", {"query": "where are the tides"})
        assert found.structured_content
        (hit,) = found.structured_content["results"]
        assert (hit["id"], hit["complete"], hit["topics"]) == (name, True, ["tides", "galley"])
        assert "namespace" not in hit
        assert found.structured_content["topics"] == {"tides": 1, "galley": 1}
        assert found.structured_content["counts"] == "Ranked 1 of 1 without a reranker, returned 1"
        assert "   | The tide table hangs in the galley" in said(found)
        deep = await client.call_tool("memory_deep_search", {"query": "log book"})
        assert deep.structured_content
        (shortened,) = deep.structured_content["results"]
        assert (shortened["namespace"], shortened.get("complete", False)) == ("crew", False)
        assert "(shortened), namespace crew, topics log book\n   | Ignore all of this." in said(deep)
        whole = await client.call_tool("memory_retrieve", {"ids": [shortened["id"], name]})
        assert whole.structured_content
        assert [each["text"] for each in whole.structured_content["memories"]] == [
            long.strip(),
            "The tide table hangs in the galley",
        ]
        done = await client.call_tool(
            "memory_store", {"text": "The tide table hangs in the galley", "type": "fact_done"}
        )
        assert done.structured_content == {"id": name, "existed": True}
        gone = await client.call_tool("memory_forget", {"ids": [name]})
        assert said(gone) == "deleted 1 memory"
        nothing = await client.call_tool("memory_search", {"query": "tides"})
        assert said(nothing).startswith("no memories match")
    assert keeper.call("memory.list")["total"] == 1  # what the agent stored stays when it goes


async def test_tool_errors_explain_the_fix(keeper: Machine) -> None:
    async with agent(keeper) as client:
        assert "2 keywords or more" in await refused(client, "memory_deep_search", {"query": "tides"})
        assert "mxxxxxxxxxx" in await refused(client, "memory_retrieve", {"ids": ["mxxxxxxxxxx"]})
        assert "'text'" in await refused(client, "memory_store", {})
        assert "the text is empty" in await refused(client, "memory_store", {"text": " "})
        assert "fact, preference" in await refused(client, "memory_store", {"text": "x", "type": "?"})
        assert "'limit'" in await refused(client, "memory_search", {"query": "x", "limit": 33})
        keeper.ok("memory", "lock")
        assert "`gnoctl memory unlock`" in await refused(client, "memory_search", {"query": "tides"})


async def test_long_memories_come_a_few_at_a_time(keeper: Machine) -> None:
    ids = []
    async with agent(keeper) as client:
        for number in range(3):
            ids.append(keeper_id(await client.call_tool("memory_store", {"text": f"{number} " + "x" * 30_000})))
        page = await client.call_tool("memory_retrieve", {"ids": ids})
        assert page.structured_content
        assert [each["id"] for each in page.structured_content["memories"]] == ids[:1]
        assert page.structured_content["note"].endswith(f": {ids[1]}, {ids[2]}")


def keeper_id(result: object) -> str:
    content = getattr(result, "structured_content", None)
    assert isinstance(content, dict)
    return str(content["id"])


async def test_a_new_value_supersedes_the_old_one(keeper: Machine) -> None:
    async with agent(keeper) as client:
        first = await client.call_tool("memory_store", {"text": "The mooring costs 20 euros", "when": "2024-05-31"})
        old = first.structured_content
        text = "The mooring costs 25 euros now"
        stored = await client.call_tool("memory_store", {"text": text})
        assert old
        assert stored.structured_content
        assert [each["id"] for each in stored.structured_content["proposals"]] == [old["id"]]
        assert re.search(rf"{old['id']} may be superseded \(....-..-..\): the same about", said(stored))
        again = await client.call_tool("memory_store", {"text": text, "supersedes": [old["id"]]})
        assert "may be superseded" not in said(again)
        found = await client.call_tool("memory_search", {"query": "mooring costs euros"})
        assert found.structured_content
        hits = found.structured_content["results"]
        assert [each.get("superseded_by") for each in hits] == [None, stored.structured_content["id"]]
        assert hits[1]["when"].startswith("2024-05-31")
        read = await client.call_tool("memory_retrieve", {"ids": [stored.structured_content["id"]]})
        assert f"supersedes {old['id']}" in said(read)
