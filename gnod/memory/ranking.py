"""From ranks to scores: every rule by which memories are ordered, and its constants. Pure.

The numbers are those of issue 8 (docs/memory.md explains what users see of them). Where it leaves one open, the comment
beside the constant says what was chosen and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import NamedTuple

from gnod.memory import kinds

# Reciprocal rank fusion, with ranks from 0.
_RRF_OFFSET = 60 + 1
_LISTS = 2
_FUSION_BOOSTS = {"preference": 1.3, "summary": 1.4}

# What follows the cross-encoder.
_BOOSTS = {"preference": 1.25, "summary": 1.3}
_PENALTIES = {"result": 0.6}
_DONE_PENALTY = 0.7
_KEYWORD_FLOOR = 0.30
_SCORE_FLOOR = 0.03

# Without a cross-encoder: a sigmoid over the share of the best possible fusion score.
_SYNTHETIC_CENTRE = 0.4
_SYNTHETIC_LOW, _SYNTHETIC_HIGH = 0.40, 0.70
# Open in the issue: 10 takes the first of both lists (share 1) to within 0.001 of the top, the last of a pool of 64 in
# one list (share 0.25) to a fifth of the way.
_SYNTHETIC_STEEPNESS = 10.0
# Open in the issue: the cosine at which nothing is changed; what has half of it gets half the score. Of small models,
# texts that answer lie around 0.5 and texts of other things below 0.15.
_NEUTRAL_COSINE = 0.5


class Ranked(NamedTuple):
    """A memory with its score. `kind`: its type. `matched`: the fraction of the query's terms that stand in it."""

    id: int
    score: float
    kind: str
    matched: float


def fuse(nearest: Sequence[int], topical: Sequence[int], kind_of: Mapping[int, str]) -> list[tuple[int, float]]:
    """Return ids with their fusion scores, best first; of equal ones, the nearer in meaning, then the older.

    >>> fuse([7, 8], [8], {7: "fact", 8: "fact"})  # 1/62 + 1/61, and 1/61
    [(8, 0.03252247488101534), (7, 0.01639344262295082)]
    """
    scores: dict[int, float] = {}
    for ids in (nearest, topical):
        for rank, id_ in enumerate(ids):
            scores[id_] = scores.get(id_, 0.0) + 1 / (rank + _RRF_OFFSET)
    boosted = {id_: score * _FUSION_BOOSTS.get(kinds.base(kind_of[id_]), 1.0) for id_, score in scores.items()}
    # Both lists were entered in order, the nearest first; sorting keeps that where scores are equal.
    return sorted(boosted.items(), key=lambda entry: -entry[1])


def synthetic(fused: float, cosine: float | None) -> float:
    """Return the score of a memory that no cross-encoder has read, from its fusion score and, where the vectors found
    it, its cosine.

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
    """Return the cross-encoder's scores, and behind them those of what it had no time for: none better than the
    worst that it read, since it read the best first.

    >>> reranked([0.9, 0.2], [0.6, 0.1])
    [0.9, 0.2, 0.2, 0.1]
    """
    worst = min(scores, default=1.0)
    return [*scores, *(min(score, worst) for score in rest)]


def finish(found: Sequence[Ranked]) -> list[Ranked]:
    """Apply what follows the scoring, group after group, each on a list sorted by the one before; best first."""
    ranked = _sorted(found)
    for group in (_boosted, _penalised, _raised):
        ranked = _sorted([each._replace(score=group(each)) for each in ranked])
    return [each for each in ranked if each.score >= _SCORE_FLOOR]


def _boosted(found: Ranked) -> float:
    boost = _BOOSTS.get(kinds.base(found.kind))
    return min(found.score * boost, 1.0) if boost else found.score


def _penalised(found: Ranked) -> float:
    penalty = _PENALTIES.get(kinds.base(found.kind), 1.0)
    return found.score * penalty * (_DONE_PENALTY if kinds.is_done(found.kind) else 1.0)


def _raised(found: Ranked) -> float:
    """What stands there literally is a fact, whatever a model thinks of it."""
    return max(found.score, _KEYWORD_FLOOR * found.matched)


def _sorted(found: Sequence[Ranked]) -> list[Ranked]:
    return sorted(found, key=lambda each: -each.score)
