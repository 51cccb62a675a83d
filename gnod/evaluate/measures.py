"""The measures, computed by ir-measures from the optional dependencies `gnod[bench]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from gnod import extras
from gnod.evaluate.dataset import Qrels

# Maps a name in tables and files to the name in ir-measures. MAP is the mean of AP.
MEASURES = {"nDCG@10": "nDCG@10", "RR@10": "RR@10", "R@100": "R@100", "MAP": "AP"}
PER_QUERY = "nDCG@10"
DEPTH = 100

Rankings = Mapping[str, Sequence[tuple[str, float]]]
"""A run: query id → (document id, score)."""


class MeasureScores(NamedTuple):
    """`mean` by measure, over all queries in the qrels; `per_query` is nDCG@10 by query id, in the qrels' order."""

    mean: dict[str, float]
    per_query: dict[str, float]


@cache
def library() -> ModuleType:
    """Import ir-measures. Raises DependencyMissing."""
    try:
        import ir_measures
    except ImportError as error:
        raise extras.missing("the measures of `gnoctl bench`", "bench", then="") from error
    return ir_measures


def measure(qrels: Qrels, run: Rankings) -> MeasureScores:
    """Score a run with sorted rankings. Judged queries without results score 0; queries without judgements do not
    count."""
    # Use ranks instead of scores: evaluation tools break ties differently and read scores in single precision.
    ranks = {
        query_id: {document_id: float(-rank) for rank, (document_id, _) in enumerate(ranking)}
        for query_id, ranking in run.items()
    }
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(qrels, 0.0) for name in MEASURES}
    ir_measures = library()
    names = {_measure(measure): name for name, measure in MEASURES.items()}
    for metric in ir_measures.iter_calc(list(names), qrels, ranks):
        if metric.query_id in qrels:
            values[names[metric.measure]][metric.query_id] = float(metric.value)
    return MeasureScores(
        mean={name: sum(of_queries.values()) / len(of_queries) for name, of_queries in values.items()},
        per_query=values[PER_QUERY],
    )


def _measure(name: str) -> Any:
    """Return the measure object of ir-measures. Its own parser uses parts of `ast` that Python 3.14 lacks."""
    base, _, cutoff = name.partition("@")
    measure = getattr(library(), base)
    return measure @ int(cutoff) if cutoff else measure


def in_order(ranking: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return a ranking with ties broken by document id."""
    return sorted(ranking, key=lambda each: (-each[1], each[0]))
