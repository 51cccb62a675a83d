"""Fusion: both methods against their formulas, and properties that hold for any lists."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.query.parsing import HYDE, ORIGINAL, VARIANT
from gnod.search.ranking.fusion import METHODS, Fusion, Retriever, RetrieverResults, fuse
from gnod.types import FUSION_METHODS, FusionMethod

KINDS: tuple[Retriever, ...] = ("lexical", "vector")


scores_of = st.dictionaries(st.integers(1, 12), st.floats(0, 50), max_size=12)


@st.composite
def evidence(draw: st.DrawFn, kind: Retriever | None = None) -> RetrieverResults:
    """Return possible results of a retriever: best first, with documents at the end that it only scored on request."""
    scores = draw(scores_of)
    ordered = dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
    return RetrieverResults(
        draw(st.sampled_from(KINDS if kind is None else (kind,))),
        draw(st.sampled_from((ORIGINAL, VARIANT, HYDE))),
        ordered,
        draw(st.integers(min(1, len(ordered)), len(ordered))),
        draw(st.none() | st.floats(-2, 40)),
    )


lists = st.lists(evidence(), max_size=5)


def fused(*given_: RetrieverResults, method: FusionMethod = "convex") -> Fusion:
    return fuse(method, given_, str)


def ids(found: Fusion) -> list[int]:
    return [each.id for each in found.ranked]


def lexical(scores: Mapping[int, float], peak: float | None = 6.0, weight: float = ORIGINAL) -> RetrieverResults:
    return RetrieverResults("lexical", weight, scores, len(scores), peak)


def vector(scores: Mapping[int, float], peak: float | None = 4.0, weight: float = ORIGINAL) -> RetrieverResults:
    return RetrieverResults("vector", weight, scores, len(scores), peak)


@pytest.mark.parametrize("method", METHODS)
@given(given_=lists)
def test_scores_are_in_range_the_best_is_1_and_order_is_by_score(
    method: FusionMethod, given_: list[RetrieverResults]
) -> None:
    found = fuse(method, given_, lambda id_: id_)
    scores = [each.score for each in found.ranked]
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(set(ids(found))) == len(found.ranked)
    if any(each.scores for each in given_):
        assert scores[0] == 1.0
    else:
        assert found == Fusion([], None)
    assert found.vector_share is None or 0.0 <= found.vector_share <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(given_=lists, chance=st.randoms(use_true_random=False))
def test_the_order_of_the_lists_does_not_matter(
    method: FusionMethod, given_: list[RetrieverResults], chance: random.Random
) -> None:
    shuffled = list(given_)
    chance.shuffle(shuffled)
    first, second = (fuse(method, each, lambda id_: id_) for each in (given_, shuffled))
    scores = {each.id: each.score for each in first.ranked}
    assert {each.id: each.score for each in second.ranked} == pytest.approx(scores, abs=1e-9)
    for a, b in zip(first.ranked, second.ranked, strict=True):
        assert a.id == b.id or a.score == pytest.approx(b.score, abs=1e-9)


def by_formula(given_: list[RetrieverResults]) -> dict[int, float]:
    """Return the RRF score: Σ w/(60+rank), +0.05 for the first and +0.02 for the second and third."""
    parts: dict[int, list[float]] = {}
    for each in given_:
        for rank, id_ in enumerate(list(each.scores)[: each.found], 1):
            parts.setdefault(id_, []).append(each.weight / (60 + rank))
    scores = {id_: sum(found) for id_, found in parts.items()}
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    for place, id_ in enumerate(order[:3]):
        scores[id_] += 0.05 if place == 0 else 0.02
    return scores


@given(lists)
def test_rrf_is_its_formula(given_: list[RetrieverResults]) -> None:
    found = fuse("rrf", given_, lambda id_: id_)
    expected = by_formula(given_)
    assert {each.id for each in found.ranked} == expected.keys()
    for each in found.ranked:
        assert each.score == pytest.approx(expected[each.id] / max(expected.values()))
        assert sum(each.components.values()) == pytest.approx(expected[each.id])


def test_ties_go_by_docid() -> None:
    docids = {1: "c", 2: "a", 3: "b"}
    found = fuse("rrf", [lexical({1: 1.0}), vector({2: 1.0}), lexical({3: 1.0})], docids.__getitem__)
    assert ids(found) == [2, 3, 1], "the bonus too"
    found = fuse("convex", [lexical({1: 1.0, 2: 1.0, 3: 1.0})], docids.__getitem__)
    assert ids(found) == [2, 3, 1]


def test_rrf_does_not_rank_what_was_only_asked_about() -> None:
    found = fused(RetrieverResults("lexical", ORIGINAL, {1: 5.0, 2: 0.0}, 1, 3.0), vector({2: 0.9}), method="rrf")
    assert ids(found) == [1, 2]
    assert "lexical" not in next(each.components for each in found.ranked if each.id == 2)


@given(
    st.dictionaries(st.integers(1, 9), st.floats(0, 40), min_size=2, max_size=9),
    st.data(),
    st.floats(0.1, 30),
    st.floats(0.1, 30),
)
def test_the_convex_combination_is_its_formula(
    words: dict[int, float], data: st.DataObject, lexical_peak: float, vector_peak: float
) -> None:
    meanings = {id_: data.draw(st.floats(0, 1)) for id_ in words}
    order = sorted(words)
    found = fused(lexical(ranked(words), lexical_peak), vector(ranked(meanings), vector_peak))

    def scaled(values: dict[int, float]) -> np.ndarray:
        row = np.array([values[id_] for id_ in order])
        spread = row.max() - row.min()
        return (row - row.min()) / spread if spread else np.ones(len(row))

    share = vector_peak**2 / (vector_peak**2 + lexical_peak**2)
    combined = share * scaled(meanings) + (1 - share) * scaled(words)
    expected = dict(zip(order, combined / combined.max(), strict=True))
    assert found.vector_share == pytest.approx(share)
    assert {each.id: each.score for each in found.ranked} == pytest.approx(expected)


def ranked(scores: dict[int, float]) -> dict[int, float]:
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def test_variants_share_the_weight_of_their_kind() -> None:
    found = fused(
        lexical({1: 2.0, 2: 0.0}, 3.0), lexical({2: 7.0, 1: 1.0}, None, VARIANT), vector({1: 0.9, 2: 0.1}, 0.0)
    )
    assert ids(found) == [1, 2]
    assert [each.components["lexical"] for each in found.ranked] == pytest.approx([2 / 3, 1 / 3])


class TestVectorShare:
    WORDS = lexical({1: 9.0, 2: 6.0, 3: 0.0}, 5.0)

    def share(self, peak: float | None, scores: Mapping[int, float] | None = None) -> float:
        found = fused(self.WORDS, vector(scores or {3: 0.9, 2: 0.7, 1: 0.5}, peak))
        assert found.vector_share is not None
        return found.vector_share

    @pytest.mark.parametrize("peak", [0.0, -1.5])
    def test_is_zero_if_nothing_stands_out(self, peak: float) -> None:
        assert self.share(peak) == 0.0

    def test_falls_with_documents_without_vectors(self) -> None:
        shares = [self.share(5.0, dict.fromkeys(range(3, 3 - n, -1), 0.5)) for n in (3, 2, 1)]
        assert shares == pytest.approx([1 / 2, 1 / 3, 1 / 6])
        assert self.share(5.0, {77: 0.9}) == 0.0

    def test_without_confidence_both_retrievers_count_half(self) -> None:
        assert fused(lexical({1: 1.0}, 0.0), vector({1: 0.5}, 0.0)).vector_share == 0.5
        assert fused(lexical({1: 1.0}, 1e-237), vector({1: 0.5}, 0.0)).vector_share == 0.5  # its square is 0
        assert fused(lexical({1: 1.0}, None), vector({1: 0.5}, None)).vector_share == 0.5

    def test_more_vectors_than_fit_into_memory_still_count(self) -> None:
        assert self.share(None) == 0.5, "the spread is unknown in a search on disk"

    def test_variants_do_not_count(self) -> None:
        with_variant = fused(self.WORDS, vector({1: 0.5}, 5.0), lexical({1: 3.0}, None, VARIANT)).vector_share
        assert with_variant == fused(self.WORDS, vector({1: 0.5}, 5.0)).vector_share


@pytest.mark.parametrize("method", METHODS)
@given(scores=scores_of.filter(bool))
def test_a_single_retriever_keeps_its_order(method: FusionMethod, scores: dict[int, float]) -> None:
    for side in (lexical(ranked(scores)), vector(ranked(scores))):
        found = fuse(method, [side], lambda id_: id_)
        if method == "rrf":
            assert ids(found) == list(side.scores)
        else:
            assert found.vector_share == float(side.retriever == "vector")
            given_ = [scores[id_] for id_ in ids(found)]
            assert all(a >= b or math.isclose(a, b, abs_tol=1e-9) for a, b in pairwise(given_))


@pytest.mark.parametrize("method", METHODS)
def test_a_retriever_without_results_is_left_out(method: FusionMethod) -> None:
    words = lexical({1: 3.0, 2: 1.0})
    assert fused(words, vector({}), method=method) == fused(words, method=method)
    assert fused(method=method) == Fusion([], None)


@pytest.mark.parametrize("method", METHODS)
@given(words=evidence("lexical"), meanings=evidence("vector"), best=st.integers(1, 12))
def test_a_document_that_is_first_in_both_lists_is_first(
    method: FusionMethod, words: RetrieverResults, meanings: RetrieverResults, best: int
) -> None:
    both = [
        each._replace(scores={best: 60.0, **{i: s for i, s in each.scores.items() if i != best}}, found=each.found or 1)
        for each in (words, meanings)
    ]
    assert ids(fuse(method, both, lambda id_: id_))[0] == best


def test_every_method_has_a_function() -> None:
    """The wire, the command line and bench read the names too, so they also offer every method."""
    assert tuple(METHODS) == FUSION_METHODS
