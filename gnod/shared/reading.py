"""Search a shared collection. The engine finds candidates, the replica stores them, and they are ranked there.

Blocks, so it is called in threads, one call at a time. Only documents that the engine returned for this request count.
So a document that was removed from the collection is not found, even if the replica still has it. Raises Unreachable,
EngineFailed and NotPublished.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gnod.caches import Cache
from gnod.search.hybrid.across_indexes import Meant
from gnod.search.keyword import expression, lexical
from gnod.search.keyword.expression import Expression
from gnod.search.meaning import candidate_documents, vector_search
from gnod.search.meaning.candidate_documents import Spread
from gnod.search.meaning.vector_matrix import Layout
from gnod.search.meaning.vector_search import SurveyedVectors
from gnod.search.ranking.ranked import RankedDocument
from gnod.shared.engine import CollectionHeader, Key, Restriction, ScoredDocument, SharedDocument, SharedEngine, Vector
from gnod.shared.replica import Replica
from gnod.shared.weights import term_id
from gnod.store.connection import Connection, json_list
from gnod.store.keyword_index.fulltext import PhraseDocumentCounts, Term, Weighed
from gnod.store.keyword_index.postings.view import sample
from gnod.store.tables.filters import Condition, Filters
from gnod.store.vectors import vector_rows
from gnod.store.vectors.vector_rows import DTYPE

# The number of candidates by keyword, unless more results are requested, and the maximum.
BY_WORDS = 200
MOST = 1000
# The number of documents to fetch at a time.
_FETCHED = 50
# The deviation over this many documents differs by at most 5 % from the deviation over all documents.
SIZE = 1000
# The maximum number of pieces of a document, because a long document would need much memory.
_MOST_PIECES = 32
Floats = NDArray[np.float32]


class DocumentSample:
    """Random documents of a shared collection, in memory, for estimates over all its documents without a request.
    Fusion needs the mean and the deviation over all documents to see how far the best one stands out
    (gnod.search.ranking.fusion).

    `dimensions`: of the vectors; None if there are no vectors."""

    def __init__(self, documents: Sequence[SharedDocument], dimensions: int | None) -> None:
        self._keys = [document.key for document in documents]
        found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        for number, document in enumerate(documents):
            for id_, weight in document.weights.items():
                found[id_].append((number, weight))
        self._terms = {
            id_: (np.array([n for n, _ in places], np.int32), np.array([w for _, w in places], np.float32))
            for id_, places in found.items()
        }
        rows = [
            (number, piece.embedding)
            for number, document in enumerate(documents)
            for piece in document.pieces[:_MOST_PIECES]
            if dimensions and len(piece.embedding) == dimensions * DTYPE.itemsize
        ]
        data = b"".join(embedding for _, embedding in rows)
        self._vectors = np.nan_to_num(np.frombuffer(data, DTYPE).reshape(len(rows), dimensions or 0))
        numbers = np.array([number for number, _ in rows], np.int64)
        self._layout = Layout.of(np.arange(len(rows)), numbers, np.zeros(len(rows), np.int32))

    def __len__(self) -> int:
        return len(self._keys)

    def cosines(self, query: Vector) -> Floats:
        """Return the cosine of the best piece of each document that has vectors."""
        if len(query) != self._vectors.shape[1]:
            return np.empty(0, np.float32)
        return self._layout.best(np.asarray(self._vectors @ query, np.float32))

    def sums(self, weights: Mapping[int, float], without: Collection[Key], documents: int) -> tuple[float, float]:
        """Estimate the sum of the scores of this many documents that are not in `without`, and the sum of their square
        roots. `weights`: of the query's terms."""
        outside = np.array([key not in without for key in self._keys], bool)
        if documents <= 0 or not outside.any():
            return 0.0, 0.0
        scores = np.zeros(len(self._keys))
        for id_, weight in weights.items():
            if id_ in self._terms:
                numbers, frequencies = self._terms[id_]
                scores[numbers] += weight * frequencies
        scores = np.maximum(scores[outside], 0.0)
        scale = documents / len(scores)
        return float(scores.sum() * scale), float(np.sqrt(scores).sum() * scale)


class Shared:
    """An attached collection. `reads_words`: the publisher has the same analyser. `uri`: the model of the vectors, if
    the reader has it. `sample` is None until it has been taken."""

    def __init__(
        self,
        engine: SharedEngine,
        replica: Replica,
        header: CollectionHeader,
        *,
        reads_words: bool = True,
        uri: str | None = None,
    ) -> None:
        self.engine = engine
        self.replica = replica
        self.header = header
        self.reads_words = reads_words
        self.uri = uri
        self.sample: DocumentSample | None = None
        self._lock = Lock()
        self._frequencies: tuple[int, Cache[str, int]] = (header.change, Cache())

    def frequencies(self, terms: Collection[str]) -> Mapping[str, int]:
        """Return the document frequencies of terms, as of the last header."""
        change = self.header.change
        with self._lock:
            if self._frequencies[0] != change:
                self._frequencies = (change, Cache())
            known = self._frequencies[1]
        found = {term: number for term in terms if (number := known.get(term)) is not None}
        if unknown := set(terms) - found.keys():
            counted = self.engine.frequencies(unknown)
            found |= {term: known.keep(term, counted.get(term, 0)) for term in unknown}
        return found

    def bring(self, found: Sequence[ScoredDocument], until: float = math.inf) -> dict[Key, int]:
        """Fetch the documents whose version the replica lacks, in order: always the first group, and more until
        `until`. Returns the ids in the replica."""
        keys = [document.key for document in found]
        held = self._held(keys)
        missing = [
            document.key for document in found if document.key not in held or held[document.key][0] != document.version
        ]
        for start in range(0, len(missing), _FETCHED):
            if start and time.monotonic() > until:
                break
            self.store(self.engine.documents(missing[start : start + _FETCHED]))
        if missing:
            held = self._held(keys)
        return {key: held[key][1] for key in keys if key in held}

    def _held(self, keys: Sequence[Key]) -> dict[Key, tuple[str, int]]:
        with self.replica.reading() as connection:
            return self.replica.held(connection, keys)

    def store(self, documents: Sequence[SharedDocument]) -> None:
        if documents:
            self.replica.store(documents, self.uri or self.header.model, self.header.dimensions)

    def fetch(self, key: Key) -> bool:
        """Fetch the current version of a document. Returns False if it does not exist."""
        documents = self.engine.documents([key])
        self.store(documents)
        return bool(documents)


class SharedRequest:
    """One request, with its filters. After `until` (of `time.monotonic`), no more documents are fetched. `is_cut`: some
    documents are missing because of this."""

    def __init__(self, shared: Shared, filters: Filters) -> None:
        self.until = math.inf
        self.is_cut = False
        self._shared = shared
        self._filters = filters._replace(collections=(shared.replica.name,))
        self._within = _restriction(filters)
        self._asked: list[tuple[Expression, Sequence[Weighed]]] = []

    def count(self, terms: Sequence[Term]) -> PhraseDocumentCounts:
        """Count the documents with each phrase. A phrase of several terms counts as its rarest term."""
        phrases = {phrase: _terms_of(phrase) for term in terms for phrase in term.phrases}
        known = self._shared.frequencies({term for found in phrases.values() for term in found})
        counted = {
            phrase: max(min(known.get(term, 0) for term in found), 0) for phrase, found in phrases.items() if found
        }
        return PhraseDocumentCounts(self._shared.header.documents, counted)

    def rank(self, wanted: Expression, terms: Sequence[Weighed], limit: int) -> lexical.Matches:
        found = self._find(terms, max(BY_WORDS, min(2 * limit, MOST)))
        with self._candidates(self._bring(found).values()) as connection:
            return lexical.rank(connection, wanted, terms, self._filters, limit=limit)

    def survey(self, wanted: Expression, terms: Sequence[Weighed]) -> lexical.Part:
        found = self._find(terms, BY_WORDS)
        self._asked.append((wanted, terms))
        ids = self._bring(found)
        part = self._part(wanted, terms, ids.values())
        # The sums are over all documents, including documents that do not pass the filters.
        rest = self._rest(terms, ids.keys())
        whole = part.found._replace(
            documents=self._shared.header.documents,
            total=part.found.total + rest[0],
            total_of_roots=part.found.total_of_roots + rest[1],
        )
        return part._replace(found=whole, is_cut=len(found) >= BY_WORDS)

    def meanings(self, rows: Sequence[Mapping[str, Vector]], also: Sequence[Collection[int]], pool: int) -> Meant:
        uri = self._shared.uri
        queries = [row.get(uri) if uri else None for row in rows]
        found = [self._nearest(query, pool) for query in queries]
        ids = self._bring(list({each.key: each for one in found for each in one}.values()))
        with self._shared.replica.reading() as connection:
            surveys = [
                self._surveyed(connection, query, {ids[each.key] for each in one if each.key in ids} | set(more))
                for query, one, more in zip(queries, found, also, strict=True)
            ]
        return Meant(surveys, [self._part(*each, ids.values()).scores for each in self._asked])

    def _bring(self, found: Sequence[ScoredDocument]) -> dict[Key, int]:
        ids = self._shared.bring(found, self.until)
        self.is_cut |= len(ids) < len(found) and time.monotonic() > self.until
        return ids

    def _find(self, terms: Sequence[Weighed], limit: int) -> list[ScoredDocument]:
        weights: dict[int, float] = {}
        for phrase, weight in [(phrase, term.weight) for term in terms for phrase, n in term.frequencies if n]:
            of_phrase = _terms_of(phrase)
            for id_ in map(term_id, of_phrase):
                weights[id_] = weights.get(id_, 0.0) + weight / len(of_phrase)
        return self._shared.engine.by_words(weights, self._within, limit)[:limit] if weights else []

    def _nearest(self, query: Vector | None, pool: int) -> list[ScoredDocument]:
        return [] if query is None else self._shared.engine.nearest(query, self._within, pool)[:pool]

    def _part(self, wanted: Expression, terms: Sequence[Weighed], ids: Collection[int]) -> lexical.Part:
        with self._candidates(ids) as connection:
            return lexical.survey_part(connection, wanted, terms, self._filters, depth=len(ids) + 1)

    @contextmanager
    def _candidates(self, ids: Collection[int]) -> Iterator[Connection]:
        """Yield the replica for a keyword search among these documents."""
        mean = max(self._shared.header.average, 1.0)
        with self._shared.replica.reading() as connection, sample(connection, ids, mean):
            yield connection

    def _rest(self, terms: Sequence[Weighed], found: Collection[Key]) -> tuple[float, float]:
        """Estimate the sums of the scores of all other documents, and of their square roots."""
        sample = self._shared.sample
        if sample is None:
            return 0.0, 0.0
        weights: dict[int, float] = {}
        for phrase, weight in [(phrase, term.weight) for term in terms for phrase, _ in term.frequencies]:
            of_phrase = _terms_of(phrase)
            if len(of_phrase) == 1:
                id_ = term_id(of_phrase[0])
                weights[id_] = weights.get(id_, 0.0) + weight
        return sample.sums(weights, found, self._shared.header.documents - len(found))

    def _surveyed(self, connection: Connection, query: Vector | None, ids: Collection[int]) -> SurveyedVectors:
        uri = self._shared.uri
        model = vector_rows.model(connection, uri) if uri else None
        if query is None or uri is None or model is None or not ids:
            return SurveyedVectors([], None)
        ranking = candidate_documents.of_documents(connection, model.id, query, ids)
        ranked: list[RankedDocument] = candidate_documents.these(connection, ranking, self._among(ids), ids)
        spread = self._spread(query)
        return SurveyedVectors(ranked, vector_search.prominence(spread, ranked), {uri: spread} if spread else {})

    def _spread(self, query: Vector) -> Spread | None:
        sample = self._shared.sample
        spread = Spread.of(sample.cosines(query)) if sample else None
        return spread._replace(documents=self._shared.header.documents) if spread else None

    def _among(self, ids: Collection[int]) -> Filters:
        listed = json_list(sorted(ids))
        only = Condition("d.id IN (SELECT value FROM json_each(?))", (listed,))
        return self._filters._replace(conditions=(*self._filters.conditions, only))


def _terms_of(phrase: str) -> tuple[str, ...]:
    """Return the terms of a phrase; empty if the last term is only the beginning of a word."""
    return () if phrase.endswith(" *") else expression.terms_of(phrase)


def _restriction(filters: Filters) -> Restriction:
    names = Restriction._fields
    return Restriction(**{name: getattr(filters, name) for name in names})
