"""The work for models that are fast, slow, or too slow; and embedding that starts before the final texts are known."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.errors import NotEmbedded
from gnod.search.hybrid.budget import Backoff, RerankPlan, ThroughputEstimate, ahead
from gnod.search.meaning.vector_search import QueryVectors

FIRST = 4000.0


def measured(characters_per_s: float = FIRST, window: int = 5400) -> ThroughputEstimate:
    estimate = ThroughputEstimate()
    estimate.begin(characters_per_s, window)
    return estimate


class TestPace:
    def test_everything_is_read_if_there_is_time(self) -> None:
        assert measured().plan(20, "q" * 40, 1000.0) == RerankPlan(20, 5360)

    def test_shorter_passages_first_then_fewer_documents(self) -> None:
        pace = measured()
        plans = [plan for n in range(1000, 0, -1) if (plan := pace.plan(20, "query", n / 20))]
        assert plans == sorted(plans, reverse=True)
        assert {plan.documents for plan in plans if plan.characters > 400} == {20}
        assert {plan.characters for plan in plans if plan.documents < 20} == {400}
        assert plans[-1].documents == 3

    @given(st.integers(2, 100), st.integers(0, 500), st.integers(600, 8000), st.floats(0.01, 60))
    def test_what_is_planned_can_be_read_in_time(self, documents: int, query: int, window: int, limit_s: float) -> None:
        pace = measured(window=window)
        plan = pace.plan(documents, "q" * query, limit_s)
        if plan:
            assert min(3, documents) <= plan.documents <= documents
            assert plan.characters + query <= window
            assert plan.documents * (plan.characters + query) <= pace.characters_per_s * limit_s

    @pytest.mark.parametrize("limit_s", [-1.0, 0.0, 0.2])
    def test_too_little_time(self, limit_s: float) -> None:
        assert measured().plan(20, "query", limit_s) is None

    def test_two_documents_are_enough(self) -> None:
        assert measured().plan(2, "query", 100.0) == RerankPlan(2, 5395)
        assert measured().plan(2, "query", 0.1) is None

    def test_a_query_as_long_as_the_window_leaves_no_room(self) -> None:
        assert measured().plan(20, "q" * 5400, 100.0) is None

    def test_it_learns(self) -> None:
        pace = measured()
        before = pace.characters_per_s
        pace.learn(0, 0.0)
        pace.learn(1000, 0.0)
        assert pace.characters_per_s == before
        pace.learn(50_000, 1.0)
        assert before < pace.characters_per_s < 50_000
        for _ in range(40):
            pace.learn(500, 1.0)
        assert pace.characters_per_s == pytest.approx(500, rel=0.02)
        assert pace.plan(20, "query", 2.0) is None

    def test_a_reranker_that_was_too_slow_is_tried_again(self) -> None:
        pace = measured()
        for _ in range(20):
            pace.learn(100, 1.0)
        refused = 0
        while pace.plan(20, "query", 2.0) is None:
            refused += 1
            assert refused < 100
        assert refused > 1

    def test_a_rerank_without_results_in_time_lowers_the_estimate(self) -> None:
        pace = measured()
        before = pace.characters_per_s
        pace.learn(0, 2.0)
        assert pace.characters_per_s < before


class TestPatience:
    def test_the_backoff_of_a_slow_model_grows(self) -> None:
        patience = Backoff()
        skipped = []
        for _ in range(9):
            patience.learn(1.0, in_time=False)
            count = 0
            while patience.skips(1.0):
                count += 1
            skipped.append(count)
        assert skipped == [1, 2, 4, 8, 16, 32, 64, 64, 64]

    def test_one_answer_in_time_resets_the_backoff(self) -> None:
        patience = Backoff()
        patience.learn(1.0, in_time=False)
        patience.learn(1.0, in_time=False)
        patience.learn(1.0, in_time=True)
        assert not patience.skips(1.0)
        patience.learn(1.0, in_time=False)
        assert [patience.skips(1.0), patience.skips(1.0)] == [True, False]

    def test_a_query_with_much_more_time_is_not_skipped(self) -> None:
        patience = Backoff()
        patience.learn(1.0, in_time=False)
        assert not patience.skips(5.0)
        assert patience.skips(1.2)


class Embedding:
    """Records the texts that it embeds. It computes until `may_end` is set."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []
        self.cancelled: list[list[str]] = []
        self.may_end = asyncio.Event()

    async def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        texts = [*queries, *passages]
        self.started.append(texts)
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.cancelled.append(texts)
            raise
        if "bad" in texts:
            raise NotEmbedded("no vectors")
        return QueryVectors({"m": np.full((len(texts), 1), len(texts[0]), np.float32)}, {})


async def test_texts_are_sent_immediately_and_embedded_once() -> None:
    embed = Embedding()
    async with ahead(embed, ["renew"], ["a passage"]) as vectors:
        assert embed.started == [["renew", "a passage"]]
        embed.may_end.set()
        assert (await vectors(("renew",), ("a passage",))).rows["m"].tolist() == [[5], [5]]
    assert len(embed.started) == 1


async def test_other_texts_are_embedded_if_requested() -> None:
    embed = Embedding()
    async with ahead(embed, ["certifcate"], []) as vectors:
        asked = asyncio.ensure_future(vectors(["certificate"], []))
        await asyncio.sleep(0)
        embed.may_end.set()
        assert (await asked).rows["m"].tolist() == [[11]]
    assert embed.started == [["certifcate"], ["certificate"]]


async def test_unused_embedding_is_cancelled() -> None:
    embed = Embedding()
    async with ahead(embed, [], []):
        assert embed.started == []
    async with ahead(embed, ["renew"], []):
        pass
    await asyncio.sleep(0)
    assert embed.cancelled == [["renew"]]
    # A caller that did not wait to the end requests them again, as for variants.
    async with ahead(embed, ["renew"], []) as vectors:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(vectors(["renew"], []), 0.001)
        embed.may_end.set()
        assert (await vectors(["renew"], [])).rows["m"].tolist() == [[5]]


async def test_an_error_is_raised_where_the_vectors_are_wanted() -> None:
    embed = Embedding()
    embed.may_end.set()
    async with ahead(embed, ["bad"], []) as vectors:
        with pytest.raises(NotEmbedded):
            await vectors(["bad"], [])
    async with ahead(embed, ["bad"], []):
        await asyncio.sleep(0)  # fails, and no caller waits for it
