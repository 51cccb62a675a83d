"""From candidates to final scores: the rules that order memories, with their constants. Pure.

`candidates` has the rules that choose them.

docs/memory.md explains what users see of them; the factors of each type are in `gnod.memory_types`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

from gnod.memory_types import DONE_PENALTY, type_named

# The minimum scores after the reranker.
_KEYWORD_FLOOR = 0.30
_SCORE_FLOOR = 0.03

# The parameters of a sigmoid for scores without a reranker. Vectors and keywords give at most 1 of the fused score.
_SYNTHETIC_CENTRE = 0.4
_SYNTHETIC_LOW, _SYNTHETIC_HIGH = 0.40, 0.70
# With 10, a memory that is first by vectors and by keywords (1) is within 0.001 of the top, and a quarter of that is a
# fifth of the way up.
_SYNTHETIC_STEEPNESS = 10.0
# A memory that a reranker did not read scores at most this, whatever its type: nothing has confirmed that it answers
# the query.
_UNVERIFIED_CAP = _SYNTHETIC_HIGH


class Depth(NamedTuple):
    """How thorough a search is.

    `pool`: candidates to rank. `results`: the maximum returned. `whole`: the first results that may be shown whole.
    `always_reranks`: rerank even very few candidates. `keywords`: the number that a query needs.
    """

    pool: int
    results: int
    whole: int
    always_reranks: bool
    keywords: int


SEARCH = Depth(pool=64, results=32, whole=3, always_reranks=False, keywords=0)
DEEP_SEARCH = Depth(pool=256, results=100, whole=5, always_reranks=True, keywords=2)

# A normal search does not rerank fewer candidates.
FEW = 5


class RankedMemory(NamedTuple):
    """A memory with its score. `matched`: the fraction of the query's terms in it. `verified`: the score is that of a
    reranker. `holds`: it is true at the time that is asked for."""

    id: int
    score: float
    type: str
    matched: float
    verified: bool = True
    holds: bool = True


def boosted(scores: Sequence[float], types: Sequence[str]) -> list[float]:
    """Return the fused scores of memories with the boosts of their types.

    >>> boosted([0.5, 0.5], ["fact", "summary"])
    [0.5, 0.7]
    """
    boosts = {type_: type_named(type_).fusion_boost for type_ in set(types)}
    return [score * boosts[type_] for score, type_ in zip(scores, types, strict=True)]


def synthetic(fused: float, strength: float) -> float:
    """Return the score of a memory that was not reranked: from its fused score, and from how much speaks for it by
    itself (`candidates.Evidence.strength`), of which 1 or more changes nothing.

    >>> round(synthetic(1.0, 1.0), 4), round(synthetic(0.5, 1.0), 4), round(synthetic(0.5, 0.2), 4)
    (0.6993, 0.6193, 0.1239)
    """
    sigmoid = 1 / (1 + exp(-_SYNTHETIC_STEEPNESS * (fused - _SYNTHETIC_CENTRE)))
    return (_SYNTHETIC_LOW + (_SYNTHETIC_HIGH - _SYNTHETIC_LOW) * sigmoid) * min(max(strength, 0.0), 1.0)


def reranked(scores: Sequence[float], rest: Sequence[float]) -> list[float]:
    """Return the reranker's scores, then scores of the memories that it had no time for. These are at most its worst
    score, because it read the best candidates first.

    >>> reranked([0.9, 0.2], [0.6, 0.1])
    [0.9, 0.2, 0.2, 0.1]
    """
    worst = min(scores, default=1.0)
    return [*scores, *(min(score, worst) for score in rest)]


def finish(found: Sequence[RankedMemory]) -> list[RankedMemory]:
    """Apply boosts, penalties and the keyword floor, sorting after each; return the memories best first."""
    ranked = _sorted(found)
    for group in (_boosted, _penalised, _raised):
        ranked = _sorted([each._replace(score=group(each)) for each in ranked])
    return [each for each in ranked if each.score >= _SCORE_FLOOR]


def _boosted(found: RankedMemory) -> float:
    return min(found.score * type_named(found.type).rerank_boost, 1.0 if found.verified else _UNVERIFIED_CAP)


def _penalised(found: RankedMemory) -> float:
    return found.score * type_named(found.type).penalty * (1.0 if found.holds else DONE_PENALTY)


def _raised(found: RankedMemory) -> float:
    """Raise the score of an exact match that a model scored low."""
    return max(found.score, _KEYWORD_FLOOR * found.matched)


def _sorted(found: Sequence[RankedMemory]) -> list[RankedMemory]:
    return sorted(found, key=lambda each: -each.score)
