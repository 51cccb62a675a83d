"""Implements the search interface over a collection of an index: the reference for published collections.

It reads all documents in each search, so it is only for comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nlargest

import numpy as np

from gnod.analysis.terms import VERSION
from gnod.ingest.text.document_terms import terms_of
from gnod.shared.engine import (
    FORMAT,
    CollectionHeader,
    Key,
    Restriction,
    ScoredDocument,
    SharedDocument,
    SharedListing,
    Vector,
    key_of,
    keys_below,
)
from gnod.shared.payload import shared_document
from gnod.shared.weights import counts_of, term_id
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.filters import Filters
from gnod.store.vectors.vector_rows import DTYPE


class LocalEngine:
    """A collection of an index in one snapshot of the database."""

    def __init__(self, connection: Connection, collection: str, uri: str | None, average: float | None = None) -> None:
        self._connection = connection
        self._collection = collection
        self._uri = uri
        self._counts = {
            document.id: counts_of(terms_of(document.language, document.path, document.title, text, document.mime))
            for document in documents.under(connection, collection, "", -1, 0)
            for text in [documents.markdown(connection, document.mirror_hash)]
        }
        self._tokens = sum(counts.length for counts in self._counts.values())
        self.average = self._tokens / max(len(self._counts), 1) if average is None else average

    def header(self) -> CollectionHeader | None:
        languages = {d.language for d in self._all() if d.language}
        dimensions = [len(piece.embedding) // DTYPE.itemsize for d in self.documents(None) for piece in d.pieces]
        return CollectionHeader(
            format=FORMAT,
            analysis=VERSION,
            model=self._uri,
            model_hash=None,
            dimensions=next(iter(dimensions), None),
            languages=tuple(sorted(languages)),
            documents=len(self._counts),
            pieces=len(dimensions),
            tokens=self._tokens,
            average=self.average,
            publisher="",
            publisher_label="",
            behind=0,
            published_at=0.0,
            change=0,
        )

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        counted = self.term_frequencies()
        return {term: counted[term_id(term)] for term in terms if term_id(term) in counted}

    def term_frequencies(self) -> dict[int, int]:
        """Return the frequencies of all terms by id."""
        return Counter(id_ for counts in self._counts.values() for id_ in counts.ids.tolist())

    def by_words(self, weights: Mapping[int, float], within: Restriction, limit: int) -> list[ScoredDocument]:
        return _best(
            (
                ScoredDocument(d.key, d.version, sum(weights[id_] * d.weights.get(id_, 0.0) for id_ in weights))
                for d in self.documents(None, within)
                if not weights.keys().isdisjoint(d.weights)
            ),
            limit,
        )

    def nearest(self, query: Vector, within: Restriction, limit: int) -> list[ScoredDocument]:
        return _best(
            (
                ScoredDocument(
                    d.key, d.version, max(float(np.frombuffer(p.embedding, DTYPE) @ query) for p in d.pieces)
                )
                for d in self.documents(None, within)
                if d.pieces
            ),
            limit,
        )

    def documents(self, keys: Collection[Key] | None, within: Restriction | None = None) -> list[SharedDocument]:
        """Return the documents with these keys, or all documents if `keys` is None."""
        return [
            shared_document(self._connection, document, self._uri, self.average)[0]
            for document in self._all(within)
            if keys is None or key_of(document.path) in keys
        ]

    def sample(self, share: float) -> list[Key]:
        return sorted(key for d in self._all() if (key := key_of(d.path)) < keys_below(share))

    def listed(self, path_prefix: str, limit: int) -> list[SharedListing]:
        return [SharedListing(d.path, d.title) for d in self._all() if d.path.startswith(path_prefix)][:limit]

    def close(self) -> None:
        pass

    def _all(self, within: Restriction | None = None) -> Iterator[DocumentRow]:
        """Yield the documents, sorted by path."""
        found = documents.under(self._connection, self._collection, "", -1, 0)
        if within is None:
            return iter(found)
        where, values = Filters(**within._asdict()).condition()
        passing = {id_ for (id_,) in self._connection.execute(f"SELECT d.id FROM documents d WHERE {where}", values)}
        return (document for document in found if document.id in passing)


def _best(found: Iterable[ScoredDocument], limit: int) -> list[ScoredDocument]:
    return nlargest(limit, found, key=lambda each: (each.score, each.key))
