"""Storing, changing and reading memories: the resident data always equals the database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from gnod.errors import (
    InvalidName,
    LimitExceeded,
    MemoryDamaged,
    MemoryExists,
    MemoryLocked,
    MemoryNotFound,
    StorageFailed,
)
from gnod.memory.memories import Memories
from gnod.memory.transactions import MemoryChange, MemoryDraft
from gnod.store.memory.memory_schema import SCHEMA
from tests.memory.memory_bench import URI, Kept, snapshot, vector_of
from tests.waiting import until

OTHER = "file:/models/others.gguf"


def nearest(memories: Memories, text: str, length: int = 48) -> list[str]:
    ids = memories.resident.nearest(vector_of(text, length), 10, None)
    return [memories.resident.of([id_])[id_].name for id_ in ids]


async def stored(memories: Memories, *texts: str, **more: object) -> list[str]:
    found = await memories.store([MemoryDraft(text, "fact", **more) for text in texts])  # type: ignore[arg-type]
    return [each.memory.name for each in found]


class TestStoring:
    async def test_a_memory_is_read_back_unchanged(self, kept: Kept) -> None:
        memories = await kept.opened()
        (found,) = await memories.store([MemoryDraft(" We use PostgreSQL 16.\n", "Decision", ["db", "DB", "postgres"])])
        memory = found.memory
        assert (memory.text, memory.type, memory.topics) == ("We use PostgreSQL 16.", "decision", ["db", "postgres"])
        assert (memory.namespace, found.existed) == ("personal", False)
        assert memory.created_ms == memory.updated_ms > 1_700_000_000_000
        assert await memories.retrieve([memory.name]) == [memory]
        assert nearest(memories, "we use postgresql 16.") == [memory.name]
        again = await kept.opened()
        assert await again.retrieve([memory.name]) == [memory]
        assert snapshot(again) == snapshot(memories)

    async def test_the_same_text_again_is_the_same_memory(self, kept: Kept) -> None:
        memories = await kept.opened()
        (first,) = await memories.store([MemoryDraft("use tabs", "fact", ["style"])])
        (again,) = await memories.store([MemoryDraft("use  tabs ", "preference", ["Style", "editor"])])
        assert again.existed
        assert again.memory.name == first.memory.name
        assert (again.memory.type, again.memory.topics) == ("preference", ["style", "editor"])
        assert again.memory.created_ms == first.memory.created_ms
        assert len(memories.resident) == 1
        assert snapshot(await kept.opened()) == snapshot(memories)
        (other,) = await memories.store([MemoryDraft("Use tabs", "fact")])
        assert not other.existed, "another case says something else"

    async def test_twice_in_one_call(self, kept: Kept) -> None:
        memories = await kept.opened()
        one, other = await memories.store([MemoryDraft("same", "fact", ["a"]), MemoryDraft("same", "fact", ["b"])])
        assert (one.memory.name, one.existed) == (other.memory.name, False)
        assert (other.existed, other.memory.topics) == (True, ["a", "b"])
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_all_or_none(self, kept: Kept) -> None:
        memories = await kept.opened()
        with pytest.raises(LimitExceeded):
            await memories.store([MemoryDraft("good", "fact"), MemoryDraft("", "fact")])
        topics = [f"t{n}" for n in range(30)]
        await memories.store([MemoryDraft("many", "fact", topics)])
        with pytest.raises(LimitExceeded, match="at most 32"):
            await memories.store([MemoryDraft("good", "fact"), MemoryDraft("many", "fact", ["x", "y", "z"])])
        assert [row.type for row in memories.resident.rows()] == ["fact"]
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_times_of_an_import_are_kept(self, kept: Kept) -> None:
        memories = await kept.opened()
        draft = MemoryDraft("old", "fact", created_ms=1000, updated_ms=2000)
        assert (await memories.store([draft]))[0].memory.updated_ms == 2000
        again = (await memories.store([draft._replace(type="task", updated_ms=1500)]))[0]
        assert (again.existed, again.memory.type, again.memory.updated_ms) == (True, "fact", 2000)
        assert (await memories.store([draft._replace(type="task", updated_ms=2500)]))[0].memory.type == "task"
        assert snapshot(await kept.opened()) == snapshot(memories)

    @pytest.mark.parametrize(
        "draft",
        [
            MemoryDraft("x", "two words"),
            MemoryDraft("x", "fact", namespace="n" * 65),
            MemoryDraft("x", "fact", namespace="\ud800"),
        ],
    )
    async def test_names_that_are_none(self, kept: Kept, draft: MemoryDraft) -> None:
        memories = await kept.opened()
        with pytest.raises(InvalidName):
            await memories.store([draft])

    async def test_strange_texts(self, kept: Kept) -> None:
        memories = await kept.opened()
        texts = ["nul\0inside", "z" * 65_536, "👩‍👩‍👧 emoji", "'; DROP TABLE memories; --", "\u202eright to left"]
        names = await stored(memories, *texts, topics=["a\0b", "' OR 1=1"])
        assert [memory.text for memory in await memories.retrieve(names)] == texts

    @pytest.mark.slow
    async def test_many_topics(self, kept: Kept) -> None:
        memories = await kept.opened()
        await memories.store(
            [MemoryDraft(f"memory {n}", "fact", [f"topic-{n}-{m}" for m in range(25)]) for n in range(400)]
        )
        lookup = memories.sealer.lookup("topic", "topic-399-24")
        assert len(memories.resident.topical([lookup], 48, None)) == 1
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_two_at_once(self, kept: Kept) -> None:
        memories = await kept.opened()
        await asyncio.gather(*(stored(memories, f"number {n % 10}", f"other {n}") for n in range(20)))
        assert len(memories.resident) == 30
        assert snapshot(await kept.opened()) == snapshot(memories)


class TestChanging:
    async def test_update_changes_only_given_fields(self, kept: Kept) -> None:
        memories = await kept.opened()
        first, second = await stored(memories, "the tide turns", "bread is baked", topics=["sea"])
        changed = await memories.update(first, MemoryChange(type="fact_done"))
        assert (changed.text, changed.type, changed.topics) == ("the tide turns", "fact_done", ["sea"])
        changed = await memories.update(first, MemoryChange(text="boats leave", topics=["harbour"]))
        assert (changed.text, changed.type, changed.topics) == ("boats leave", "fact_done", ["harbour"])
        assert nearest(memories, "boats leave")[0] == first
        assert [row.name for row in memories.resident.rows()] == [first, second]
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_into_what_another_says(self, kept: Kept) -> None:
        memories = await kept.opened()
        first, second = await stored(memories, "one", "two")
        with pytest.raises(MemoryExists, match=second):
            await memories.update(first, MemoryChange(text="two"))
        assert (await memories.update(first, MemoryChange(text=" one "))).text == "one"
        with pytest.raises(MemoryNotFound):
            await memories.update("mnone", MemoryChange(type="fact"))

    async def test_the_vectors_of_an_old_text_do_not_answer_for_the_new_one(self, kept: Kept) -> None:
        memories = await kept.opened()
        (name,) = await stored(memories, "the tide turns")
        kept.words.is_here = False
        await memories.update(name, MemoryChange(text="bread"))
        assert nearest(memories, "the tide turns") == []
        assert memories.resident.unembedded == 1
        kept.words.is_here = True
        assert await memories.embed_missing() == 0
        assert nearest(memories, "bread") == [name]
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_forgetting(self, kept: Kept) -> None:
        memories = await kept.opened()
        names = await stored(memories, "one", "two", "three", topics=["numbers"])
        with pytest.raises(MemoryNotFound, match="mnone"):
            await memories.forget([names[0], "mnone"])
        assert len(memories.resident) == 3
        await memories.forget(names[:2])
        assert [row.name for row in memories.resident.rows()] == names[2:]
        assert nearest(memories, "one") == names[2:]
        for table in ("memories", "memory_topics", "memory_vectors"):
            assert kept.rows(f"SELECT count(*) FROM {table}") == [(1,)]
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_publishing(self, kept: Kept) -> None:
        memories = await kept.opened()
        (name,) = await stored(memories, "we deploy on fridays", topics=["deploy"])
        (copy,) = await memories.publish([name], " Team ")
        assert (copy.memory.namespace, copy.memory.topics, copy.existed) == ("team", ["deploy"], False)
        assert copy.memory.name != name
        assert (await memories.publish([name], "team"))[0].existed
        assert memories.namespaces() == ["personal", "team"]
        assert len(memories.namespace_ids(["TEAM"]) or ()) == 1
        with pytest.raises(MemoryNotFound, match="there are: personal, team"):
            memories.namespace_ids(["teem"])
        await memories.forget([name])
        assert await memories.retrieve([copy.memory.name])
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_several_in_the_order_asked_for(self, kept: Kept) -> None:
        memories = await kept.opened()
        names = await stored(memories, "one", "two", "three")
        wanted = [names[2], names[0], names[2]]
        assert [memory.name for memory in await memories.retrieve(wanted)] == wanted
        with pytest.raises(MemoryNotFound) as raised:
            await memories.retrieve([names[0], "ma", "mb"])
        assert raised.value.details == {"missing": ["ma", "mb"]}


class TestModels:
    async def test_without_one_it_is_embedded_later(self, kept: Kept) -> None:
        kept.words.is_here = False
        memories = await kept.opened()
        names = await stored(memories, *(f"number {n} " + "and so on " * 300 for n in range(20)))
        assert memories.resident.unembedded == 20
        assert await memories.embed_missing() == 20
        kept.words.is_here = True
        assert await memories.embed_missing() == 0
        assert memories.resident.unembedded == 0
        assert set(nearest(memories, "number 7 and so on")) <= set(names)
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_another_one(self, kept: Kept) -> None:
        memories = await kept.opened()
        names = await stored(memories, "one", "two")
        await memories.load_vectors(OTHER)
        assert memories.resident.unembedded == 2
        kept.words.dimensions = 24
        assert await memories.embed_missing() == 0
        assert nearest(memories, "one", 24)[0] == names[0]
        assert snapshot(await kept.opened(OTHER)) == snapshot(memories)
        assert (await kept.opened(None)).resident.unembedded == 2

    async def test_the_model_changes_during_a_store(self, kept: Kept) -> None:
        memories = await kept.opened()
        await stored(memories, "one")
        kept.words.gate = asyncio.Event()
        storing = asyncio.create_task(stored(memories, "two"))
        await until(lambda: "two" in kept.words.asked)
        await memories.load_vectors(OTHER)
        kept.words.gate.set()
        await storing
        assert kept.rows("SELECT count(*) FROM memory_vectors GROUP BY model_id") == [(1,), (1,)]
        assert await memories.embed_missing() == 0
        assert snapshot(await kept.opened(OTHER)) == snapshot(memories)

    async def test_replacing_the_model_file_drops_vectors_of_another_length(self, kept: Kept) -> None:
        memories = await kept.opened()
        await stored(memories, "one", "two")
        kept.words.dimensions = 24
        await stored(memories, "three")
        assert memories.resident.unembedded == 2
        assert (await kept.opened()).resident.unembedded == 2
        assert nearest(memories, "one") == [], "a query of the old length"
        assert await memories.embed_missing() == 0
        assert len(nearest(memories, "three", 24)) == 3
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_what_changes_meanwhile_does_not_get_the_old_vectors(self, kept: Kept) -> None:
        kept.words.is_here = False
        memories = await kept.opened()
        changed, gone, _ = await stored(memories, "one", "two", "three")
        kept.words.is_here, kept.words.gate = True, asyncio.Event()
        asked = len(kept.words.asked)
        embedding = asyncio.create_task(memories.embed_missing())
        await until(lambda: len(kept.words.asked) > asked)
        await memories.forget([gone])
        updating = asyncio.create_task(memories.update(changed, MemoryChange(text="four")))
        await until(lambda: "four" in kept.words.asked)
        kept.words.gate.set()
        await asyncio.gather(embedding, updating)
        assert nearest(memories, "four")[0] == changed
        assert snapshot(await kept.opened()) == snapshot(memories)
        assert memories.resident.unembedded == 0

    async def test_a_long_text_is_found_by_each_of_its_pieces(self, kept: Kept) -> None:
        memories = await kept.opened()
        long, _ = await stored(memories, "apples\npears\nzirconium flange", "flange of another kind entirely")
        assert nearest(memories, "zirconium flange")[0] == long
        assert nearest(memories, "apples")[0] == long


class TestCancelling:
    @pytest.mark.parametrize("steps", range(1, 9))
    async def test_what_is_resident_follows_the_database(self, kept: Kept, steps: int) -> None:
        memories = await kept.opened()
        (name,) = await stored(memories, "first")
        for work in (
            stored(memories, "second"),
            memories.update(name, MemoryChange(text="third")),
            memories.forget([name]),
        ):
            task = asyncio.create_task(work)
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await stored(memories, "last")
        assert snapshot(await kept.opened()) == snapshot(memories)

    async def test_before_it_is_written_nothing_is_stored(self, kept: Kept) -> None:
        memories = await kept.opened()
        kept.words.gate = asyncio.Event()
        task = asyncio.create_task(stored(memories, "one"))
        await until(lambda: "one" in kept.words.asked)
        task.cancel()
        kept.words.gate.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await memories.close()
        assert kept.rows("SELECT count(*) FROM memories") == [(0,)]

    async def test_a_closed_store_refuses_changes(self, kept: Kept) -> None:
        memories = await kept.opened()
        (name,) = await stored(memories, "one")
        kept.words.gate = asyncio.Event()
        waiting = asyncio.create_task(stored(memories, "two"))
        await until(lambda: "two" in kept.words.asked)
        await memories.close()
        kept.words.gate.set()
        with pytest.raises(MemoryLocked):
            await waiting
        with pytest.raises(MemoryLocked):
            await memories.forget([name])
        assert snapshot(await kept.opened()) == snapshot(memories)


class TestDamage:
    async def test_one_costs_no_other(self, kept: Kept) -> None:
        memories = await kept.opened()
        bad, good = await stored(memories, "one", "two")
        kept.change("UPDATE memories SET body = zeroblob(90) WHERE id = 1")
        again = await kept.opened()
        assert [each.name for each in (await again.open_all([1, 2])).values()] == [good]
        assert again.damage_note([1, 2]) == (
            f"memory {bad} is damaged on the disk and cannot be read: "
            "run `gnoctl restore --memories` to restore a backup"
        )
        assert again.damage_note([2]) is None
        with pytest.raises(MemoryDamaged, match=bad) as raised:
            await again.retrieve([good, bad])
        assert raised.value.details == {"damaged": [bad]}
        with pytest.raises(MemoryDamaged):
            await again.update(bad, MemoryChange(type="fact"))

    async def test_swapped_rows_are_noticed(self, kept: Kept) -> None:
        memories = await kept.opened()
        await stored(memories, "one", "two")
        kept.change(
            "CREATE TABLE s AS SELECT id, body FROM memories;"
            "UPDATE memories SET body = (SELECT body FROM s WHERE s.id = 3 - memories.id); DROP TABLE s"
        )
        assert await memories.open_all([1, 2]) == {}
        assert memories.damaged == {1, 2}

    async def test_a_damaged_memory_can_be_stored_again_or_forgotten(self, kept: Kept) -> None:
        memories = await kept.opened()
        first, second = await stored(memories, "one", "two")
        kept.change("UPDATE memories SET body = x'00'")
        assert await memories.open_all([1, 2]) == {}
        assert await stored(memories, "one") == [first]
        assert (await memories.retrieve([first]))[0].text == "one"
        await memories.forget([second])
        assert memories.damaged == set()

    async def test_a_damaged_vector_is_embedded_again(self, kept: Kept) -> None:
        memories = await kept.opened()
        names = await stored(memories, "one", "two")
        kept.change("UPDATE memory_vectors SET sealed = x'00' WHERE memory_id = 1")
        again = await kept.opened()
        assert again.resident.unembedded == 1
        assert await again.embed_missing() == 0
        assert nearest(again, "one")[0] == names[0]

    async def test_text_and_vector_together_do_not_make_it_try_for_ever(self, kept: Kept) -> None:
        memories = await kept.opened()
        await stored(memories, "one", "two")
        kept.change("UPDATE memory_vectors SET sealed = x'00'")
        kept.change("UPDATE memories SET body = x'00' WHERE id = 1")
        again = await kept.opened()
        assert await again.embed_missing() == 0
        assert again.resident.unembedded == 1

    async def test_the_name_of_a_namespace(self, kept: Kept) -> None:
        memories = await kept.opened()
        (name,) = await stored(memories, "one", namespace="team")
        await stored(memories, "two", namespace="others")
        kept.change("UPDATE namespaces SET sealed_name = (SELECT sealed_name FROM namespaces n WHERE n.id = 2)")
        again = await kept.opened()
        assert again.namespaces() == ["personal", "damaged-1", "others"]
        assert (await again.retrieve([name]))[0].text == "one"
        await stored(again, "three", namespace="team")
        assert again.namespaces() == ["personal", "others", "team"]


async def test_a_full_disk_loses_nothing(kept: Kept) -> None:
    memories = await kept.opened()
    (name,) = await stored(memories, "one")
    pages = kept.database.submit_maintenance(lambda c: c.execute("PRAGMA page_count").get).result()
    kept.database.submit_maintenance(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").get).result()
    for work in (stored(memories, "x" * 60_000), memories.update(name, MemoryChange(text="y" * 60_000))):
        with pytest.raises(StorageFailed, match="no space left"):
            await work
    assert snapshot(await kept.opened()) == snapshot(memories)
    kept.database.submit_maintenance(lambda c: c.execute("PRAGMA max_page_count = 100000").get).result()
    await stored(memories, "x" * 60_000)
    assert snapshot(await kept.opened()) == snapshot(memories)


async def test_another_key_reads_nothing(kept: Kept, tmp_path: Path) -> None:
    memories = await kept.opened()
    await stored(memories, "one", namespace="team")
    stranger = await kept.opened(URI, b"x" * 32)
    assert await stranger.open_all([1]) == {}
    assert stranger.namespaces() == ["personal", "damaged-1"]
    assert stranger.resident.unembedded == 1


async def test_memories_from_before_the_first_release_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    connection = apsw.Connection(str(path))
    connection.execute(Path(__file__).with_name("before_release.sql").read_text())
    connection.close()
    kept = Kept(path)
    memories = await kept.opened()
    found = await memories.retrieve(["mk6fdwqkqk6", "mq2xgf5p3pq", "mas03x1wdcc"])
    assert [(each.text, each.type) for each in found] == [
        ("The harbour opens at six", "fact_done"),
        ("The harbour opens at seven", "fact"),
        ("Ask Ada about the crane", "task"),
    ]
    assert memories.superseded(["mq2xgf5p3pq"]) == {"mq2xgf5p3pq": ["mk6fdwqkqk6"]}
    assert (len(memories.resident), kept.words.asked) == (3, []), "their vectors are also there"
    assert set(kept.rows("SELECT * FROM schema_meta")) == {("version", "1"), ("fingerprint", SCHEMA.fingerprint)}
    assert await stored(memories, "A new one")
