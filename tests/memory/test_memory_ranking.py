"""From candidates to results: the pool, every rule that orders memories, with numbers calculated by hand, and memories
of one event as one result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.memory.recalling import candidates
from gnod.memory.recalling.candidates import MemorySignals
from gnod.memory.recalling.keyword_index import KeywordIndex
from gnod.memory.recalling.ranking import (
    DEEP_SEARCH,
    FEW,
    SEARCH,
    RecalledMemory,
    boosted,
    events,
    finish,
    synthetic,
)
from gnod.memory.recalling.time_expressions import Period
from gnod.memory.records import Memory, Vector
from gnod.memory.validity import Validity
from gnod.memory_types import is_done

HOUR_MS = 3_600_000
SIGNALS = ("cosines", "meanings", "topics", "nearness")


def memory(id_: int, text: str, *, time_ms: int = 0, namespace: str = "personal", type_: str = "fact") -> Memory:
    return Memory(id_, f"m{id_}", namespace, type_, time_ms, time_ms, text, [])


def ranked(id_: int, score: float, type_: str, matched: float, *, is_verified: bool = True) -> RecalledMemory:
    validity: Validity = "ended" if is_done(type_) else "holds"
    return RecalledMemory(memory(id_, "", type_=type_), score, matched, validity, is_verified)


def score_of(type_: str, score: float, matched: float = 0.0, *, is_verified: bool = True) -> float:
    ((_, final),) = finished(ranked(1, score, type_, matched, is_verified=is_verified))
    return final


def finished(*found: RecalledMemory) -> list[tuple[int, float]]:
    return [(each.memory.id, round(each.score, 6)) for each in finish(found)]


class TestBoosts:
    @pytest.mark.parametrize(
        ("type_", "score"),
        [("fact", 0.5), ("preference", 0.65), ("summary", 0.7), ("summary_done", 0.7), ("result", 0.5)],
    )
    def test_preferences_and_summaries_weigh_more_as_candidates(self, type_: str, score: float) -> None:
        assert boosted([0.5], [type_]) == pytest.approx([score])


class TestSynthetic:
    @pytest.mark.parametrize(
        ("fused", "strength", "score"),
        [
            # 0.4 is the middle of the sigmoid: 0.40 + 0.30 / 2.
            (0.4, 1.0, 0.55),
            # 1: 1 / (1 + e^-6) = 0.997527; 0.40 + 0.30 * 0.997527.
            (1.0, 1.0, 0.6992582),
            # 0.5, for the first of one list: 1 / (1 + e^-1) = 0.731059.
            (0.5, 1.0, 0.6193176),
            # Boosts and additions never exceed the cap.
            (2.0, 1.0, 0.70),
            (2.0, 3.0, 0.70),
            # Multiplied by its strength: 0.55 * 0.5.
            (0.4, 0.5, 0.275),
            (0.4, 1.7, 0.55),
            # An opposite meaning is no worse than an unrelated one.
            (1.0, -0.3, 0.0),
        ],
    )
    def test_by_hand(self, fused: float, strength: float, score: float) -> None:
        assert synthetic(fused, strength) == pytest.approx(score, abs=1e-6)

    @given(st.floats(0, 3), st.floats(0, 3))
    def test_it_keeps_the_order_within_its_bounds(self, one: float, other: float) -> None:
        low, high = sorted((one, other))
        assert 0.40 <= synthetic(low, 1.0) <= synthetic(high, 1.0) <= 0.70


class TestAfterTheCrossEncoder:
    @pytest.mark.parametrize(
        ("type_", "score", "final"),
        [
            ("fact", 0.5, 0.5),
            ("decision", 0.5, 0.5),
            ("preference", 0.5, 0.625),  # * 1.25
            ("preference", 0.9, 1.0),  # 1.125
            ("summary", 0.5, 0.65),  # * 1.3
            ("summary", 0.8, 1.0),  # 1.04
            ("result", 0.5, 0.3),  # * 0.6
            ("task_done", 0.5, 0.35),  # * 0.7
            ("result_done", 0.5, 0.21),  # * 0.6 * 0.7
            ("preference_done", 0.5, 0.4375),  # * 1.25 * 0.7
            ("preference_done", 0.9, 0.7),  # 1.0 * 0.7: capped before
            ("summary_done", 0.5, 0.455),  # * 1.3 * 0.7
        ],
    )
    def test_types(self, type_: str, score: float, final: float) -> None:
        assert score_of(type_, score) == pytest.approx(final)

    @pytest.mark.parametrize(
        ("score", "matched", "final"),
        [
            (0.05, 1.0, 0.30),
            (0.05, 0.5, 0.15),
            (0.05, 1 / 3, 0.10),
            (0.05, 0.1, 0.05),  # 0.03 would lower it
            (0.9, 1.0, 0.9),
        ],
    )
    def test_the_keyword_floor_only_raises(self, score: float, matched: float, final: float) -> None:
        assert score_of("fact", score, matched) == pytest.approx(final)

    def test_the_floor_comes_after_the_penalties(self) -> None:
        assert score_of("result_done", 0.5, 1.0) == pytest.approx(0.30)  # 0.21 without

    @pytest.mark.parametrize(
        ("type_", "score", "final"),
        [
            ("summary", 0.70, 0.70),  # 0.91 without the cap
            ("preference", 0.60, 0.70),  # 0.75
            ("preference", 0.50, 0.625),
            ("preference_done", 0.70, 0.49),  # 0.70 * 0.7: capped before the penalty
        ],
    )
    def test_without_a_reranker_no_type_scores_above_the_cap(self, type_: str, score: float, final: float) -> None:
        assert score_of(type_, score, is_verified=False) == pytest.approx(final)

    def test_nothing_below_the_score_floor(self) -> None:
        found = (ranked(1, 0.03, "fact", 0), ranked(2, 0.0299, "fact", 0), ranked(3, 0.0299, "preference", 0))
        assert finished(*found) == [(3, 0.037375), (1, 0.03)]
        assert finished(ranked(1, 0.049, "result", 0)) == []  # 0.0294
        assert finished(ranked(1, 0.0, "fact", 0.2)) == [(1, 0.06)]

    def test_sorted_again_after_each_group(self) -> None:
        # Two summaries are both capped at 1 and keep their order; then the penalty of one separates them.
        found = (ranked(1, 0.80, "fact", 0), ranked(2, 0.85, "summary_done", 0), ranked(3, 0.79, "summary", 0))
        assert finished(*found) == [(3, 1.0), (1, 0.8), (2, 0.7)]
        # With equal final scores, the memory that was ahead after the previous group stays ahead. Both have 0.30 * 1.0;
        # memory 2 had more before.
        assert finished(ranked(1, 0.10, "fact", 1.0), ranked(2, 0.10, "preference", 1.0)) == [(2, 0.3), (1, 0.3)]

    @given(
        st.lists(
            st.tuples(
                st.floats(0, 1), st.sampled_from(["fact", "preference", "summary_done", "result"]), st.floats(0, 1)
            )
        )
    )
    def test_in_range_and_best_first(self, found: list[tuple[float, str, float]]) -> None:
        done = finish([ranked(n, *each) for n, each in enumerate(found)])
        values = [each.score for each in done]
        assert values == sorted(values, reverse=True)
        assert all(0.03 <= value <= 1 for value in values)


def vectors(*cosines: float) -> dict[int, Vector]:
    """Vectors of the memories 1, 2, …, with these cosines to the first."""
    rows = [np.asarray([cosine, (1 - cosine**2) ** 0.5], np.float32) for cosine in cosines]
    return dict(enumerate(rows, 1))


def folded(memories: Sequence[Memory], vectors: dict[int, Vector]) -> dict[int, list[int]]:
    found = events([RecalledMemory(each, 0.5, 0.0) for each in memories], vectors)
    return {each.memory.id: [other.id for other in each.folded] for each in found}


def test_of_one_event_and_near_duplicates() -> None:
    found = [
        memory(1, "deploy began"),
        memory(2, "deploy is running", time_ms=HOUR_MS),
        memory(3, "deploy in spring", time_ms=30 * HOUR_MS),
        memory(4, "Deploy began.", time_ms=30 * HOUR_MS),
        memory(5, "lunch"),
    ]
    assert folded(found, vectors(1.0, 0.9, 0.9, 0.99, 0.1)) == {1: [2, 4], 3: [], 5: []}


def test_what_stays_apart() -> None:
    same = vectors(1.0, 1.0)

    def apart(one: Memory, other: Memory) -> bool:
        return len(folded([one, other], same)) == 2

    deploy = memory(1, "deploy at 14:00 of E4711")
    assert not apart(deploy, memory(2, "deploy at 15:00 of E4711"))
    assert apart(deploy, memory(2, "deploy at 14:00 of E4712"))
    assert apart(deploy, memory(2, deploy.text, namespace="team"))
    assert apart(deploy, memory(2, deploy.text, type_="fact_done")), "a superseded memory is not the same"
    assert apart(deploy, memory(3, deploy.text)), "it has no vector"


def evidence(count: int, **columns: list[float] | list[bool]) -> MemorySignals:
    """Return signals with these columns of MemorySignals and MemoryMatches; other columns are zero."""
    columns.setdefault("meanings", columns.get("cosines", [0.0] * count))
    values = {name: np.asarray(columns.get(name, np.zeros(count)), float) for name in SIGNALS}
    found = KeywordIndex().search("", range(1, count + 1))
    matches = found._replace(**{name: np.asarray(value) for name, value in columns.items() if name in found._fields})
    return MemorySignals(np.arange(1, count + 1), **values, matches=matches, asks_when=True)


def test_sizes() -> None:
    assert (SEARCH.pool, SEARCH.results, SEARCH.whole, SEARCH.keywords) == (64, 32, 3, 0)
    assert (DEEP_SEARCH.pool, DEEP_SEARCH.results, DEEP_SEARCH.whole, DEEP_SEARCH.keywords) == (256, 100, 5, 2)
    assert (SEARCH.always_reranks, DEEP_SEARCH.always_reranks, FEW) == (False, True, 5)


def test_vectors_and_keywords_have_equal_parts() -> None:
    found = evidence(3, cosines=[0.6, 0.1, 0.35], scores=[0.0, 8.0, 4.0])
    # Scaled to 1, 0, 0.5 and 0, 1, 0.5.
    assert candidates.fused(found) == pytest.approx([0.5, 0.5, 0.5])
    found = evidence(2, cosines=[0.6, 0.1])
    assert candidates.fused(found) == pytest.approx([1.0, 0.0]), "no keyword occurs, so only vectors count"
    nothing = [np.nan, np.nan]
    assert candidates.fused(evidence(2, cosines=nothing, scores=[2.0, 1.0])) == pytest.approx([1.0, 0.5])


def test_without_a_vector_keywords_count_for_both() -> None:
    found = evidence(3, cosines=[0.6, 0.1, np.nan], scores=[4.0, 0.0, 4.0])
    assert candidates.fused(found) == pytest.approx([1.0, 0.0, 1.0])


def test_what_nothing_found_has_no_score() -> None:
    found = evidence(2, cosines=[np.nan, np.nan], scores=[1.0, 0.0], named=[True, True])
    assert candidates.fused(found) == pytest.approx([1.1, -1.0]), "a speaker alone finds nothing"


def test_names_times_and_topics_are_added() -> None:
    found = evidence(1, cosines=[0.5], scores=[1.0], topics=[1.0], named=[True], nearness=[1.0], states_time=[True])
    # 1 + 0.3 + 0.1 + 0.2 + 0.1
    assert candidates.fused(found) == pytest.approx([1.7])
    asking = found.matches._replace(asks=np.asarray([True]))
    assert candidates.fused(found._replace(matches=asking)) == pytest.approx([1.6]), "a question rarely answers"


def test_copies_take_one_place() -> None:
    found = evidence(5, cosines=[0.9, 0.8, 0.8, 0.7, 0.1])
    prints = {1: b"a", 2: b"a", 3: b"b", 4: b"c", 5: b""}
    scores = np.asarray([0.9, 0.9, 0.8, 0.7, 0.1])
    assert candidates.pool(found, scores, prints.__getitem__, 2) == [0, 2], "the older one of equal memories"
    assert candidates.pool(found, scores, prints.__getitem__, 9) == [0, 2, 3], "the last was removed meanwhile"


def test_nearness_in_time() -> None:
    day_ms = 86_400_000
    ids = np.arange(1, 5)
    times = np.asarray([100, 112, 90, 400]) * day_ms
    nothing = KeywordIndex().search("", ids.tolist())
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {}, [Period(100, 105, "")], asks_when=False)
    # In the period; 7 days after it; 10 days before it; long after it.
    assert found.nearness == pytest.approx([1.0, np.exp(-1), np.exp(-10 / 7), 0.0], abs=1e-6)
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {2: 1.0}, [], asks_when=False)
    assert np.isnan(found.nearness).all()
    assert found.topics.tolist() == [0, 1, 0, 0]
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {2: 1.0, 9: 1.0}, [], asks_when=False)
    assert found.topics.tolist() == [0, 1, 0, 0], "the last was stored meanwhile"
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {2: 0.1}, [], asks_when=False)
    assert found.topics.tolist() == [0, 0.1, 0, 0], "a suggested topic counts less than one that somebody gave"


@pytest.mark.parametrize(
    ("number", "floor"), [(1, 0.0), (10, 0.38), (100, 0.76), (500, 1.0256), (1000, 1.14), (100_000, 1.15)]
)
def test_of_many_memories_the_best_must_be_better(number: int, floor: float) -> None:
    assert candidates.floor(number, has_vector=True) == pytest.approx(floor, abs=1e-4)
    assert candidates.floor(number, has_vector=False) == 0.35


def test_strength() -> None:
    found = evidence(3, cosines=[0.5, -0.2, np.nan], coverage=[0.25, 1.0, 0.5])
    assert found.strength() == pytest.approx([1.25, 1.0, 0.5])
