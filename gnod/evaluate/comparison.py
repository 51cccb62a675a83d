"""Compare runs query by query: with the baseline of the same measurement, and with a saved run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from gnod.evaluate.evaluation import Summary
from gnod.evaluate.measures import MEASURES, PER_QUERY
from gnod.evaluate.modes import BASELINE
from gnod.tuning.choice import interval

# The two sides that hybrid search combines.
SIDES = ("keyword", "vector")
MAX_CHANGED = 10
RESAMPLES = 10_000
CONFIDENCE = 0.95
_SEED = 20_260_101
# Smaller differences are rounding errors.
_SAME = 1e-9


class Interval(msgspec.Struct, frozen=True):
    """The mean lies between `low` and `high` with 95 % confidence."""

    mean: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > _SAME or self.high < -_SAME


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """nDCG@10 of a mode minus nDCG@10 of the baseline, over the queries of a collection. `better`, `worse`: numbers of
    queries. `is_sure`: the interval excludes 0."""

    collection: str
    mode: str
    change: Interval
    is_sure: bool
    better: int
    worse: int


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """nDCG@10 of hybrid search minus that of its better side (keyword or vector search) in one collection."""

    collection: str
    model: str | None
    better: str
    change: float


class ChangedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """nDCG@10 of one query, before and after."""

    id: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """`change`: after - before, by measure. `better`, `worse`: numbers of queries; `changed`: those that changed most.
    `warnings`: differences between the two measurements."""

    collection: str
    mode: str
    change: dict[str, float]
    better: int
    worse: int
    changed: list[ChangedQuery]
    warnings: list[str]


def contrasts(runs: Sequence[Summary]) -> list[Contrast]:
    """Compare each run with the baseline of its collection, if that was measured."""
    baselines = {run.collection: run for run in runs if run.mode == BASELINE}
    return [
        _contrast(run, baselines[run.collection])
        for run in runs
        if run.mode != BASELINE and run.collection in baselines
    ]


def losses(runs: Sequence[Summary]) -> list[Loss]:
    """Compare hybrid search with its better side, where all three were measured."""
    by_collection: dict[str, dict[str, Summary]] = {}
    for run in runs:
        by_collection.setdefault(run.collection, {})[run.mode] = run
    found = []
    for collection, of_mode in by_collection.items():
        if all(mode in of_mode for mode in (BASELINE, *SIDES)):
            score = {mode: of_mode[mode].measures[PER_QUERY] for mode in (BASELINE, *SIDES)}
            better = max(SIDES, key=lambda mode: score[mode])
            change = round(score[BASELINE] - score[better], 4)
            found.append(Loss(collection=collection, model=of_mode[BASELINE].model, better=better, change=change))
    return found


def bootstrap(differences: Sequence[float]) -> Interval:
    """Return the mean with its percentile interval (Efron 1979) over resamples of the queries. `differences` is not
    empty. The seed is fixed."""
    values = np.asarray(differences, dtype=np.float64)
    return Interval(float(values.mean()), *interval(values, RESAMPLES, CONFIDENCE, _SEED))


def compare(now: Sequence[Summary], before: Sequence[Summary]) -> list[RunComparison]:
    """Compare each run with the earlier run of the same collection and mode, if there is one."""
    known = {(run.collection, run.mode): run for run in before}
    return [_compare(run, known[key]) for run in now if (key := (run.collection, run.mode)) in known]


def _contrast(run: Summary, baseline: Summary) -> Contrast:
    differences = [score - baseline.per_query[query] for query, score in run.per_query.items()]
    change = bootstrap(differences)
    return Contrast(
        collection=run.collection,
        mode=run.mode,
        change=change,
        is_sure=change.excludes_zero,
        better=sum(difference > _SAME for difference in differences),
        worse=sum(difference < -_SAME for difference in differences),
    )


def _compare(now: Summary, before: Summary) -> RunComparison:
    changed = _changed(now.per_query, before.per_query)
    return RunComparison(
        collection=now.collection,
        mode=now.mode,
        change={name: now.measures[name] - before.measures[name] for name in MEASURES if name in before.measures},
        better=sum(query.change > 0 for query in changed),
        worse=sum(query.change < 0 for query in changed),
        changed=changed[:MAX_CHANGED],
        warnings=_warnings(now, before),
    )


def _changed(now: Mapping[str, float], before: Mapping[str, float]) -> list[ChangedQuery]:
    """Return the queries of both runs whose score changed, largest change first, ties by id."""
    both = [ChangedQuery(id=each, before=before[each], after=now[each]) for each in now if each in before]
    return sorted((query for query in both if abs(query.change) > _SAME), key=lambda q: (-abs(q.change), q.id))


def _warnings(now: Summary, before: Summary) -> list[str]:
    warnings = []
    if now.dataset_sha256 != before.dataset_sha256:
        warnings.append("the collection's files differ from those of the saved run")
    if now.per_query.keys() != before.per_query.keys():
        warnings.append(f"{now.queries:,} queries were run, {before.queries:,} in the saved run")
    for name in ("model", "expand", "rerank", "budget_s"):
        ours, theirs = getattr(now, name), getattr(before, name)
        if ours != theirs:
            warnings.append(f"{name} is {ours or 'none'}, {theirs or 'none'} in the saved run")
    return warnings
