"""Chooses the factor for the odds of the vectors, by the results of both retrievers and their fusion for known-item
questions.

Pure. A factor is kept only if a paired bootstrap test shows that it helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.search.ranking import fusion
from gnod.search.ranking.fusion import RetrieverResults, Trust

FACTORS = (0.25, 0.5, 2.0, 4.0, 8.0)
# Fewer questions prove nothing.
MIN_QUESTIONS = 40
_RANKS = 10
_RESAMPLES = 4000
# The confidence of the interval. With five factors, the usual 95 % would be too lax.
_CONFIDENCE = 0.99
_SEED = 20_261_122
# The number of random indices drawn at once. It limits the memory.
_BATCH = 1 << 22


class AskedQuestion(NamedTuple):
    """The results of the retrievers for a question whose answer is document `target`."""

    target: int
    evidence: Sequence[RetrieverResults]
    trust: dict[int, Trust]


class ChosenFactor(NamedTuple):
    """`factor`: 1 if no other one helps. The other fields are mean discounted reciprocal ranks: of each side, and of
    their fusion `before` and `after`."""

    factor: float
    keyword: float
    vector: float
    before: float
    after: float


def choose(asked: Sequence[AskedQuestion]) -> ChosenFactor:
    """Return the most helpful factor. Needs at least one question."""
    before = _fused(asked, 1.0)
    gains = {factor: _fused(asked, factor) - before for factor in FACTORS}
    is_enough = len(asked) >= MIN_QUESTIONS
    helpful = [factor for factor in FACTORS if is_enough and _least(gains[factor]) > 0]
    best = max(helpful, key=lambda factor: gains[factor].mean(), default=None)
    return ChosenFactor(
        best or 1.0,
        keyword=float(_alone(asked, "lexical").mean()),
        vector=float(_alone(asked, "vector").mean()),
        before=float(before.mean()),
        after=float((before + gains[best]).mean()) if best else float(before.mean()),
    )


def _least(gain: NDArray[np.float64]) -> float:
    """Return the lower end of the confidence interval of a gain."""
    return interval(gain, _RESAMPLES, _CONFIDENCE, _SEED)[0]


def _fused(asked: Sequence[AskedQuestion], factor: float) -> NDArray[np.float64]:
    values = []
    for question in asked:
        known = {id_ for evidence in question.evidence for id_ in evidence.scores}
        trust = {id_: question.trust.get(id_, Trust()) for id_ in known}
        scaled = {id_: old._replace(vector=old.vector * factor) for id_, old in trust.items()}
        ranked = fusion.fuse("convex", question.evidence, lambda id_: id_, scaled).ranked
        values.append(_value([fused.id for fused in ranked[:_RANKS]], question.target))
    return np.asarray(values)


def _alone(asked: Sequence[AskedQuestion], retriever: str) -> NDArray[np.float64]:
    values = []
    for question in asked:
        scores = next((evidence.scores for evidence in question.evidence if evidence.retriever == retriever), {})
        ranked = sorted(scores, key=lambda id_: (-scores[id_], id_))
        values.append(_value(ranked[:_RANKS], question.target))
    return np.asarray(values)


def _value(ranked: Sequence[int], target: int) -> float:
    """Return nDCG@10 of a ranking with one relevant document."""
    return 1 / log2(ranked.index(target) + 2) if target in ranked else 0.0


def interval(values: NDArray[np.float64], resamples: int, confidence: float, seed: int) -> tuple[float, float]:
    """Return the percentile interval of the mean (Efron 1979) over resamples of the values."""
    rng = np.random.default_rng(seed)
    means: list[NDArray[np.float64]] = []
    left = resamples
    while left:
        rows = min(left, max(_BATCH // len(values), 1))
        means.append(values[rng.integers(0, len(values), (rows, len(values)))].mean(axis=1))
        left -= rows
    outside = 100 * (1 - confidence) / 2
    low, high = np.percentile(np.concatenate(means), [outside, 100 - outside])
    return float(low), float(high)
