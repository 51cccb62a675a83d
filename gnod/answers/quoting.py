"""Find quotes in the result of a search: collect sentences, embed the best, and let a cross-encoder read them.

This takes a fraction of a second: a model that is missing, fails or takes too long is skipped.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gnod.answers import quotes
from gnod.answers.confidence import Confidence, assess
from gnod.answers.nearness import EmbeddedQuestion, Floats
from gnod.answers.quotes import Collected, ScoredQuote, ScoredUnit
from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.run.roles import Reranker
from gnod.search.hybrid.budget import MARGIN_S, RerankPlan, Stage, StageSkipped, ThroughputEstimate, TimeBudget
from gnod.search.hybrid.reranking import rerank_within_budget
from gnod.search.hybrid.stages import HybridResult
from gnod.store.connection import Read
from gnod.types import UnavailableModel

# The time for both models together. On two cores, embedding the sentences takes a tenth of it.
LIMIT_S = 0.5

EmbedSentences = Callable[[str, Sequence[EmbeddingText]], Awaitable[Floats]]
"""Embeds sentences with the model at this address. Raises GnoError."""


class QuoteDependencies(NamedTuple):
    """`read`: the read function of the search. `nonsense`: as in `EmbeddedQuestion`, for each model that embedded the
    question."""

    read: Read
    embed: EmbedSentences
    nonsense: Mapping[str, Floats]
    reranker: Reranker | UnavailableModel
    throughput: ThroughputEstimate


class Quoted(NamedTuple):
    """`quotes`: best first. `confidence`: the confidence that they answer the question."""

    quotes: list[ScoredQuote]
    confidence: Confidence
    stages: list[Stage]


class ScoredUnits(NamedTuple):
    """`units`: best first."""

    units: Sequence[ScoredUnit]
    collected: Collected
    stages: list[Stage]


async def quote(
    dependencies: QuoteDependencies, question: str, found: HybridResult, *, limit_s: float = LIMIT_S
) -> Quoted:
    """Return the sentences of the found documents that answer the question. `limit_s`: the time for the models."""
    scored = await score(dependencies, question, found, limit_s=limit_s)
    return Quoted(
        quotes.choose(scored.units, scored.collected.texts),
        assess(scored.units, scored.collected.words.total),
        scored.stages,
    )


async def score(
    dependencies: QuoteDependencies,
    question: str,
    found: HybridResult,
    *,
    limit_s: float = LIMIT_S,
    documents: int = quotes.DOCUMENTS,
    preselected: int = quotes.PRESELECTED,
) -> ScoredUnits:
    """Return the units of the first documents that are most probably an answer. Models read only the best of them."""
    budget = TimeBudget(limit_s)
    started = time.perf_counter()
    vectors = found.vectors.row(0) if found.vectors else {}
    served = found.vectors.served if found.vectors else {}
    asked = EmbeddedQuestion(question, vectors, served, dependencies.nonsense)
    work = partial(
        quotes.collect,
        question=asked,
        scores={ranked.id: ranked.score for ranked in found.ranked},
        read=documents,
        preselected=preselected,
    )
    collected = await dependencies.read(work)
    budget.note("sentences", started, {"sentences": collected.units, "preselected": len(collected.candidates)})
    scored = quotes.rank(collected, await _cosines(dependencies, asked, collected, budget))
    units = await _reranked(dependencies, question, scored, budget)
    return ScoredUnits(units, collected, budget.stages)


async def _cosines(
    dependencies: QuoteDependencies, question: EmbeddedQuestion, collected: Collected, budget: TimeBudget
) -> list[float | None]:
    started = time.perf_counter()
    cosines: list[float | None] = [None] * len(collected.candidates)
    why = None
    for uri, vector in question.vectors.items():
        places = [n for n, candidate in enumerate(collected.candidates[: quotes.PRESELECTED]) if candidate.uri == uri]
        try:
            texts = [collected.candidates[n].embedding_text for n in places]
            if not texts:
                continue
            rows = await budget.within("the embedding model", dependencies.embed(uri, texts))
        except StageSkipped as skipped:
            why = str(skipped)
            continue
        for n, row in zip(places, rows, strict=True):
            cosines[n] = float(row @ vector)
    if question.vectors:
        budget.note("embed sentences", started, {}, why=why, ran=any(cosine is not None for cosine in cosines))
    return cosines


async def _reranked(
    dependencies: QuoteDependencies, question: str, scored: Sequence[ScoredUnit], budget: TimeBudget
) -> Sequence[ScoredUnit]:
    started = time.perf_counter()
    reranker = dependencies.reranker
    if isinstance(reranker, UnavailableModel) or len(scored) < 2:
        return scored
    shown = [f"{unit.candidate.context}\n{unit.candidate.text}" for unit in scored[: quotes.PRESELECTED]]

    async def texts(plan: RerankPlan) -> list[str]:
        return shown[: plan.documents]

    try:
        work = rerank_within_budget(
            reranker, dependencies.throughput, question, len(shown), texts, limit_s=budget.left_s(), noun="sentences"
        )
        done = await budget.within("the reranker", work, budget.left_s() + MARGIN_S)
    except StageSkipped as skipped:
        budget.note("rerank sentences", started, {}, why=str(skipped), ran=False)
        return scored
    budget.note("rerank sentences", started, {"model": reranker.uri}, why=done.reason, ran=bool(done.scores))
    return quotes.reranked(scored, done.scores)
