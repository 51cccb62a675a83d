"""Run every judged query of a collection in the chosen modes, and score the results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import msgspec
import numpy

from gnod.errors import QuerySyntaxError
from gnod.evaluate.dataset import Dataset
from gnod.evaluate.index import Index, Progress, temporary_index
from gnod.evaluate.measures import in_order, measure
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.modes import HYBRID, MODES
from gnod.evaluate.searching import QueryResult, Ranking, Retriever, expand_all, retriever
from gnod.search.hybrid.budget import Stage

PERCENTILES = (50, 95, 99)


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The figures of one run. `model`, `expand` and `rerank`: addresses of the models. `latency_ms`: by percentile
    ("p50"). `measures`: by name. `per_query`: nDCG@10 by query id. `cut`: stage → reason → number of queries in which
    the stage did not run completely.

    `rewritten_queries`: queries that are valid only without their quotation marks. `refused_queries`: invalid queries,
    which score 0. `failed_documents`: id → reason.
    """

    collection: str
    mode: str
    model: str | None = None
    expand: str | None = None
    rerank: str | None = None
    documents: int
    queries: int
    unjudged_queries: int
    rewritten_queries: int
    refused_queries: int
    measures: dict[str, float]
    indexing_s: float
    latency_ms: dict[str, float]
    failed_documents: dict[str, str] = {}
    cut: dict[str, dict[str, int]] = {}
    per_query: dict[str, float] = {}


class EvaluationRun(msgspec.Struct, frozen=True, kw_only=True):
    """`rankings`: query id → documents with their scores; ties are broken by document id."""

    summary: Summary
    rankings: dict[str, Ranking]


class _QueryRun(NamedTuple):
    """`fault`: what was wrong with the query. Test collections do not use gnod's syntax, so an invalid query is run
    without its quotation marks, and scores 0 if it is still invalid."""

    ranking: Ranking
    took_ms: float
    cut: Sequence[Stage]
    fault: Literal["rewritten", "refused"] | None


def evaluate(
    dataset: Dataset,
    modes: Sequence[str],
    progress: Progress,
    *,
    models: EvaluationModels | None = None,
    max_queries: int | None = None,
) -> Iterator[EvaluationRun]:
    """Index the collection once and yield one run for each mode. `max_queries`: run the first queries only. For hybrid
    search, the collection learns the weight of its vectors, as in the daemon, and queries are expanded before the
    timing starts."""
    queries = dict(islice(dataset.queries.items(), max_queries))
    with temporary_index(dataset, progress, models, tune=HYBRID in modes) as index:
        if HYBRID in modes:
            task = f"expanding the queries of {dataset.name}"
            expand_all(index, queries.values(), lambda done: progress(task, done, len(queries)))
        for mode in modes:
            results = _run_all(retriever(index, mode), queries, f"{mode} queries of {dataset.name}", progress)
            rankings = {query_id: run.ranking for query_id, run in results.items()}
            yield EvaluationRun(summary=_summary(dataset, mode, index, results), rankings=rankings)


def _run_all(search: Retriever, queries: dict[str, str], task: str, progress: Progress) -> dict[str, _QueryRun]:
    """Return the results by query id."""
    for query in islice(queries.values(), 1):
        _run(search, query)  # warm up, because a daemon is warm
    results = {}
    for done, (query_id, query) in enumerate(queries.items(), start=1):
        results[query_id] = _run(search, query)
        progress(task, done, len(queries))
    return results


def _run(search: Retriever, query: str) -> _QueryRun:
    started = time.perf_counter()
    fault: Literal["rewritten", "refused"] | None = None
    try:
        result = search(query)
    except QuerySyntaxError:
        try:
            result, fault = search(query.replace('"', " ")), "rewritten"
        except QuerySyntaxError:
            result, fault = QueryResult([]), "refused"
    took_ms = (time.perf_counter() - started) * 1000
    return _QueryRun(in_order(result.ranking), took_ms, result.cut, fault)


def _summary(dataset: Dataset, mode: str, index: Index, results: dict[str, _QueryRun]) -> Summary:
    uses, models = MODES[mode], index.models
    qrels = {query_id: dataset.qrels[query_id] for query_id in results}
    scores = measure(qrels, {query_id: run.ranking for query_id, run in results.items()})
    latencies = numpy.percentile([run.took_ms for run in results.values()], PERCENTILES)
    faults = Counter(run.fault for run in results.values())
    cut: dict[str, Counter[str]] = {}
    for stage in (stage for run in results.values() for stage in run.cut):
        cut.setdefault(stage.name, Counter())[stage.why or ""] += 1
    return Summary(
        collection=dataset.name,
        mode=mode,
        model=models.uri if models and "embed" in uses else None,
        expand=models.expand if models and "expand" in uses else None,
        rerank=models.rerank if models and "rerank" in uses else None,
        documents=len(dataset.documents),
        queries=len(results),
        unjudged_queries=dataset.unjudged,
        rewritten_queries=faults["rewritten"],
        refused_queries=faults["refused"],
        measures=scores.mean,
        indexing_s=round(index.took_s, 3),
        latency_ms={f"p{at}": round(float(ms), 3) for at, ms in zip(PERCENTILES, latencies, strict=True)},
        failed_documents=index.failed,
        cut={stage: dict(reasons.most_common()) for stage, reasons in cut.items()},
        per_query=scores.per_query,
    )
