"""Measure evidence: whether a packet of so many tokens has the answer of a question, or a part of a relevant document.

For all collections; the answers are those of `answers.tsv`.
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
from gnod.pipeline.answering import evidence
from gnod.pipeline.answering.evidence import Evidence
from gnod.pipeline.answering.quoting import QuoteDependencies
from gnod.pipeline.answering.sources import NONSENSE, Floats
from gnod.pipeline.budget import ThroughputEstimate
from gnod.pipeline.hybrid import SearchOptions
from gnod.pipeline.query import parse_question
from gnod.store.documents.filters import Filters
from gnod.types import Unavailable

MAX_TOKENS = 1000
PERCENTILES = (50, 95)
_NO_RERANKER = Unavailable("no model was given")


class EvidenceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`hits`: share of the questions whose packet contains an answer or a part of a relevant document. `answers`: share
    of the questions that have answers whose packet contains one; None without any. `documents`: share of the relevant
    documents that have a part in the packet, mean of the questions. `tokens`: mean of all packets. `tokens_per_hit`:
    all tokens by the number of hits. `latency_ms`: from the question to the packet, by percentile."""

    questions: int
    max_tokens: int
    hits: float
    answers: float | None
    documents: float
    tokens: float
    tokens_per_hit: float | None
    passages: float
    latency_ms: dict[str, float]


def measure(dataset: Dataset, queries: Mapping[str, str], index: Index, progress: Progress) -> EvidenceFigures | None:
    """Gather evidence for the queries, as `gnoctl evidence --tokens 1000` does; None without models."""
    if not queries or index.models is None:
        return None
    gatherer = _Gatherer(index, index.models)
    hits, documents, tokens, passages, took_ms = 0, 0.0, 0, 0, []
    answered: list[bool] = []
    gatherer.gather(next(iter(queries.values())))  # warm up, as a daemon is
    for done, (query_id, question) in enumerate(queries.items(), start=1):
        started = time.perf_counter()
        found = gatherer.gather(question)
        took_ms.append((time.perf_counter() - started) * 1000)
        relevant = {id_ for id_, grade in dataset.qrels[query_id].items() if grade > 0}
        share = len(relevant & {each.place.document.path for each in found.passages}) / (len(relevant) or 1)
        has_answer = False
        if query_id in dataset.answers:
            has_answer = _holds(found, dataset.answers[query_id])
            answered.append(has_answer)
        hits += has_answer or share > 0
        documents += share
        tokens += found.tokens
        passages += len(found.passages)
        progress(f"evidence from {dataset.name}", done, len(queries))
    latencies = numpy.percentile(took_ms, PERCENTILES)
    return EvidenceFigures(
        questions=len(queries),
        max_tokens=MAX_TOKENS,
        hits=hits / len(queries),
        answers=sum(answered) / len(answered) if answered else None,
        documents=documents / len(queries),
        tokens=tokens / len(queries),
        tokens_per_hit=tokens / hits if hits else None,
        passages=passages / len(queries),
        latency_ms={f"p{at}": round(float(ms), 3) for at, ms in zip(PERCENTILES, latencies, strict=True)},
    )


class _Gatherer:
    """Searches and gathers as the daemon does, without a limit to the time."""

    def __init__(self, index: Index, models: EvaluationModels) -> None:
        self._models = models
        self._search = search_dependencies(index.database, models)
        self._options = SearchOptions(limit=evidence.DOCUMENTS, budget_s=UNBOUNDED_S)
        nonsense = {models.uri: models.run(models.embedder.texts(NONSENSE))}
        reranker = models.reranker or _NO_RERANKER
        self._quote = QuoteDependencies(index.database.read, self._embed, nonsense, reranker, ThroughputEstimate())

    def gather(self, question: str) -> Evidence:
        return self._models.run(self._gather(question))

    async def _gather(self, question: str) -> Evidence:
        try:
            query = parse_question(question)
        except QuerySyntaxError:
            return Evidence([], 0, [], [])
        found = await hybrid.search(self._search, query, Filters(collections=(COLLECTION,)), self._options)
        return await evidence.gather(self._quote, question, found, max_tokens=MAX_TOKENS, limit_s=UNBOUNDED_S)

    async def _embed(self, uri: str, sentences: Sequence[EmbeddingText]) -> Floats:
        assert uri == self._models.uri
        return await self._models.embedder.sentences(sentences)


def _holds(found: Evidence, answers: Sequence[str]) -> bool:
    texts = [_plain(f"{each.lead}\n{each.text}") for each in found.passages]
    return any(_plain(answer) in text for answer in answers for text in texts)


def _plain(text: str) -> str:
    """Return a text in the Unicode form of the index, with single spaces."""
    return " ".join(canonicalise(text).split())
