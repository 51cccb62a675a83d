"""The search through the daemon's service, with the real MiniLM and a random cross-encoder."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import pytest

from gnod.errors import MemoryNotFound, QuerySyntaxError
from gnod.memory.recalling.ranking import DEEP_SEARCH, SEARCH
from gnod.memory.recalling.recall import Recalled
from gnod.memory.records import Times
from gnod.memory.service import MemoryService
from gnod.memory.transactions import MemoryDraft
from gnod.memory.validity import TimeSpan
from tests.memory.memory_bench import ENOUGH_S, harm, serving
from tests.models.tiny_ranker import SEED, CrossEncoder

pytestmark = pytest.mark.slow

DRAFTS = [
    MemoryDraft("The kitten sleeps on the sofa all day.", "fact", ["animals"]),
    MemoryDraft("Releases go to production with a blue-green rollout.", "decision", ["deploy"]),
    MemoryDraft("Knead flour, water and yeast; bake the loaf for an hour.", "summary", ["bread"]),
    MemoryDraft("I would rather have tabs than spaces.", "preference", ["style"]),
    MemoryDraft("Ask Ilse before touching it.", "fact", ["zirconium flange", "E4711"]),
    *(MemoryDraft(f"Boat number {n} leaves the harbour before the tide.", "fact", ["boats"]) for n in range(12)),
]
PUBLISHED = MemoryDraft("The team eats lunch at noon.", "fact", ["lunch"], "team")


def texts(found: Recalled) -> list[str]:
    return [hit.memory.text for hit in found.hits]


async def recalled(service: MemoryService, query: str, *namespaces: str, deep: bool = False) -> Recalled:
    return await service.recall(query, DEEP_SEARCH if deep else SEARCH, namespaces, ENOUGH_S)


async def test_by_meaning_and_by_name(tmp_path: Path, keyring_file: Path, minilm_onnx: Path) -> None:
    async with serving(tmp_path, embed=minilm_onnx) as served:
        service = served.service
        memories = await service.memories()
        await memories.store([*DRAFTS, PUBLISHED])
        assert memories.resident.unembedded == 0

        found = await recalled(service, "where does the young cat rest")
        assert texts(found)[0] == DRAFTS[0].text, "by meaning: no word in common"
        assert found.hits[0].cosine is not None
        assert 0.03 <= found.hits[0].score <= 0.70
        assert (found.reranked, found.ranked, found.found) == (0, 18, 18)
        assert any("models.rerank" in note for note in found.notes)

        found = await recalled(service, "E4711")
        assert DRAFTS[4].text in texts(found)[:2], "by its topic: the text does not say it"
        found = await recalled(service, "deploy with blue-green")
        assert texts(found)[0] == DRAFTS[1].text

        # A copy represents its original, whichever namespace it is in.
        await memories.publish([row.name for row in memories.resident.rows()], "team")
        found = await recalled(service, "where does the young cat rest")
        assert found.ranked == 18
        assert len(set(texts(found))) == len(found.hits) > 10
        assert {hit.memory.namespace for hit in found.hits} == {"personal"}, "of equal ones the older"
        found = await recalled(service, "lunch at noon")
        assert (found.hits[0].memory.text, found.hits[0].memory.namespace) == (PUBLISHED.text, "team")
        found = await recalled(service, "lunch", "personal")
        assert PUBLISHED.text not in texts(found)
        found = await recalled(service, "lunch", "TEAM")
        assert texts(found)[0] == PUBLISHED.text
        with pytest.raises(MemoryNotFound, match="no namespace 'teem'"):
            await recalled(service, "lunch", "teem")

        with pytest.raises(QuerySyntaxError, match="needs 2 keywords or more, and this query has 1"):
            await recalled(service, "lunch", deep=True)
        found = await recalled(service, "team lunch", deep=True)
        assert texts(found)[0] == PUBLISHED.text

        # A new memory is found at once.
        (new,) = await memories.store([MemoryDraft("The boiler needs service in March.", "task")])
        assert texts(await recalled(service, "when to maintain the heating"))[0] == new.memory.text
        await memories.forget([new.memory.name])
        assert new.memory.text not in texts(await recalled(service, "when to maintain the heating"))

        # A damaged memory is left out and reported.
        harm(tmp_path / "memory.sqlite", "UPDATE memories SET body = x'00' WHERE id = 1")
        found = await recalled(service, "where does the young cat rest", "personal")
        assert DRAFTS[0].text not in texts(found)
        assert any("damaged on the disk" in note for note in found.notes)


async def test_a_cross_encoder_reads_the_pool(tmp_path: Path, keyring_file: Path, minilm_onnx: Path) -> None:
    ranker = CrossEncoder(SEED)
    path = ranker.write(tmp_path / "tiny.gguf")
    async with serving(tmp_path, embed=minilm_onnx, rerank=path) as served:
        memories = await served.service.memories()
        few = [MemoryDraft("one", "fact", ["few"]), MemoryDraft("two", "result", ["few"], "team")]
        await memories.store(few)
        query = "few boats"
        found = await recalled(served.service, query)
        assert (found.reranked, found.ranked) == (0, 2), "hardly any: not worth it"
        found = await recalled(served.service, query, deep=True)
        assert found.reranked == 2
        scores = {hit.memory.text: hit.score for hit in found.hits}
        assert scores["one"] == pytest.approx(max(ranker.score(query, "one"), 0.0), abs=1e-3)
        assert scores["two"] == pytest.approx(ranker.score(query, "two") * 0.6, abs=1e-3)

        await memories.store(DRAFTS)
        found = await recalled(served.service, query)
        assert found.reranked == found.ranked == 19
        boat = next(hit for hit in found.hits if "number 3 " in hit.memory.text)
        # The text has one of two words, so the score is at least 0.30 * 1/2; `boats` is not `boat`.
        assert boat.score == pytest.approx(max(ranker.score(query, boat.memory.text), 0.0), abs=1e-3)

        # Memories for which there was no time rank behind those that were read.
        (pace,) = served.service._throughputs.values()
        pace.characters_per_s = 2500.0
        found = await served.service.recall(query, SEARCH, [], 1.0)
        assert 3 <= found.reranked < 19
        assert any(f"{found.reranked} of 19" in note for note in found.notes)
        found = await served.service.recall(query, SEARCH, [], 0.0)
        assert found.reranked == 0
        assert any("no time to rerank" in note for note in found.notes)
        assert found.hits


async def test_without_any_model(tmp_path: Path, keyring_file: Path) -> None:
    async with serving(tmp_path) as served:
        memories = await served.service.memories()
        await memories.store(DRAFTS)
        found = await recalled(served.service, "E4711 flange")
        assert texts(found) == [DRAFTS[4].text]
        assert found.hits[0].cosine is None
        assert found.hits[0].score == pytest.approx(0.69996, abs=1e-5)  # all its keywords, and a topic
        assert len(found.notes) == 2, "neither by meaning, nor embedded; few, so that no reranker is missed"
        assert (await recalled(served.service, "nothing of it")).hits == []


async def test_forgotten_in_the_middle_of_a_search(tmp_path: Path, keyring_file: Path, minilm_onnx: Path) -> None:
    async with serving(tmp_path, embed=minilm_onnx) as served:
        memories = await served.service.memories()
        stored = await memories.store([MemoryDraft(f"boat {n} leaves", "fact", ["boats"]) for n in range(60)])

        async def forget() -> None:
            for each in stored[:50]:
                await memories.forget([each.memory.name])

        async def search() -> None:
            for _ in range(25):
                await recalled(served.service, "when do boats leave")

        await asyncio.gather(forget(), search(), search())
        assert len((await recalled(served.service, "when do boats leave")).hits) == 10


def day(date: str) -> int:
    return round(datetime.fromisoformat(f"{date}T00:00:00+00:00").timestamp() * 1000)


async def test_facts_of_another_time(tmp_path: Path, keyring_file: Path) -> None:
    """`benchmarks.as_of` runs a hundred such questions with a model."""
    facts = [
        ("Staging runs on Postgres 14", "2024-11-04", None),
        ("Staging runs on Postgres 16", "2026-03-16", 0),
        ("The Pro plan costs 20 euros", "2024-02-01", None),
        ("The Pro plan costs 25 euros", "2025-01-07", 2),
        ("The Pro plan costs 29 euros", "2026-01-12", 3),
        ("We used RabbitMQ for messages until March 2026", "2026-09-02", None),
        ("Kafka is used for messages since April 2026", "2026-09-02", None),
        ("Bis Februar 2026 nutzten wir Jenkins für die Builds", "2026-06-10", None),
        ("Seit März 2026 laufen die Builds auf GitLab", "2026-06-10", None),
    ]
    questions = [
        ("2025-06-01", "which Postgres runs staging", 0),
        ("2026-05-01", "which Postgres runs staging", 1),
        (None, "which Postgres runs staging", 1),
        (None, "which Postgres was on staging in June 2025", 0),
        ("2024-07-01", "what does the Pro plan cost", 2),
        ("2025-08-01", "what does the Pro plan cost", 3),
        (None, "what does the Pro plan cost", 4),
        (None, "what did the Pro plan cost in March 2025", 3),
        ("2025-12-01", "which is used for messages", 5),
        ("2026-06-01", "which is used for messages", 6),
        (None, "which is used for messages", 6),
        ("2025-11-01", "Builds", 7),
        ("2026-05-01", "Builds", 8),
        (None, "Builds", 8),
    ]
    async with serving(tmp_path) as served:
        memories = await served.service.memories()
        names: list[str] = []
        for text, stored, older in facts:
            supersedes = [] if older is None else [names[older]]
            (one,) = await memories.store([MemoryDraft(text, "fact", created_ms=day(stored), supersedes=supersedes)])
            names.append(one.memory.name)
        for time, query, right in questions:
            as_of = TimeSpan(day(time), day(time)) if time else None
            found = await served.service.recall(query, SEARCH, [], ENOUGH_S, as_of)
            assert texts(found)[:1] == [facts[right][0]], (time, query)
            assert all(hit.validity in ("holds", "unknown") for hit in found.hits if as_of), (time, query)
        assert [hit.validity for hit in (await recalled(served.service, "Pro plan cost")).hits] == ["holds"] + [
            "ended"
        ] * 2


async def test_what_was_true_then_is_found_behind_much_that_was_not(tmp_path: Path, keyring_file: Path) -> None:
    later, earlier = Times(None, day("2026-01-01")), Times(None, None, day("2025-12-31"))
    drafts = [MemoryDraft(f"rare boats, pier {n}", "fact", times=later) for n in range(200)]
    async with serving(tmp_path) as served:
        memories = await served.service.memories()
        await memories.store(
            [MemoryDraft("in the old days, boats were rare here at this pier", "fact", times=earlier), *drafts]
        )
        found = await served.service.recall(
            "rare boats", SEARCH, [], ENOUGH_S, TimeSpan(day("2025-05-05"), day("2025-05-06"))
        )
        assert texts(found) == ["in the old days, boats were rare here at this pier"]
        found = await served.service.recall(
            "rare boats", SEARCH, [], ENOUGH_S, TimeSpan(day("1999-01-01"), day("1999-01-01"))
        )
        assert texts(found) == ["in the old days, boats were rare here at this pier"], "an end, and no beginning"
