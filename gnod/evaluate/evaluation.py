"""Run every judged query of a collection in every mode asked for, and score the runs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
import numpy

from gnod.errors import QuerySyntaxError
from gnod.evaluate.dataset import Dataset
from gnod.evaluate.hybrid import VARIANTS, write_ahead
from gnod.evaluate.index import Index, Progress, throw_away
from gnod.evaluate.meaning import Meaning
from gnod.evaluate.measures import DEPTH, in_order, measure
from gnod.evaluate.retrievers import MODES, Answer, Ranking, Retriever

PERCENTILES = (50, 95, 99)


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run in figures. `model`: the address of what embedded it, if something did; `expand` and `rerank`: of what
    had part in its queries. `budget_s`: of each query, None is no limit. `latency_ms` by percentile ("p50"), `measures`
    by name, `per_query` is nDCG@10 by query id. `cut`: stage → reason → in how many queries it did not run whole.

    `rewritten_queries` had to be asked without their quotation marks; `refused_queries` were no queries even so,
    and score 0. `failed_documents`: id → reason.
    """

    collection: str
    mode: str
    model: str | None = None
    expand: str | None = None
    rerank: str | None = None
    budget_s: float | None = None
    dataset_sha256: str
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


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """`rankings`: query id → documents with their scores, ties broken by docid."""

    summary: Summary
    rankings: dict[str, Ranking]


class _Asked:
    """What came of asking all queries in one mode."""

    def __init__(self) -> None:
        self.rankings: dict[str, Ranking] = {}
        self.took_ms: list[float] = []
        self.rewritten = 0
        self.refused = 0
        self.cut: dict[str, Counter[str]] = {}

    def ask(self, retriever: Retriever, query_id: str, query: str) -> None:
        """Ask as it is. The queries of test collections know nothing of our syntax: if that makes one invalid, ask
        once more without its quotation marks."""
        started = time.perf_counter()
        try:
            found = retriever(query, DEPTH)
        except QuerySyntaxError:
            found = self._ask_plainly(retriever, query)
        self.took_ms.append((time.perf_counter() - started) * 1000)
        self.rankings[query_id] = in_order(found.ranking)
        for stage in found.cut:
            self.cut.setdefault(stage.name, Counter())[stage.why or ""] += 1

    def _ask_plainly(self, retriever: Retriever, query: str) -> Answer:
        try:
            found = retriever(query.replace('"', " "), DEPTH)
        except QuerySyntaxError:
            self.refused += 1
            return Answer([], [])
        self.rewritten += 1
        return found


def evaluate(
    dataset: Dataset,
    modes: Sequence[str],
    progress: Progress,
    *,
    meaning: Meaning | None = None,
    max_queries: int | None = None,
    budget_s: float | None = None,
) -> Iterator[Run]:
    """Index the collection once and yield one run a mode. `meaning` is for those that need models. `max_queries` takes
    the first ones, for a quick look. `budget_s`: of each hybrid query; without one, no stage is cut by time, and what a
    model writes for a query is written before the queries are timed."""
    queries = dict(islice(dataset.queries.items(), max_queries))
    with throw_away(dataset, progress, meaning) as index:
        if budget_s is None and any("expand" in MODES[mode].uses for mode in modes):
            what = f"other words for the queries of {dataset.name}"
            write_ahead(index, queries.values(), lambda done: progress(what, done, len(queries)))
        for mode in modes:
            retriever = MODES[mode].retriever(index, budget_s)
            asked = _ask_all(retriever, queries, f"{mode} queries of {dataset.name}", progress)
            yield Run(summary=_summary(dataset, mode, index, asked, budget_s), rankings=asked.rankings)


def _ask_all(retriever: Retriever, queries: dict[str, str], what: str, progress: Progress) -> _Asked:
    for query in islice(queries.values(), 1):
        _Asked().ask(retriever, "", query)  # a daemon is warm: the first query opens the database
    asked = _Asked()
    for done, (query_id, query) in enumerate(queries.items(), start=1):
        asked.ask(retriever, query_id, query)
        progress(what, done, len(queries))
    return asked


def _summary(dataset: Dataset, mode: str, index: Index, asked: _Asked, budget_s: float | None) -> Summary:
    uses, meaning = MODES[mode].uses, index.meaning
    scores = measure({query_id: dataset.qrels[query_id] for query_id in asked.rankings}, asked.rankings)
    latencies = numpy.percentile(asked.took_ms, PERCENTILES)
    return Summary(
        collection=dataset.name,
        mode=mode,
        model=meaning.uri if meaning and "embed" in uses else None,
        expand=meaning.expand if meaning and "expand" in uses else None,
        rerank=meaning.rerank if meaning and "rerank" in uses else None,
        budget_s=budget_s if mode in VARIANTS else None,
        dataset_sha256=dataset.sha256,
        documents=len(dataset.documents),
        queries=len(asked.rankings),
        unjudged_queries=dataset.unjudged,
        rewritten_queries=asked.rewritten,
        refused_queries=asked.refused,
        measures=scores.mean,
        indexing_s=round(index.took_s, 3),
        latency_ms={f"p{at}": round(float(ms), 3) for at, ms in zip(PERCENTILES, latencies, strict=True)},
        failed_documents=index.failed,
        cut={stage: dict(reasons.most_common()) for stage, reasons in asked.cut.items()},
        per_query=scores.per_query,
    )
