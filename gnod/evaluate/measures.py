"""The measures, all from ir-measures; nothing here computes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import ir_measures
from ir_measures import AP, RR, R, nDCG

from gnod.evaluate.dataset import Qrels

# What each is called in tables and files → what computes it. MAP is the mean of AP.
MEASURES = {"nDCG@10": nDCG @ 10, "RR@10": RR @ 10, "R@100": R @ 100, "MAP": AP}
PER_QUERY = "nDCG@10"
DEPTH = 100

Rankings = Mapping[str, Sequence[tuple[str, float]]]
"""Query id → (document id, score). A run."""


class Scores(NamedTuple):
    """`mean` by measure, over all queries in the qrels; `per_query` is nDCG@10 by query id, in the qrels' order."""

    mean: dict[str, float]
    per_query: dict[str, float]


def measure(qrels: Qrels, run: Rankings) -> Scores:
    """Score a run whose rankings are in order. Judged queries without an answer score 0; others do not count."""
    # Ranks instead of scores: the tools break ties each in their own way, and read scores in single precision.
    ranks = {
        query_id: {document_id: float(-rank) for rank, (document_id, _) in enumerate(ranking)}
        for query_id, ranking in run.items()
    }
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(qrels, 0.0) for name in MEASURES}
    names = {measure: name for name, measure in MEASURES.items()}
    for metric in ir_measures.iter_calc(list(names), qrels, ranks):
        if metric.query_id in qrels:
            values[names[metric.measure]][metric.query_id] = float(metric.value)
    return Scores(
        mean={name: sum(of_queries.values()) / len(of_queries) for name, of_queries in values.items()},
        per_query=values[PER_QUERY],
    )


def in_order(ranking: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return a ranking with ties broken by document id."""
    return sorted(ranking, key=lambda each: (-each[1], each[0]))
