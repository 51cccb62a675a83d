"""From what was found to the pool: sizes, copies, and the floor below which nothing is stored."""

from __future__ import annotations

import numpy as np
import pytest

from gnod.memory.recalling import candidates
from gnod.memory.recalling.candidates import MemorySignals
from gnod.memory.recalling.keyword_index import KeywordIndex
from gnod.memory.recalling.ranking import DEEP_SEARCH, FEW, SEARCH
from gnod.memory.recalling.time_expressions import Period


def evidence(count: int, **columns: list[float]) -> MemorySignals:
    zeros = np.zeros(count)
    columns.setdefault("meanings", columns.get("cosines", [0.0] * count))
    values = {name: np.asarray(columns.get(name, zeros), float) for name in MemorySignals._fields[1:]}
    return MemorySignals(np.arange(1, count + 1), **values)


def test_sizes() -> None:
    assert (SEARCH.pool, SEARCH.results, SEARCH.whole, SEARCH.keywords) == (64, 32, 3, 0)
    assert (DEEP_SEARCH.pool, DEEP_SEARCH.results, DEEP_SEARCH.whole, DEEP_SEARCH.keywords) == (256, 100, 5, 2)
    assert (SEARCH.always_reranks, DEEP_SEARCH.always_reranks, FEW) == (False, True, 5)


def test_vectors_and_keywords_have_equal_parts() -> None:
    found = evidence(3, cosines=[0.6, 0.1, 0.35], keywords=[0.0, 8.0, 4.0])
    # Scaled to 1, 0, 0.5 and 0, 1, 0.5.
    assert candidates.fused(found) == pytest.approx([0.5, 0.5, 0.5])
    found = evidence(2, cosines=[0.6, 0.1])
    assert candidates.fused(found) == pytest.approx([1.0, 0.0]), "no keyword occurs: vectors alone"
    nothing = [np.nan, np.nan]
    assert candidates.fused(evidence(2, cosines=nothing, keywords=[2.0, 1.0])) == pytest.approx([1.0, 0.5])


def test_without_a_vector_keywords_count_for_both() -> None:
    found = evidence(3, cosines=[0.6, 0.1, np.nan], keywords=[4.0, 0.0, 4.0])
    assert candidates.fused(found) == pytest.approx([1.0, 0.0, 1.0])


def test_what_nothing_found_has_no_score() -> None:
    found = evidence(2, cosines=[np.nan, np.nan], keywords=[1.0, 0.0], named=[1.0, 1.0])
    assert candidates.fused(found) == pytest.approx([1.1, -1.0]), "a speaker alone finds nothing"


def test_names_times_and_topics_are_added() -> None:
    found = evidence(1, cosines=[0.5], keywords=[1.0], topics=[1.0], named=[1.0], nearness=[1.0], states_time=[1.0])
    # 1 + 0.3 + 0.1 + 0.2 + 0.1
    assert candidates.fused(found) == pytest.approx([1.7])
    assert candidates.fused(found._replace(asks=np.ones(1))) == pytest.approx([1.6]), "a question rarely answers"


def test_copies_take_one_place() -> None:
    found = evidence(5, cosines=[0.9, 0.8, 0.8, 0.7, 0.1])
    prints = {1: b"a", 2: b"a", 3: b"b", 4: b"c", 5: b""}
    scores = np.asarray([0.9, 0.9, 0.8, 0.7, 0.1])
    assert candidates.pool(found, scores, prints.__getitem__, 2) == [0, 2], "of equal ones the older"
    assert candidates.pool(found, scores, prints.__getitem__, 9) == [0, 2, 3], "the last was removed meanwhile"


def test_nearness_in_time() -> None:
    day_ms = 86_400_000
    ids = np.arange(1, 5)
    times = np.asarray([100, 112, 90, 400]) * day_ms
    nothing = KeywordIndex().search("")
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {}, [Period(100, 105, "")], asks_when=False)
    # In the period; 7 days after it; 10 before it; long after it.
    assert found.nearness == pytest.approx([1.0, np.exp(-1), np.exp(-10 / 7), 0.0], abs=1e-6)
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {2: 1.0}, [], asks_when=False)
    assert np.isnan(found.nearness).all()
    assert found.topics.tolist() == [0, 1, 0, 0]
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {2: 1.0, 9: 1.0}, [], asks_when=False)
    assert found.topics.tolist() == [0, 1, 0, 0], "the last was stored meanwhile"
    found = candidates.evidence(ids, times, np.zeros(4), nothing, {2: 0.1}, [], asks_when=False)
    assert found.topics.tolist() == [0, 0.1, 0, 0], "a suggested topic alone is not one that somebody gave"


@pytest.mark.parametrize(
    ("number", "floor"), [(1, 0.0), (10, 0.38), (100, 0.76), (500, 1.0256), (1000, 1.14), (100_000, 1.15)]
)
def test_of_many_memories_the_best_must_be_better(number: int, floor: float) -> None:
    assert candidates.floor(number, has_vector=True) == pytest.approx(floor, abs=1e-4)
    assert candidates.floor(number, has_vector=False) == 0.35


def test_strength() -> None:
    found = evidence(3, cosines=[0.5, -0.2, np.nan], coverage=[0.25, 1.0, 0.5])
    assert found.strength() == pytest.approx([1.25, 1.0, 0.5])
