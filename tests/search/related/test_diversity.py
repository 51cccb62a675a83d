"""Maximal marginal relevance: the most relevant document first, and no copies next to each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnod.search.related.related_documents import diverse

Vector = NDArray[np.float32]
UNIT = st.integers(0, 100).map(lambda number: number / 100)


def at(degrees: float) -> Vector:
    return np.asarray([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], np.float32)


def order(relevance: list[float], vectors: Sequence[Vector | None], limit: int) -> list[int]:
    return [number for number, _ in diverse(relevance, vectors, limit)]


@given(st.lists(st.tuples(UNIT, st.none() | st.floats(0, 360)), max_size=12), st.integers(0, 15))
def test_an_order_of_the_most_relevant(documents: list[tuple[float, float | None]], limit: int) -> None:
    relevance = [worth for worth, _ in documents]
    vectors = [None if angle is None else at(angle) for _, angle in documents]
    found = order(relevance, vectors, limit)
    assert len(found) == len(set(found)) == min(limit, len(documents))
    assert not found or relevance[found[0]] == max(relevance)
    assert found == order(relevance, vectors, len(documents))[: len(found)]


@given(st.lists(UNIT, max_size=12))
def test_documents_that_have_nothing_in_common_stay_by_relevance(relevance: list[float]) -> None:
    vectors: list[Vector | None] = list(np.eye(len(relevance), dtype=np.float32)) if relevance else []
    assert order(relevance, vectors, 12) == sorted(range(len(relevance)), key=lambda each: (-relevance[each], each))
    assert order(relevance, [None] * len(relevance), 12) == order(relevance, vectors, 12)


def test_copies_do_not_fill_the_list() -> None:
    one, *others = list(np.eye(4, dtype=np.float32))
    relevance = [0.9 - number / 1000 for number in range(10)] + [0.6, 0.55, 0.5]
    assert order(relevance, [one] * 10 + others, 5) == [0, 10, 11, 12, 1]
    assert order([0.9, 0.8, 0.5], [at(0), at(2), at(50)], 3) == [0, 2, 1]


@given(st.lists(st.tuples(UNIT, st.none() | st.floats(0, 360)), max_size=12), st.none() | st.floats(0, 360))
def test_scores_descend_from_the_highest_relevance(
    documents: list[tuple[float, float | None]], asked: float | None
) -> None:
    vectors = [None if angle is None else at(angle) for _, angle in documents]
    of_asked = None if asked is None else at(asked)
    found = diverse([worth for worth, _ in documents], vectors, 12, of_asked)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert not scores or scores[0] == max(worth for worth, _ in documents)
    assert all(0 <= score <= worth for (worth, _), score in ((documents[number], score) for number, score in found))


def test_a_document_nearer_to_the_requested_one_than_to_a_hit_is_no_repetition() -> None:
    relevance, vectors = [0.9, 0.8, 0.7], [at(10), at(-10), at(14)]
    assert [number for number, _ in diverse(relevance, vectors, 3, at(0))] == [0, 1, 2]
    scores = [score for _, score in diverse(relevance, vectors, 3, at(0))]
    assert scores[:2] == [0.9, 0.8]
    assert scores[2] < 0.35, "4 degrees from a hit, 14 degrees from the document"
