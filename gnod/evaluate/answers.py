"""Measure quotes: whether they contain the answer of a question, and stand at the lines that they name.

For collections with `answers.tsv` (query-id, corpus-id and the text of an answer, as in the document; header line).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec
import numpy

from gnod.errors import QuerySyntaxError
from gnod.evaluate.dataset import Dataset
from gnod.evaluate.index import COLLECTION, Index, Progress
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.modes import UNBOUNDED_S, search_dependencies
from gnod.ingest.canonical import canonicalise
from gnod.models.profiles import EmbeddingText
from gnod.pipeline import hybrid
from gnod.pipeline.answering import quoting
from gnod.pipeline.answering.quotes import DOCUMENTS, MAX_QUOTES, Quote
from gnod.pipeline.answering.quoting import QuoteDependencies
from gnod.pipeline.answering.sources import NONSENSE, Floats
from gnod.pipeline.budget import ThroughputEstimate
from gnod.pipeline.hybrid import SearchOptions
from gnod.pipeline.query import parse_query
from gnod.store.documents.filters import Filters
from gnod.types import Unavailable

PERCENTILES = (50, 95)
_NO_RERANKER = Unavailable("no model was given")


class QuoteFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`first`: share of the questions whose first quote contains an answer; `three`: one of the first three. `exact`:
    share of the quotes that are at the lines that they name, letter by letter (in Unicode NFC, as indexed).
    `latency_ms`: from the question to the quotes, by percentile."""

    questions: int
    first: float
    three: float
    exact: float
    latency_ms: dict[str, float]


def measure(dataset: Dataset, queries: Mapping[str, str], index: Index, progress: Progress) -> QuoteFigures | None:
    """Ask the queries that have an answer, as `gnoctl ask` does; None if there are none."""
    asked = {query_id: text for query_id, text in queries.items() if query_id in dataset.answers}
    if not asked or index.models is None:
        return None
    quoter = _Quoter(index, index.models)
    lines = {document.id: document.text.split("\n") for document in dataset.documents}
    first = three = exact = total = 0
    took_ms = []
    quoter.quotes(next(iter(asked.values())))  # warm up, as a daemon is
    for done, (query_id, question) in enumerate(asked.items(), start=1):
        started = time.perf_counter()
        quotes = quoter.quotes(question)
        took_ms.append((time.perf_counter() - started) * 1000)
        holds = [_holds(quote.text, dataset.answers[query_id]) for quote in quotes]
        first += holds[:1] == [True]
        three += any(holds[:MAX_QUOTES])
        exact += sum(quote.text in canonicalise("\n".join(_named(lines[quote.path], quote))) for quote in quotes)
        total += len(quotes)
        progress(f"quotes from {dataset.name}", done, len(asked))
    latencies = numpy.percentile(took_ms, PERCENTILES)
    return QuoteFigures(
        questions=len(asked),
        first=first / len(asked),
        three=three / len(asked),
        exact=exact / total if total else 1.0,
        latency_ms={f"p{at}": round(float(ms), 3) for at, ms in zip(PERCENTILES, latencies, strict=True)},
    )


class _Quoter:
    """Searches and quotes as the daemon does, without a limit to the time."""

    def __init__(self, index: Index, models: EvaluationModels) -> None:
        self._index = index
        self._models = models
        self._search = search_dependencies(index.database, models)
        self._options = SearchOptions(limit=DOCUMENTS, expand=False, rerank=False, budget_s=UNBOUNDED_S)
        nonsense = {models.uri: models.run(models.embedder.texts(NONSENSE))}
        reranker = models.reranker or _NO_RERANKER
        self._quote = QuoteDependencies(index.database.read, self._embed, nonsense, reranker, ThroughputEstimate())

    def quotes(self, question: str) -> list[Quote]:
        return self._models.run(self._quotes(question))

    async def _quotes(self, question: str) -> list[Quote]:
        try:
            query = parse_query(question.replace('"', " "))
        except QuerySyntaxError:
            return []
        found = await hybrid.search(self._search, query, Filters(collections=(COLLECTION,)), self._options)
        return (await quoting.quote(self._quote, question, found, limit_s=UNBOUNDED_S)).quotes

    async def _embed(self, uri: str, sentences: Sequence[EmbeddingText]) -> Floats:
        assert uri == self._models.uri
        return await self._models.embedder.sentences(sentences)


def _named(lines: Sequence[str], quote: Quote) -> Sequence[str]:
    """Return the lines that a quote names."""
    return lines[quote.line - 1 : quote.end_line]


def _holds(text: str, answers: Sequence[str]) -> bool:
    return any(_plain(answer) in _plain(text) for answer in answers)


def _plain(text: str) -> str:
    """Return a text in the Unicode form of the index, with single spaces."""
    return " ".join(canonicalise(text).split())
