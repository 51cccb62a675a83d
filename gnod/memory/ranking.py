"""From two lists of candidates to scores: every rule that orders memories, with its constants. Pure.

docs/memory.md explains what users see of them; the factors of each type are in `gnod.memory_types`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp
from typing import NamedTuple

from gnod.memory_types import DONE_PENALTY, is_done, type_named

# Reciprocal rank fusion, with ranks from 0.
_RRF_OFFSET = 60 + 1
_LISTS = 2

# After the reranker.
_KEYWORD_FLOOR = 0.30
_SCORE_FLOOR = 0.03

# Without a reranker: a sigmoid over the share of the best possible fusion score.
_SYNTHETIC_CENTRE = 0.4
_SYNTHETIC_LOW, _SYNTHETIC_HIGH = 0.40, 0.70
# With 10, the first of both lists (share 1) is within 0.001 of the top, and the last of a pool of 64 in one list
# (share 0.25) a fifth of the way up.
_SYNTHETIC_STEEPNESS = 10.0
# No memory that a reranker did not read scores more, whatever its type: nobody has confirmed that it answers the query.
_UNVERIFIED_CAP = _SYNTHETIC_HIGH
# The cosine that changes nothing; half of it halves the score. With small models, texts that answer a query are around
# 0.5, unrelated texts below 0.15.
_NEUTRAL_COSINE = 0.5


class Depth(NamedTuple):
    """`pool`: candidates to rank. `results`: returned at most. `whole`: the first results that may be shown whole.
    `always_reranks`: even very few candidates. `keywords`: that a query needs."""

    pool: int
    results: int
    whole: int
    always_reranks: bool
    keywords: int

    @property
    def topics(self) -> int:
        """Return the maximum of candidates by topic."""
        return self.pool * 3 // 4


SEARCH = Depth(pool=64, results=32, whole=3, always_reranks=False, keywords=0)
DEEP_SEARCH = Depth(pool=256, results=100, whole=5, always_reranks=True, keywords=2)

# A normal search does not rerank fewer candidates.
FEW = 5

# Factor for the candidates to fetch from several namespaces, where copies are dropped.
_FAN_OUT = 2


class Ranked(NamedTuple):
    """A memory with its score. `matched`: the fraction of the query's terms in it. `verified`: the score is that of a
    reranker."""

    id: int
    score: float
    type: str
    matched: float
    verified: bool = True


def distinct(
    fetch: Callable[[int], Sequence[int]], limit: int, fingerprint_of: Callable[[int], bytes], *, has_shared: bool
) -> list[int]:
    """Return the first `limit` memories of a list, best first, without copies. `fetch` returns that many ids. Copies
    in other namespaces have the same fingerprint; the first one stays."""
    wanted = limit * _FAN_OUT if has_shared else limit
    while True:
        fetched = fetch(wanted)
        first: dict[bytes, int] = {}
        for id_ in fetched:
            first.setdefault(fingerprint_of(id_), id_)
        kept = list(first.values())
        # Twice the limit is enough for one copy of each; more copies must not displace others.
        if len(kept) >= limit or len(fetched) < wanted:
            return kept[:limit]
        wanted *= 2


def united(nearest: Sequence[int], topical: Sequence[int], fingerprint_of: Callable[[int], bytes]) -> list[int]:
    """Return the second list, with the ids of the first list for the same texts, so that copies add to originals.

    >>> united([4, 2], [7, 9], {2: b"a", 4: b"b", 7: b"a", 9: b"c"}.__getitem__)
    [2, 9]
    """
    known = {fingerprint_of(id_): id_ for id_ in nearest}
    return [known.get(fingerprint_of(id_), id_) for id_ in topical]


def fuse(nearest: Sequence[int], topical: Sequence[int], type_of: Mapping[int, str]) -> list[tuple[int, float]]:
    """Return ids with their fusion scores, best first; ties: the nearest first.

    >>> fuse([7, 8], [8], {7: "fact", 8: "fact"})  # 1/62 + 1/61, and 1/61
    [(8, 0.03252247488101534), (7, 0.01639344262295082)]
    """
    scores: dict[int, float] = {}
    for ids in (nearest, topical):
        for rank, id_ in enumerate(ids):
            scores[id_] = scores.get(id_, 0.0) + 1 / (rank + _RRF_OFFSET)
    boosted = {id_: score * type_named(type_of[id_]).fusion_boost for id_, score in scores.items()}
    # The lists were added in order, the nearest first; sorting keeps that order for equal scores.
    return sorted(boosted.items(), key=lambda entry: -entry[1])


def synthetic(fused: float, cosine: float | None) -> float:
    """Return the score of a memory that was not reranked, from its fusion score and, if vectors found it, its cosine.

    >>> round(synthetic(2 / 61, 0.5), 4), round(synthetic(1 / 61, None), 4), round(synthetic(1 / 61, 0.1), 4)
    (0.6993, 0.6193, 0.1239)
    """
    share = min(fused / (_LISTS / _RRF_OFFSET), 1.0)
    sigmoid = 1 / (1 + exp(-_SYNTHETIC_STEEPNESS * (share - _SYNTHETIC_CENTRE)))
    score = _SYNTHETIC_LOW + (_SYNTHETIC_HIGH - _SYNTHETIC_LOW) * sigmoid
    if cosine is not None:
        score *= max(cosine, 0.0) / _NEUTRAL_COSINE
    return min(score, _SYNTHETIC_HIGH)


def reranked(scores: Sequence[float], rest: Sequence[float]) -> list[float]:
    """Return the reranker's scores, then those that it had no time for: at most its worst, because it read the best
    candidates first.

    >>> reranked([0.9, 0.2], [0.6, 0.1])
    [0.9, 0.2, 0.2, 0.1]
    """
    worst = min(scores, default=1.0)
    return [*scores, *(min(score, worst) for score in rest)]


def finish(found: Sequence[Ranked]) -> list[Ranked]:
    """Apply boosts, penalties and the keyword floor, sorting after each; return the memories best first."""
    ranked = _sorted(found)
    for group in (_boosted, _penalised, _raised):
        ranked = _sorted([each._replace(score=group(each)) for each in ranked])
    return [each for each in ranked if each.score >= _SCORE_FLOOR]


def _boosted(found: Ranked) -> float:
    return min(found.score * type_named(found.type).rerank_boost, 1.0 if found.verified else _UNVERIFIED_CAP)


def _penalised(found: Ranked) -> float:
    return found.score * type_named(found.type).penalty * (DONE_PENALTY if is_done(found.type) else 1.0)


def _raised(found: Ranked) -> float:
    """An exact match counts, whatever score a model gives."""
    return max(found.score, _KEYWORD_FLOOR * found.matched)


def _sorted(found: Sequence[Ranked]) -> list[Ranked]:
    return sorted(found, key=lambda each: -each.score)
