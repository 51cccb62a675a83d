"""What each stage is worth: every mode's runs beside the baseline's, query by query, with how sure that is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.evaluate.evaluation import Summary
from gnod.evaluate.hybrid import BASELINE

RESAMPLES = 10_000
CONFIDENCE = 0.95
_SEED = 20_260_101
# Numbers drawn at once: their memory is that of as many integers.
_AT_ONCE = 1 << 22
_SAME = 1e-9


class Interval(msgspec.Struct, frozen=True):
    """Within `low` and `high` the mean lies with 95 % confidence."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > _SAME or self.high < -_SAME


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """nDCG@10 of a mode less that of the baseline, over the queries of a collection. `better`, `worse`: how many.
    `is_sure`: the interval excludes 0."""

    collection: str
    mode: str
    change: Interval
    is_sure: bool
    better: int
    worse: int


def contrasts(runs: Sequence[Summary]) -> list[Contrast]:
    """Return each run beside the baseline of its collection; none where the baseline was not measured."""
    baselines = {run.collection: run for run in runs if run.mode == BASELINE}
    return [
        _contrast(run, baselines[run.collection])
        for run in runs
        if run.mode != BASELINE and run.collection in baselines
    ]


def bootstrap(differences: Sequence[float]) -> Interval:
    """Return the mean with its percentile interval (Efron 1979) over resamples of the queries, the same at each call.
    Not empty."""
    values = np.asarray(differences, dtype=np.float64)
    rng = np.random.default_rng(_SEED)
    means: list[NDArray[np.float64]] = []
    left = RESAMPLES
    while left:
        rows = min(left, max(_AT_ONCE // len(values), 1))
        means.append(values[rng.integers(0, len(values), (rows, len(values)))].mean(axis=1))
        left -= rows
    outside = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(np.concatenate(means), [outside, 100 - outside])
    return Interval(float(values.mean()), float(low), float(high))


def _contrast(run: Summary, baseline: Summary) -> Contrast:
    differences = [score - baseline.per_query[query] for query, score in run.per_query.items()]
    change = bootstrap(differences)
    return Contrast(
        collection=run.collection,
        mode=run.mode,
        change=change,
        is_sure=change.excludes_zero,
        better=sum(each > _SAME for each in differences),
        worse=sum(each < -_SAME for each in differences),
    )
