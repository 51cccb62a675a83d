"""Rerank the best candidates with a cross-encoder: choose the texts that it reads, limit the time, and blend its
scores.

The model judges the meaning of a text. It may rank down the text that has the exact name in the query: to the model,
`E4711` is like any other code. So a text with the words of the query as written keeps a minimum score.

If the time runs out, only the first candidates have been read. They are reordered, and the others stay behind them in
their order. So a timeout never makes the order worse.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from gnod.analysis.stopwords import function_words
from gnod.analysis.terms import Analyzer, is_unspaced, simplified
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
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import TermVariant, joined_ranges
from gnod.search.passages.best_passage import best_span
from gnod.search.query.parsing import Clause, ParsedQuery
from gnod.search.ranking.fusion import Fusion, with_least
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection, Read
from gnod.store.tables import documents

CANDIDATES = 20
# Pairs of a rank and the share of the fused score up to this rank. The share is larger at the first ranks, because the
# retrievers agree there.
SHARES = ((3, 0.75), (10, 0.60))
SHARE_BELOW = 0.40
# The minimum score of a text that contains all words of the query as written.
FLOOR = 0.30
# C must not match C++ or C#.
_SUFFIX = re.compile(r"\+\+|#(?!\w)")
_UNREAD: dict[str, float] = {}


class Reranked(NamedTuple):
    """`scores`: of the first candidates, in their order, in [0, 1]. `plan`: the planned reading; None if there is no
    time. `reason`: why some or all scores are missing."""

    scores: list[float]
    tokens: int
    plan: RerankPlan | None
    reason: str | None


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
    """Score as many of `count` texts as the time allows. `texts` returns the first texts for a plan. `noun` names them
    in the reason. Raises the errors of `Reranker.score`."""
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
    """Reorder the first candidates by the reranker's scores. The other documents follow in their order. If nothing was
    read, the order does not change, and the budget notes why. `floor`: a text with the query's own words keeps a
    minimum score."""
    started = time.perf_counter()
    first, matched = fusion.ranked[:candidates], list[float]()

    async def load(plan: RerankPlan) -> list[str]:
        chosen = first[: plan.documents]
        texts = await read(lambda connection: _texts(connection, query, chosen, plan.characters))
        matched.extend(fraction for _, fraction in texts)
        return [shown for shown, _ in texts]

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
    return _reordered(fusion, done.scores, matched, floor=floor)


def _reordered(fusion: Fusion, scores: Sequence[float], matched: Sequence[float], *, floor: bool) -> Fusion:
    if not scores:
        return fusion
    added = [
        {"rerank": score, "matched": fraction, "floor": FLOOR * fraction * floor}
        for score, fraction in zip(scores, matched, strict=False)
    ]
    blended = blend(
        [each.score for each in fusion.ranked], [max(each["rerank"], each["floor"]) for each in added], fusion.least
    )
    behind = len(blended) - len(added)
    ranked = [
        each._replace(score=score, components={**each.components, **more})
        for each, score, more in zip(fusion.ranked, blended, [*added, *[_UNREAD] * behind], strict=True)
    ]
    # The sort is stable: equal scores keep the fused order.
    return fusion._replace(ranked=sorted(ranked, key=lambda each: -each.score), least=0.0)


def blend(fused: Sequence[float], reranked: Sequence[float], least: float = 0.0) -> list[float]:
    """Return a score for each document, in the order given: best fused score first, all in [0, 1].

    `reranked`: the scores of the first documents. Their share grows with the rank. The other documents stay behind
    them. `least`: as in `Fusion`.

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
    """Return the text if it has at most `room` characters. Otherwise return its passages for the query: around `span`,
    its best part by vector, and around the best place of the words. Uses whole lines if possible."""
    if len(text) <= room:
        return text
    places = [place for place in (span, best_span(text, query_terms, analyzers)) if place] or [(0, 0)]
    if len(places) == 2 and places[0][0] <= places[1][0] and places[1][1] <= min(places[0][1], places[0][0] + room):
        places.pop()
    each = room // len(places)
    ranges = joined_ranges(_widened(text, *place, each) for place in places)
    return "\n…\n".join(text[start:end].strip() for start, end in ranges)


def _texts(
    connection: Connection, query: ParsedQuery, chosen: Sequence[RankedDocument], room: int
) -> list[tuple[str, float]]:
    """Return for each document the text that the reranker reads, and the fraction of the query's words in the whole
    text."""
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
        texts.append((head + body, matched_fraction(f"{title}\n{text}", exact)))
    return texts


def _share(rank: int) -> float:
    return next((share for last, share in SHARES if rank <= last), SHARE_BELOW)


def _widened(text: str, start: int, end: int, room: int) -> tuple[int, int]:
    """Return a range of `room` characters around a range, from the start of a line if one is near. A longer range is
    cut at its end."""
    end = min(end, start + room)
    low = max(0, min(start - (room - (end - start)) // 2, len(text) - room))
    line = text.find("\n", low, start) + 1 if low else 0
    low = line or low
    return low, min(len(text), low + room)


def exact_terms(clauses: Sequence[Clause], analyzers: Sequence[Analyzer]) -> list[str]:
    """Return the parts of a query that a text may have as written: its phrases, and its words without function words,
    folded, each once, without exclusions.

    >>> exact_terms([Clause("blue green", is_phrase=True), Clause("Node.js")], [Analyzer("en")])
    ['blue green', 'node.js']
    """
    clauses = [clause for clause in clauses if not clause.is_negated]
    units = [unit for clause in clauses if not clause.is_phrase for unit in analyzers[0].units(clause.text)]
    words = [word for unit in units for word in (unit.parts if unit.unspaced else (unit.surface,))]
    dropped = function_words(words, [analyzer.language for analyzer in analyzers])
    phrases = [clause.text for clause in clauses if clause.is_phrase]
    kept = [word for word in words if word.lower() not in dropped]
    return list(dict.fromkeys(_folded(text) for text in (*phrases, *kept)))


def matched_fraction(text: str, terms: Sequence[str]) -> float:
    """Return the share of the terms that occur in the text, in [0, 1]. Terms must be whole words ("how" is not in
    "show"), except in unspaced scripts. 0 without terms."""
    if not terms:
        return 0.0
    folded = _folded(text)
    return sum(_occurs(term, folded) for term in terms) / len(terms)


def _occurs(term: str, folded: str) -> bool:
    place = folded.find(term)
    while place >= 0:
        end = place + len(term)
        starts = place == 0 or not _continues(folded[place - 1], term[0])
        ends = end == len(folded) or not (_continues(folded[end], term[-1]) or _SUFFIX.match(folded, end))
        if starts and ends:
            return True
        place = folded.find(term, place + 1)
    return False


def _continues(neighbour: str, edge: str) -> bool:
    """Return whether a letter beside the edge of a term makes it part of a longer word. A combining mark does too, such
    as a Hindi vowel."""
    return _is_of_a_word(neighbour) and _is_of_a_word(edge) and not is_unspaced(edge)


def _is_of_a_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().translate(simplified()).split())
