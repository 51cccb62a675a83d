"""Run every judged query of a collection in the chosen modes, and score the results."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
import numpy

from gnod.errors import QuerySyntaxError
from gnod.evaluate.dataset import Dataset
from gnod.evaluate.index import Index, Progress, temporary_index
from gnod.evaluate.measures import in_order, measure
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.modes import HYBRID, MODES, QueryResult, Ranking, Retriever, expand_all

PERCENTILES = (50, 95, 99)


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The figures of one run. `model`, `expand` and `rerank`: addresses of the models that it used. `latency_ms`: by
    percentile ("p50"). `measures`: by name. `per_query`: nDCG@10 by query id. `cut`: stage → reason → number of queries
    in which the stage did not run completely.

    `rewritten_queries` are valid only without their quotation marks; `refused_queries` are not valid at all and score
    0. `failed_documents`: id → reason.
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


class _QueryRuns:
    """The results of all queries in one mode."""

    def __init__(self) -> None:
        self.rankings: dict[str, Ranking] = {}
        self.took_ms: list[float] = []
        self.rewritten = 0
        self.refused = 0
        self.cut: dict[str, Counter[str]] = {}

    def run(self, retriever: Retriever, query_id: str, query: str) -> None:
        """Run a query. Queries of test collections do not use our syntax: if one is invalid, run it again without its
        quotation marks."""
        started = time.perf_counter()
        try:
            result = retriever(query)
        except QuerySyntaxError:
            result = self._run_without_quotes(retriever, query)
        self.took_ms.append((time.perf_counter() - started) * 1000)
        self.rankings[query_id] = in_order(result.ranking)
        for stage in result.cut:
            self.cut.setdefault(stage.name, Counter())[stage.why or ""] += 1

    def _run_without_quotes(self, retriever: Retriever, query: str) -> QueryResult:
        try:
            result = retriever(query.replace('"', " "))
        except QuerySyntaxError:
            self.refused += 1
            return QueryResult([])
        self.rewritten += 1
        return result


def evaluate(
    dataset: Dataset,
    modes: Sequence[str],
    progress: Progress,
    *,
    models: EvaluationModels | None = None,
    max_queries: int | None = None,
) -> Iterator[EvaluationRun]:
    """Index the collection once and yield one run for each mode. `max_queries`: run the first queries only. For hybrid
    search, the collection learns how much its vectors count, as in the daemon, and queries are expanded before they are
    timed."""
    queries = dict(islice(dataset.queries.items(), max_queries))
    with temporary_index(dataset, progress, models, tune=HYBRID in modes) as index:
        if HYBRID in modes:
            task = f"expanding the queries of {dataset.name}"
            expand_all(index, queries.values(), lambda done: progress(task, done, len(queries)))
        for mode in modes:
            retriever = MODES[mode].retriever(index)
            results = _run_all(retriever, queries, f"{mode} queries of {dataset.name}", progress)
            yield EvaluationRun(summary=_summary(dataset, mode, index, results), rankings=results.rankings)


def _run_all(retriever: Retriever, queries: dict[str, str], task: str, progress: Progress) -> _QueryRuns:
    for query in islice(queries.values(), 1):
        _QueryRuns().run(retriever, "", query)  # warm up, because a daemon is warm
    results = _QueryRuns()
    for done, (query_id, query) in enumerate(queries.items(), start=1):
        results.run(retriever, query_id, query)
        progress(task, done, len(queries))
    return results


def _summary(dataset: Dataset, mode: str, index: Index, results: _QueryRuns) -> Summary:
    uses, models = MODES[mode].uses, index.models
    scores = measure({query_id: dataset.qrels[query_id] for query_id in results.rankings}, results.rankings)
    latencies = numpy.percentile(results.took_ms, PERCENTILES)
    return Summary(
        collection=dataset.name,
        mode=mode,
        model=models.uri if models and "embed" in uses else None,
        expand=models.expand if models and "expand" in uses else None,
        rerank=models.rerank if models and "rerank" in uses else None,
        documents=len(dataset.documents),
        queries=len(results.rankings),
        unjudged_queries=dataset.unjudged,
        rewritten_queries=results.rewritten,
        refused_queries=results.refused,
        measures=scores.mean,
        indexing_s=round(index.took_s, 3),
        latency_ms={f"p{at}": round(float(ms), 3) for at, ms in zip(PERCENTILES, latencies, strict=True)},
        failed_documents=index.failed,
        cut={stage: dict(reasons.most_common()) for stage, reasons in results.cut.items()},
        per_query=scores.per_query,
    )
