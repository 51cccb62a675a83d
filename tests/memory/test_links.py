"""Superseded memories: their links stay consistent after any change, and the resident data equals the database."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from gnod.errors import InvalidParams, MemoryNotFound
from gnod.memory.memories import Memories
from gnod.memory.recalling.recall import topic_weights
from gnod.memory.records import Times
from gnod.memory.transactions import MemoryChange, MemoryDraft
from tests.memory.memory_bench import Kept, snapshot


async def stored(memories: Memories, text: str, *supersedes: str, **more: object) -> str:
    (found,) = await memories.store([MemoryDraft(text, "fact", supersedes=supersedes, **more)])  # type: ignore[arg-type]
    return found.memory.name


async def test_superseding_marks_and_links(kept: Kept) -> None:
    memories = await kept.opened()
    first = await stored(memories, "tides are 1")
    second = await stored(memories, "tides are 2", first)
    third = await stored(memories, "tides are 3", second)
    old, current = await memories.retrieve([first, third])
    assert (old.type, old.superseded_by) == ("fact_done", second)
    assert (current.type, current.superseded_by) == ("fact", None)
    for name in (first, second, third):
        assert [each.name for each in await memories.history(name)] == [third, second, first]
    assert memories.superseded([third, first]) == {third: [second], first: []}
    assert snapshot(await kept.opened()) == snapshot(memories)


async def test_forgetting_the_middle_joins_the_ends(kept: Kept) -> None:
    memories = await kept.opened()
    first = await stored(memories, "tides are 1")
    second = await stored(memories, "tides are 2", first)
    third = await stored(memories, "tides are 3", second)
    await memories.forget([second])
    assert [each.name for each in await memories.history(first)] == [third, first]
    await memories.forget([third])
    (old,) = await memories.retrieve([first])
    assert (old.type, old.superseded_by) == ("fact_done", None)
    assert snapshot(await kept.opened()) == snapshot(memories)


async def test_a_value_that_returns_is_current_again(kept: Kept) -> None:
    memories = await kept.opened()
    first = await stored(memories, "tides are 1")
    second = await stored(memories, "tides are 2", first)
    assert await stored(memories, "tides are 1", second) == first
    current, old = await memories.history(second)
    assert (current.name, current.type, current.superseded_by) == (first, "fact", None)
    assert (old.name, old.type, old.superseded_by) == (second, "fact_done", first)


async def test_a_type_without_done_removes_the_link(kept: Kept) -> None:
    memories = await kept.opened()
    first = await stored(memories, "tides are 1")
    await stored(memories, "tides are 2", first)
    assert (await memories.update(first, MemoryChange(topics=["sea"]))).superseded_by
    assert (await memories.update(first, MemoryChange(type="fact"))).superseded_by is None
    assert snapshot(await kept.opened()) == snapshot(memories)


async def test_what_is_refused_changes_nothing(kept: Kept) -> None:
    memories = await kept.opened()
    first = await stored(memories, "tides are 1")
    before = snapshot(memories)
    with pytest.raises(MemoryNotFound, match="mnone"):
        await stored(memories, "tides are 2", "mnone")
    with pytest.raises(InvalidParams, match="itself"):
        await stored(memories, "tides are 1", first)
    with pytest.raises(InvalidParams, match="no topic boat"):
        await memories.update(first, MemoryChange(removed_topics=["boat"]))
    assert snapshot(memories) == before
    assert snapshot(await kept.opened()) == before


async def test_copies_keep_the_links_among_themselves(kept: Kept) -> None:
    memories = await kept.opened()
    first = await stored(memories, "tides are 1")
    second = await stored(memories, "tides are 2", first)
    old, new, again = await memories.publish([first, second, first], "team")
    assert old == again
    assert [each.name for each in await memories.history(old.memory.name)] == [new.memory.name, old.memory.name]
    assert snapshot(await kept.opened()) == snapshot(memories)


@pytest.mark.slow
async def test_random_changes_make_no_circle(kept: Kept) -> None:
    memories = await kept.opened()
    chance = random.Random(7)
    names: list[str] = []
    for _ in range(150):
        older = chance.sample(names, min(len(names), chance.randrange(3)))
        if names and chance.random() < 0.2:
            gone = names.pop(chance.randrange(len(names)))
            await memories.forget([gone])
        elif names and chance.random() < 0.4:
            change = MemoryChange(type=chance.choice(["fact", None]), supersedes=older)
            with suppress(InvalidParams):  # a memory cannot supersede itself
                await memories.update(chance.choice(names), change)
        else:
            with suppress(InvalidParams):
                names.append(await stored(memories, f"tides are {chance.randrange(60)}", *older))
            names = list(dict.fromkeys(names))
    rows = list(memories.resident.rows())
    assert sum(row.superseded_by is not None for row in rows) > 3
    for row in rows:
        assert row.superseded_by is None or row.type.endswith("_done")
        chain = await memories.history(row.name)
        assert len({each.name for each in chain}) == len(chain)
    assert snapshot(await kept.opened()) == snapshot(memories)


async def test_proposals_name_the_older_value_and_change_nothing(kept: Kept) -> None:
    memories = await kept.opened()
    older = await stored(memories, "The Pro plan costs 20 euros")
    await stored(memories, "The Pro plan includes 12 seats")
    await stored(memories, "The Pro plan costs 20 euros", namespace="team")
    (new,) = await memories.store([MemoryDraft("The Pro plan costs 25 euros now", "fact")])
    before = snapshot(memories)
    ((proposed, reason),) = await memories.proposals(new.memory)
    assert (proposed.name, reason) == (
        older,
        'the same about "Pro plan costs euros", but 25 instead of 20',
    )
    assert snapshot(memories) == before
    await memories.update(new.memory.name, MemoryChange(supersedes=[older]))
    assert await memories.proposals(new.memory) == []
    earlier = MemoryDraft("The Pro plan costs 10 euros", "fact", times=Times(-1000))
    assert await memories.proposals((await memories.store([earlier]))[0].memory) == []


async def test_proposals_without_a_model_are_found_by_topic(kept: Kept) -> None:
    kept.words.is_here = False
    memories = await kept.opened()
    older = await stored(memories, "The zeppelin costs 20 euros")
    (new,) = await memories.store([MemoryDraft("The zeppelin costs 25 euros", "fact")])
    assert [each.name for each, _ in await memories.proposals(new.memory)] == [older]


async def test_removed_suggestions_stay_removed(kept: Kept) -> None:
    memories = await kept.opened()
    name = await stored(memories, "Ask Heron about the zeppelin", topics=["Airships"])
    (memory,) = await memories.retrieve([name])
    assert (memory.topics, memory.suggested) == (["Airships"], ["Heron", "zeppelin"])
    memory = await memories.update(name, MemoryChange(removed_topics=["ZEPPELIN", "airships"]))
    assert (memory.topics, memory.suggested) == ([], ["Heron"])
    assert await stored(memories, "Ask Heron about the zeppelin") == name
    memory = await memories.update(name, MemoryChange(text="Ask Heron and Otter about the zeppelin"))
    assert memory.suggested == ["Heron", "Otter"]
    memory = await memories.update(name, MemoryChange(topics=["heron"]))
    assert (memory.topics, memory.suggested) == (["heron"], ["Otter"])
    assert snapshot(await kept.opened()) == snapshot(memories)


async def test_suggested_topics_weigh_less(kept: Kept) -> None:
    memories = await kept.opened()
    hint = await stored(memories, "Ask about the zeppelin")
    given = await stored(memories, "It can fly", topics=["zeppelin"])
    found = memories.resident.topic_weights(topic_weights(memories.sealer, ["zeppelin"]), None)
    weights = {memories.resident.of([id_])[id_].name: weight for id_, weight in found.items()}
    assert 0 < weights[hint] < weights[given] == 1


async def test_when_is_sealed_and_can_be_removed(kept: Kept) -> None:
    memories = await kept.opened()
    name = await stored(memories, "born in Oslo", times=Times(-123_456_789))
    (memory,) = await (await kept.opened()).retrieve([name])
    assert memory.times.when_ms == -123_456_789
    assert -123_456_789 not in [value for row in kept.rows("SELECT * FROM memories") for value in row]
    assert await stored(memories, "born in Oslo") == name
    assert (await memories.update(name, MemoryChange(type="task"))).times.when_ms == -123_456_789
    assert (await memories.update(name, MemoryChange(times={"when_ms": None}))).times.when_ms is None
