"""Measure the quality of quotes, of evidence, and of the confidence that there is an answer. Prints JSON.

    .venv/bin/python -m benchmarks.answers_quality [--model URI] [--limit N [--seed N]] [--packets] FOLDER…

A FOLDER is a collection in BEIR layout. Quotes are measured for collections with `answers.tsv` (header line; query-id,
corpus-id and the text of an answer as in the document): whether they contain the answer, and whether the lines that
they name have it. Evidence and confidence are measured for all collections. --packets: only evidence. --seed: shuffle
the queries before the limit. `unanswerable.jsonl` may have queries that no document answers.

For the confidence, each question is asked twice: over the whole collection, and without the relevant documents and
their copies. Other documents stay, even if they contain the words of an answer: "1066" answers few questions about the
texts that contain it. The statistics of the index also stay.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy

from gnod import paths
from gnod.answers import evidence, quoting
from gnod.answers.confidence import NOTHING_FOUND, THRESHOLD
from gnod.answers.evidence import EvidenceList
from gnod.answers.nearness import NONSENSE, Floats
from gnod.answers.quotes import DOCUMENTS, MAX_QUOTES, ScoredQuote
from gnod.answers.quoting import Quoted, QuoteDependencies
from gnod.errors import QuerySyntaxError
from gnod.evaluate.dataset import CorpusDocument, Dataset, read, read_queries
from gnod.evaluate.index import COLLECTION, Index, Progress, temporary_index
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.report import ProgressLine
from gnod.evaluate.searching import UNBOUNDED_S, MeasuredModels
from gnod.ingest.text.canonical import canonicalise
from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.files import ModelFiles
from gnod.presets import PRESETS
from gnod.search.hybrid import stages
from gnod.search.hybrid.budget import ThroughputEstimate
from gnod.search.hybrid.stages import HybridSettings
from gnod.search.query.parsing import parse_question
from gnod.store.tables.filters import Filters
from gnod.types import UnavailableModel

# The maximum number of tokens in a packet of evidence.
MAX_TOKENS = 1000
LATENCIES = (50, 95)
_GATHERED = HybridSettings(limit=evidence.DOCUMENTS, budget_s=UNBOUNDED_S)
_NO_RERANKER = UnavailableModel("no model was given")

Answers = Mapping[str, Sequence[str]]
"""Texts of answers by query id."""


class QuoteFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`first`: share of the questions whose first quote contains an answer; `three`: one of the first three. `exact`:
    share of the quotes that equal the lines that they name, letter by letter (in Unicode NFC, as indexed).
    `latency_ms`: from the question to the quotes, by percentile."""

    questions: int
    first: float
    three: float
    exact: float
    latency_ms: dict[str, float]


class EvidenceFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`hits`: share of the questions whose packet contains an answer or a part of a relevant document. `answers`: share
    of the questions with answers whose packet contains one; None if no question has answers. `documents`: share of the
    relevant documents with a part in the packet, mean over the questions. `tokens`: mean over all packets.
    `median_tokens`: over the packets with an answer, or, without answers, with a part of a relevant document.
    `tokens_per_hit`: all tokens divided by the number of hits. `latency_ms`: from the question to the packet, by
    percentile."""

    questions: int
    max_tokens: int
    hits: float
    answers: float | None
    documents: float
    tokens: float
    median_tokens: float | None
    tokens_per_hit: float | None
    passages: float
    latency_ms: dict[str, float]


class AbstentionFigures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`auroc`: the probability that a question has a higher confidence with the relevant documents than another
    question without them. `answered`: the share of the questions that reach the threshold; `answered_without`: the same
    without the relevant documents. `unanswerable`: the number of questions in `unanswerable.jsonl`;
    `answered_unanswerable`: the share of these that reach the threshold."""

    questions: int
    auroc: float
    answered: float
    answered_without: float
    unanswerable: int = 0
    answered_unanswerable: float | None = None


class Quoter:
    """Asks questions over one index."""

    def __init__(self, index: Index, models: EvaluationModels) -> None:
        self._models = models
        self._search = MeasuredModels(index.database, models).search_dependencies()
        self._options = HybridSettings(limit=DOCUMENTS, expand=False, rerank=False, budget_s=UNBOUNDED_S)
        nonsense = {models.uri: models.run(models.embedder.texts(NONSENSE))}
        reranker = models.reranker or _NO_RERANKER
        self._quote = QuoteDependencies(index.database.read, self._embed, nonsense, reranker, ThroughputEstimate())

    def ask(self, question: str, excluded: frozenset[int] = frozenset()) -> Quoted:
        """Return the quotes. `excluded`: ids of documents that are ignored. Only the statistics of the index (how many
        documents have a word) still include them."""
        return self._models.run(self._quotes(question, excluded))

    def gather(self, question: str, max_tokens: int) -> EvidenceList:
        """Return the packet of evidence within `max_tokens`."""
        return self._models.run(self._gather(question, max_tokens))

    async def _gather(self, question: str, max_tokens: int) -> EvidenceList:
        try:
            query = parse_question(question)
        except QuerySyntaxError:
            return EvidenceList([], 0, [], NOTHING_FOUND, [])
        found = await stages.search(self._search, query, Filters(collections=(COLLECTION,)), _GATHERED)
        return await evidence.gather(self._quote, question, found, max_tokens=max_tokens, limit_s=UNBOUNDED_S)

    async def _quotes(self, question: str, excluded: frozenset[int]) -> Quoted:
        try:
            query = parse_question(question)
        except QuerySyntaxError:
            return Quoted([], NOTHING_FOUND, [])
        filters = Filters(collections=(COLLECTION,), excluded=excluded)
        found = await stages.search(self._search, query, filters, self._options)
        return await quoting.quote(self._quote, question, found, limit_s=UNBOUNDED_S)

    async def _embed(self, uri: str, sentences: Sequence[EmbeddingText]) -> Floats:
        assert uri == self._models.uri
        return await self._models.embedder.sentences(sentences)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--model", default=PRESETS["mini"]["embed"])
    parser.add_argument("--rerank")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--packets", action="store_true")
    options = parser.parse_args()
    files = ModelFiles(paths.resolve(None).models_dir)
    with EvaluationModels(options.model, files, rerank=options.rerank) as models:
        models.check()
        for folder in options.folders:
            print(msgspec.json.encode(_measure(folder, models, options)).decode(), flush=True)


def _measure(folder: Path, models: EvaluationModels, options: argparse.Namespace) -> dict[str, object]:
    dataset, progress = read(folder), ProgressLine(sys.stderr)
    asked = list(dataset.queries.items())
    if options.seed is not None:
        random.Random(options.seed).shuffle(asked)
    queries = dict(asked[: options.limit])
    answers = _answers(folder / "answers.tsv")
    unanswerable = folder / "unanswerable.jsonl"
    unanswered = read_queries(unanswerable) if unanswerable.is_file() else {}
    with temporary_index(dataset, progress, models, tune=True) as index:
        quoter = Quoter(index, models)
        packets: dict[str, object] = {
            "collection": dataset.name,
            "evidence": measure_evidence(dataset, answers, queries, quoter, progress),
        }
        if options.packets:
            return packets
        return packets | {
            "quotes": measure_quotes(dataset, answers, queries, quoter, progress),
            "abstention": measure_abstention(dataset, unanswered, queries, quoter, index, progress),
        }


def _answers(path: Path) -> dict[str, list[str]]:
    answers: dict[str, list[str]] = {}
    for line in path.read_text().splitlines()[1:] if path.is_file() else ():
        query_id, _, answer = line.split("\t")
        answers.setdefault(query_id, []).append(answer)
    return answers


def measure_quotes(
    dataset: Dataset, answers: Answers, queries: Mapping[str, str], quoter: Quoter, progress: Progress
) -> QuoteFigures | None:
    """Ask the queries that have an answer, as `gnoctl ask` does; None if there are none."""
    asked = {query_id: text for query_id, text in queries.items() if query_id in answers}
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
        found = [_holds(quote.text, answers[query_id]) for quote in quotes]
        first += found[:1] == [True]
        three += any(found[:MAX_QUOTES])
        exact += sum(quote.text in canonicalise("\n".join(_named(lines[quote.path], quote))) for quote in quotes)
        total += len(quotes)
        progress(f"quotes from {dataset.name}", done, len(asked))
    return QuoteFigures(
        questions=len(asked),
        first=first / len(asked),
        three=three / len(asked),
        exact=exact / total if total else 1.0,
        latency_ms=_latencies(took_ms),
    )


def measure_evidence(
    dataset: Dataset, answers: Answers, queries: Mapping[str, str], quoter: Quoter, progress: Progress
) -> EvidenceFigures | None:
    """Gather evidence for the queries, as `gnoctl evidence --tokens 1000` does; None if there are none."""
    if not queries:
        return None
    hits, documents, tokens, passages, took_ms = 0, 0.0, 0, 0, []
    answered: list[bool] = []
    sizes: list[int] = []
    quoter.gather(next(iter(queries.values())), MAX_TOKENS)  # warm up, because a daemon is warm
    for done, (query_id, question) in enumerate(queries.items(), start=1):
        started = time.perf_counter()
        found = quoter.gather(question, MAX_TOKENS)
        took_ms.append((time.perf_counter() - started) * 1000)
        relevant = {id_ for id_, grade in dataset.qrels[query_id].items() if grade > 0}
        share = len(relevant & {passage.place.document.path for passage in found.passages}) / (len(relevant) or 1)
        has_answer = False
        if query_id in answers:
            has_answer = any(_holds(f"{each.lead}\n{each.text}", answers[query_id]) for each in found.passages)
            answered.append(has_answer)
        hits += has_answer or share > 0
        if has_answer or (query_id not in answers and share > 0):
            sizes.append(found.tokens)
        documents += share
        tokens += found.tokens
        passages += len(found.passages)
        progress(f"evidence from {dataset.name}", done, len(queries))
    return EvidenceFigures(
        questions=len(queries),
        max_tokens=MAX_TOKENS,
        hits=hits / len(queries),
        answers=sum(answered) / len(answered) if answered else None,
        documents=documents / len(queries),
        tokens=tokens / len(queries),
        median_tokens=float(numpy.median(sizes)) if sizes else None,
        tokens_per_hit=tokens / hits if hits else None,
        passages=passages / len(queries),
        latency_ms=_latencies(took_ms),
    )


def measure_abstention(
    dataset: Dataset,
    unanswered: Mapping[str, str],
    queries: Mapping[str, str],
    quoter: Quoter,
    index: Index,
    progress: Progress,
) -> AbstentionFigures | None:
    """Ask every query that has a relevant document in the index; None if there are none."""
    removed = _relevant(dataset, index)
    asked = {query_id: text for query_id, text in queries.items() if removed.get(query_id)}
    if not asked:
        return None
    total = 2 * len(asked) + len(unanswered)
    done = 0

    def ask(question: str, excluded: frozenset[int] = frozenset()) -> float:
        nonlocal done
        confidence = quoter.ask(question, excluded).confidence.value
        done += 1
        progress(f"asking {dataset.name} with and without the answer", done, total)
        return confidence

    having = [ask(question) for question in asked.values()]
    lacking = [ask(question, removed[query_id]) for query_id, question in asked.items()]
    unanswerable = [ask(question) for question in unanswered.values()]
    return AbstentionFigures(
        questions=len(asked),
        auroc=auroc(having, lacking),
        answered=_share(having),
        answered_without=_share(lacking),
        unanswerable=len(unanswerable),
        answered_unanswerable=_share(unanswerable) if unanswerable else None,
    )


def _named(lines: Sequence[str], quote: ScoredQuote) -> Sequence[str]:
    """Return the lines that a quote names."""
    return lines[quote.line - 1 : quote.end_line]


def _holds(text: str, answers: Sequence[str]) -> bool:
    """Tell whether a text contains an answer; white space is normalised."""
    return any(_single_spaced(answer) in _single_spaced(text) for answer in answers)


def _single_spaced(text: str) -> str:
    """Return a text in the Unicode form of the index, with single spaces."""
    return " ".join(canonicalise(text).split())


def _latencies(took_ms: Sequence[float]) -> dict[str, float]:
    found = numpy.percentile(took_ms, LATENCIES)
    return {f"p{at}": round(float(ms), 3) for at, ms in zip(LATENCIES, found, strict=True)}


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the area under the ROC curve: the share of pairs whose positive value is larger; equal values count half.
    Neither list may be empty.

    >>> auroc([0.9, 0.5], [0.5, 0.1])
    0.875
    """
    ordered = numpy.sort(negative)
    below = numpy.searchsorted(ordered, positive, side="left") + numpy.searchsorted(ordered, positive, side="right")
    return float(below.mean() / (2 * len(negative)))


def _share(confidences: Sequence[float]) -> float:
    return sum(confidence >= THRESHOLD for confidence in confidences) / len(confidences)


def _relevant(dataset: Dataset, index: Index) -> dict[str, frozenset[int]]:
    """Return the ids, in the store, of the relevant documents of each query and of their copies. In some collections, a
    negative grade is a degree of relevance."""
    numbers = {id_: number for number, id_ in index.ids.items()}
    plain = {document.id: _plain(document) for document in dataset.documents if document.id in numbers}
    same: defaultdict[str, list[int]] = defaultdict(list)
    for id_, text in plain.items():
        same[text].append(numbers[id_])
    return {
        query_id: frozenset(
            number for id_, grade in grades.items() if grade and id_ in plain for number in same[plain[id_]]
        )
        for query_id, grades in dataset.qrels.items()
    }


def _plain(document: CorpusDocument) -> str:
    return " ".join((document.text.strip() or document.title).casefold().split())


if __name__ == "__main__":
    main()
