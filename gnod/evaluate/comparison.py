"""Set a run beside a saved one: what changed, by measure and by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gnod.evaluate.evaluation import Summary
from gnod.evaluate.measures import MEASURES

MAX_CHANGED = 10
# Below this a difference is rounding, not retrieval.
_SAME = 1e-9


class ChangedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """nDCG@10 of one query, before and after."""

    id: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """`change` is after - before by measure. `better`, `worse`: how many queries; `changed` names those that
    changed most. `warnings` say why the two are not the same test."""

    collection: str
    mode: str
    change: dict[str, float]
    better: int
    worse: int
    changed: list[ChangedQuery]
    warnings: list[str]


def compare(now: Sequence[Summary], before: Sequence[Summary]) -> list[Comparison]:
    """Return a comparison for each run that has one of the same collection and mode."""
    known = {(run.collection, run.mode): run for run in before}
    return [_compare(run, known[key]) for run in now if (key := (run.collection, run.mode)) in known]


def _compare(now: Summary, before: Summary) -> Comparison:
    changed = _changed(now.per_query, before.per_query)
    return Comparison(
        collection=now.collection,
        mode=now.mode,
        change={name: now.measures[name] - before.measures[name] for name in MEASURES if name in before.measures},
        better=sum(query.change > 0 for query in changed),
        worse=sum(query.change < 0 for query in changed),
        changed=changed[:MAX_CHANGED],
        warnings=_warnings(now, before),
    )


def _changed(now: Mapping[str, float], before: Mapping[str, float]) -> list[ChangedQuery]:
    """Return the queries of both runs whose score changed, most first, ties by id."""
    both = [ChangedQuery(id=each, before=before[each], after=now[each]) for each in now if each in before]
    return sorted((query for query in both if abs(query.change) > _SAME), key=lambda q: (-abs(q.change), q.id))


def _warnings(now: Summary, before: Summary) -> list[str]:
    warnings = []
    if now.dataset_sha256 != before.dataset_sha256:
        warnings.append("the collection's files differ from those of the saved run")
    if now.per_query.keys() != before.per_query.keys():
        warnings.append(f"{now.queries:,} queries were asked, {before.queries:,} in the saved run")
    for what in ("model", "expand", "rerank", "budget_s"):
        here, there = getattr(now, what), getattr(before, what)
        if here != there:
            warnings.append(f"{what} is {here or 'none'}, {there or 'none'} in the saved run")
    return warnings
