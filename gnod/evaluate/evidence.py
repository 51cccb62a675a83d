"""Measure evidence: whether a packet of a given size has the answer of a question, or a part of a relevant document.

For all collections; the answers are those of `answers.tsv`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import msgspec
import numpy

from gnod.answers.evidence import EvidenceList
from gnod.evaluate.answers import holds
from gnod.evaluate.dataset import Dataset
from gnod.evaluate.index import Progress
from gnod.evaluate.quoter import Quoter

MAX_TOKENS = 1000
PERCENTILES = (50, 95)


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


def measure(dataset: Dataset, queries: Mapping[str, str], quoter: Quoter, progress: Progress) -> EvidenceFigures | None:
    """Gather evidence for the queries, as `gnoctl evidence --tokens 1000` does; None if there are none."""
    if not queries:
        return None
    hits, documents, tokens, passages, took_ms = 0, 0.0, 0, 0, []
    answered: list[bool] = []
    quoter.gather(next(iter(queries.values())), MAX_TOKENS)  # warm up, because a daemon is warm
    for done, (query_id, question) in enumerate(queries.items(), start=1):
        started = time.perf_counter()
        found = quoter.gather(question, MAX_TOKENS)
        took_ms.append((time.perf_counter() - started) * 1000)
        relevant = {id_ for id_, grade in dataset.qrels[query_id].items() if grade > 0}
        share = len(relevant & {passage.place.document.path for passage in found.passages}) / (len(relevant) or 1)
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


def _holds(found: EvidenceList, answers: Sequence[str]) -> bool:
    return any(holds(f"{passage.lead}\n{passage.text}", answers) for passage in found.passages)
