"""Measure quotes: whether they contain the answer of a question, and stand at the lines that they name.

For collections with `answers.tsv` (query-id, corpus-id and the text of an answer, as in the document; header line).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec
import numpy

from gnod.answers.quotes import MAX_QUOTES, ScoredQuote
from gnod.evaluate.dataset import Dataset
from gnod.evaluate.index import Progress
from gnod.evaluate.quoter import Quoter
from gnod.ingest.text.canonical import canonicalise

PERCENTILES = (50, 95)


class QuoteFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`first`: share of the questions whose first quote contains an answer; `three`: one of the first three. `exact`:
    share of the quotes that are at the lines that they name, letter by letter (in Unicode NFC, as indexed).
    `latency_ms`: from the question to the quotes, by percentile."""

    questions: int
    first: float
    three: float
    exact: float
    latency_ms: dict[str, float]


def measure(dataset: Dataset, queries: Mapping[str, str], quoter: Quoter, progress: Progress) -> QuoteFigures | None:
    """Ask the queries that have an answer, as `gnoctl ask` does; None if there are none."""
    asked = {query_id: text for query_id, text in queries.items() if query_id in dataset.answers}
    if not asked:
        return None
    lines = {document.id: document.text.split("\n") for document in dataset.documents}
    first = three = exact = total = 0
    took_ms = []
    quoter.ask(next(iter(asked.values())))  # warm up, because a daemon is warm
    for done, (query_id, question) in enumerate(asked.items(), start=1):
        started = time.perf_counter()
        quotes = quoter.ask(question).quotes
        took_ms.append((time.perf_counter() - started) * 1000)
        found = [holds(quote.text, dataset.answers[query_id]) for quote in quotes]
        first += found[:1] == [True]
        three += any(found[:MAX_QUOTES])
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


def _named(lines: Sequence[str], quote: ScoredQuote) -> Sequence[str]:
    """Return the lines that a quote names."""
    return lines[quote.line - 1 : quote.end_line]


def holds(text: str, answers: Sequence[str]) -> bool:
    """Tell whether a text contains an answer, whatever white space is in them."""
    return any(_plain(answer) in _plain(text) for answer in answers)


def _plain(text: str) -> str:
    """Return a text in the Unicode form of the index, with single spaces."""
    return " ".join(canonicalise(text).split())
