"""A cross-encoder reads the best candidates: what it is shown, within which time, and what its scores change.

A reranking that runs out of time has read the first candidates. It orders those, and the others stay behind them in
their order: a timeout half way never makes an order worse.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from gnod.analysis.terms import Analyzer
from gnod.models.run.roles import Reranker
from gnod.search.hybrid.budget import (
    FRAME_CHARACTERS,
    MARGIN_S,
    MIN_DOCUMENTS,
    RerankPlan,
    StageSkipped,
    ThroughputEstimate,
    TimeBudget,
)
from gnod.search.hybrid.exact_match import exact_terms, matched_fraction
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import TermVariant
from gnod.search.passages.best_passage import best_span
from gnod.search.query.parsing import ParsedQuery
from gnod.search.ranking.fusion import Fusion, with_least
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection, Read
from gnod.store.tables import documents

CANDIDATES = 20
# The share of the fused score, up to this rank: the retrievers agree at the first ranks.
SHARES = ((3, 0.75), (10, 0.60))
SHARE_BELOW = 0.40
# The minimum score of a text that contains all words of the query as written.
FLOOR = 0.30
_UNREAD: dict[str, float] = {}


class Reranked(NamedTuple):
    """`scores` of the first candidates, in their order, in [0, 1]. `plan`: what should be read; None if nothing.
    `reason`: why some or all scores are missing."""

    scores: list[float]
    tokens: int
    plan: RerankPlan | None
    reason: str | None


class _RerankText(NamedTuple):
    """The part of a document that the reranker reads. `matched`: the fraction of the query's words in its whole
    text."""

    shown: str
    matched: float


async def rerank_within_budget(
    reranker: Reranker,
    throughput: ThroughputEstimate,
    query: str,
    count: int,
    texts: Callable[[RerankPlan], Awaitable[Sequence[str]]],
    *,
    limit_s: float,
    noun: str,
) -> Reranked:
    """Score as many of `count` texts as the time allows. `texts` returns the first ones, as planned; `noun` names them
    in the reason. Raises what `Reranker.score` raises."""
    started = time.monotonic()
    if not throughput.is_known and limit_s > 0:
        speed = await reranker.measure(limit_s=limit_s)
        if speed is None:
            return Reranked([], 0, None, "the reranking model is still loading; the next query will use it")
        throughput.begin(speed.characters_per_s, speed.window_characters)
        limit_s -= time.monotonic() - started
        started = time.monotonic()
    plan = throughput.plan(count, query, limit_s) if limit_s > 0 else None
    if plan is None:
        too_little = f"no time to rerank: {max(limit_s, 0):.1f} s is enough for fewer than {MIN_DOCUMENTS} {noun}"
        return Reranked([], 0, None, too_little)
    shown = await texts(plan)
    left_s = limit_s - (time.monotonic() - started)
    scores = await reranker.score(query, shown, limit_s=left_s)
    done = len(scores.values)
    characters = sum(len(text) + len(query) + FRAME_CHARACTERS for text in shown[:done])
    throughput.learn(characters, scores.took_s if done else left_s)
    reason = None if done == count else f"there was only time to rerank {done} of {count} {noun}"
    return Reranked(scores.values, scores.tokens, plan, reason)


async def rerank(
    read: Read,
    reranker: Reranker,
    throughput: ThroughputEstimate,
    query: ParsedQuery,
    fusion: Fusion,
    budget: TimeBudget,
    *,
    candidates: int,
    floor: bool,
) -> Fusion:
    """Return the documents in the order that the reranker's scores of the first candidates give. Documents behind them
    follow in their order, and all if nothing was read; the budget notes why. `floor`: a text with the query's own words
    keeps a minimum score."""
    started = time.monotonic()
    first, texts = fusion.ranked[:candidates], list[_RerankText]()

    async def load(plan: RerankPlan) -> list[str]:
        chosen = first[: plan.documents]
        texts.extend(await read(lambda connection: _texts(connection, query, chosen, plan.characters)))
        return [text.shown for text in texts]

    try:
        if len(first) < 2:
            raise StageSkipped("fewer than two documents")
        limit_s = budget.left_s()
        work = rerank_within_budget(
            reranker, throughput, query.question, len(first), load, limit_s=limit_s, noun="documents"
        )
        done = await budget.within("the reranker", work, limit_s + MARGIN_S)
    except StageSkipped as skipped:
        budget.note("rerank", started, {}, why=str(skipped), ran=False)
        return fusion
    details: dict[str, object] = {}
    if done.plan:
        given = {"documents": len(done.scores), "characters": done.plan.characters, "tokens": done.tokens}
        details = {"model": reranker.uri, **given, "floor": floor}
    budget.note("rerank", started, details, why=done.reason, ran=bool(done.scores))
    return _reordered(fusion, done.scores, texts, floor=floor)


def _reordered(fusion: Fusion, scores: Sequence[float], texts: Sequence[_RerankText], *, floor: bool) -> Fusion:
    if not scores:
        return fusion
    added = [
        {"rerank": score, "matched": text.matched, "floor": FLOOR * text.matched * floor}
        for score, text in zip(scores, texts, strict=False)
    ]
    blended = blend(
        [each.score for each in fusion.ranked], [max(each["rerank"], each["floor"]) for each in added], fusion.least
    )
    behind = len(blended) - len(added)
    ranked = [
        each._replace(score=score, components={**each.components, **more})
        for each, score, more in zip(fusion.ranked, blended, [*added, *[_UNREAD] * behind], strict=True)
    ]
    # The sort is stable: equals stay in the fused order.
    return fusion._replace(ranked=sorted(ranked, key=lambda each: -each.score), least=0.0)


def blend(fused: Sequence[float], reranked: Sequence[float], least: float = 0.0) -> list[float]:
    """Return a score for each document, in the order given: best fused score first, all in [0, 1].

    `reranked` has the scores of the first of them. Their share grows with the rank; documents behind them stay behind.
    `least`: as in `Fusion`.

    >>> [round(score, 3) for score in blend([1.0, 0.5, 0.4], [0.2, 0.9])]
    [0.8, 0.6, 0.48]
    """
    blended = [
        share * score + (1 - share) * rerank
        for rank, (score, rerank) in enumerate(zip(fused, reranked, strict=False), 1)
        for share in [_share(rank)]
    ]
    if not blended:
        return list(fused)
    lowest = min(blended)
    boundary = with_least(fused[len(blended) - 1], least) or 1.0
    return blended + [lowest * min(with_least(score, least) / boundary, 1.0) for score in fused[len(blended) :]]


def excerpt(
    text: str,
    room: int,
    *,
    span: tuple[int, int] | None,
    query_terms: Sequence[Sequence[TermVariant]],
    analyzers: Sequence[Analyzer],
) -> str:
    """Return the text if it has at most `room` characters, else its passages for the query: around `span`, its best
    part by vector, and around the best place of the words. Whole lines where possible."""
    if len(text) <= room:
        return text
    places = [place for place in (span, best_span(text, query_terms, analyzers)) if place] or [(0, 0)]
    if len(places) == 2 and places[0][0] <= places[1][0] and places[1][1] <= min(places[0][1], places[0][0] + room):
        places.pop()
    each = room // len(places)
    ranges = sorted(_widened(text, *place, each) for place in places)
    merged = [ranges[0]]
    for start, end in ranges[1:]:
        if start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return "\n…\n".join(text[start:end].strip() for start, end in merged)


def _texts(
    connection: Connection, query: ParsedQuery, chosen: Sequence[RankedDocument], room: int
) -> list[_RerankText]:
    analyzers = lexical.analyzers_of_index(connection)
    query_terms = lexical.query_terms(query.question_terms, analyzers)
    exact = exact_terms(query.exact, analyzers)
    known = documents.by_ids(connection, [each.id for each in chosen])
    texts = []
    for each in chosen:
        document = known.get(each.id)
        text = documents.markdown(connection, document.mirror_hash) if document else ""
        title = document.title if document else ""
        head = "" if text.lstrip("# ").startswith(title) else f"{title}\n"
        span = each.span and (each.span.start, each.span.end)
        body = excerpt(text, max(room - len(head), 1), span=span, query_terms=query_terms, analyzers=analyzers)
        texts.append(_RerankText(head + body, matched_fraction(f"{title}\n{text}", exact)))
    return texts


def _share(rank: int) -> float:
    return next((share for last, share in SHARES if rank <= last), SHARE_BELOW)


def _widened(text: str, start: int, end: int, room: int) -> tuple[int, int]:
    """Return `room` characters around a range, from the start of a line if one is near; of a longer range, its
    start."""
    end = min(end, start + room)
    low = max(0, min(start - (room - (end - start)) // 2, len(text) - room))
    line = text.find("\n", low, start) + 1 if low else 0
    low = line or low
    return low, min(len(text), low + room)
