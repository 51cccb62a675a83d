"""Let a cross-encoder look at the best documents: what it is shown, within which time, and what its scores change.

Constants: DESIGN §7. A reranking that runs out of time has seen the first of the
documents and not the others: it orders those it has seen among themselves, and the others stay behind them as they
were. So an order is never worse because of a time-out half way.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from gnod.analysis.terms import Analyzer
from gnod.models.reranker import Reranker
from gnod.pipeline import lexical
from gnod.pipeline.literal import literal_terms, matched_fraction
from gnod.pipeline.pace import FRAME_CHARACTERS, MIN_DOCUMENTS, Pace
from gnod.pipeline.passages import Spelling, best_span
from gnod.store import documents
from gnod.store.database import Connection, Read

CANDIDATES = 20
# The share of the fused score, up to this rank: the first ranks are where the retrievers agree.
_SHARES = ((3, 0.75), (10, 0.60))
_SHARE_BELOW = 0.40
# What a text keeps at least that has all of the query's terms as they are written.
FLOOR = 0.30


class Candidate(NamedTuple):
    """A document to be read again. `chunk`: the part of its text that is best by meaning."""

    document_id: int
    chunk: tuple[int, int] | None


class ReadAgain(NamedTuple):
    """`scores` of the first candidates, in their order, in [0, 1]; `components` what each is made of. `why` there are
    none, or not all."""

    scores: list[float]
    components: list[dict[str, float]]
    why: str | None
    details: dict[str, object]


class _Text(NamedTuple):
    """What the reranker is shown of a document; `matched`: the fraction of the query's terms in its whole text."""

    shown: str
    matched: float


async def read_again(
    read: Read,
    reranker: Reranker,
    pace: Pace,
    query: str,
    words: str,
    candidates: Sequence[Candidate],
    *,
    floor: bool,
    limit_s: float,
) -> ReadAgain:
    """Let the reranker score as many of the candidates as the time allows. `words`: the query as it was written, whose
    phrases count as one for the floor. Raises what `Reranker.score` raises."""
    if len(candidates) < 2:
        return ReadAgain([], [], "there is no order to change", {})
    started = time.monotonic()
    plan = pace.plan(len(candidates), query, reranker.window_characters, limit_s)
    if plan is None:
        return ReadAgain(
            [], [], f"no time: {max(limit_s, 0):.1f} s would do for less than {MIN_DOCUMENTS} documents", {}
        )
    chosen = candidates[: plan.documents]
    texts = await read(lambda connection: _texts(connection, query, words, chosen, plan.characters))
    left_s = limit_s - (time.monotonic() - started)
    scores = await reranker.score(query, [text.shown for text in texts], limit_s=left_s)
    done = texts[: len(scores.values)]
    characters = sum(len(text.shown) + len(query) + FRAME_CHARACTERS for text in done)
    pace.learn(characters, scores.took_s if done else left_s)
    raised = [FLOOR * text.matched * floor for text in done]
    components = [
        {"rerank": score, "matched": text.matched, "floor": low}
        for score, text, low in zip(scores.values, done, raised, strict=True)
    ]
    why = None
    if len(done) < len(candidates):
        why = f"the time was enough for {len(done)} of {len(candidates)} documents"
    details: dict[str, object] = {
        "model": reranker.uri,
        "documents": len(done),
        "characters": plan.characters,
        "tokens": scores.tokens,
        "floor": floor,
    }
    return ReadAgain([max(*each) for each in zip(scores.values, raised, strict=True)], components, why, details)


def blend(fused: Sequence[float], reranked: Sequence[float]) -> list[float]:
    """Return a score for each document, in the order given: best fused score first, all in [0, 1].

    `reranked` has the scores of the first of them. Their share grows with the rank; documents behind them stay behind.

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
    boundary = fused[len(blended) - 1] or 1.0
    return blended + [lowest * min(score / boundary, 1.0) for score in fused[len(blended) :]]


def _texts(connection: Connection, query: str, words: str, candidates: Sequence[Candidate], room: int) -> list[_Text]:
    analyzers = lexical.analyzers_of_index(connection)
    sought = lexical.sought(query, analyzers)
    terms = literal_terms(words, analyzers)
    known = documents.by_ids(connection, [each.document_id for each in candidates])
    texts = []
    for each in candidates:
        document = known.get(each.document_id)
        text = documents.markdown(connection, document.mirror_hash) if document else ""
        title = document.title if document else ""
        head = "" if text.lstrip("# ").startswith(title) else f"{title}\n"
        shown = head + excerpt(text, max(room - len(head), 1), chunk=each.chunk, sought=sought, analyzers=analyzers)
        texts.append(_Text(shown, matched_fraction(f"{title}\n{text}", terms)))
    return texts


def _share(rank: int) -> float:
    return next((share for last, share in _SHARES if rank <= last), _SHARE_BELOW)


def excerpt(
    text: str,
    room: int,
    *,
    chunk: tuple[int, int] | None,
    sought: Sequence[Sequence[Spelling]],
    analyzers: Sequence[Analyzer],
) -> str:
    """Return the text if it has at most `room` characters, else its passages for the query: around `chunk`, its best
    part by meaning, and around the best place of the words. Whole lines where that is possible."""
    if len(text) <= room:
        return text
    places = [place for place in (chunk, best_span(text, sought, analyzers)) if place] or [(0, 0)]
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


def _widened(text: str, start: int, end: int, room: int) -> tuple[int, int]:
    """Return `room` characters around a range, from the beginning of a line where one is near. Of a longer range, its
    beginning."""
    end = min(end, start + room)
    low = max(0, min(start - (room - (end - start)) // 2, len(text) - room))
    line = text.find("\n", low, start) + 1 if low else 0
    low = line or low
    return low, min(len(text), low + room)
