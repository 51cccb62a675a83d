"""The search interface over a collection of this machine's index: what is published, and what a search must find.

The publisher reads documents here. Searches walk all documents, so they are for comparison and not for people.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nlargest
from typing import TypeVar

import msgspec
import numpy as np

from gnod.analysis.terms import VERSION
from gnod.ingest.text.canonical import embed_hash
from gnod.ingest.text.document_terms import terms_of
from gnod.shared import payload
from gnod.shared.engine import (
    FORMAT,
    CollectionHeader,
    Key,
    PublishedPiece,
    Restriction,
    ScoredDocument,
    SharedDocument,
    SharedListing,
    Vector,
    key_of,
    keys_below,
)
from gnod.shared.weights import TermCounts, counts_of, term_id, weights_of
from gnod.store.connection import Connection
from gnod.store.links.link_names import ALIAS, PATH, names_of
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import Chunk, Link, PreparedDocument, StoredDefinition
from gnod.store.vectors.vector_rows import DTYPE

Row = TypeVar("Row")


def prepared_of(connection: Connection, document: DocumentRow) -> PreparedDocument:
    """Return a document of the index as it was stored; without its scans."""
    mirror = document.mirror_hash
    title, markdown = connection.execute("SELECT title, markdown FROM content WHERE mirror_hash = ?", (mirror,)).get
    stat = document.stat
    if stat.mtime_ns < 0:  # the file must be read again
        stat = msgspec.structs.replace(stat, mtime_ns=int(document.dated * 1e9))
    aliases, labels = _names(connection, document)
    return PreparedDocument(
        source_hash=document.source_hash,
        stat=stat,
        mime=document.mime,
        converter=document.converter,
        title=document.title,
        own_title=title or "",
        language=document.language,
        metadata=msgspec.json.decode(document.metadata),
        tags=documents.tags_of(connection, document.id),
        line_map=list(document.line_map),
        locations=document.locations,
        markdown=markdown,
        mirror_hash=documents.content_digest(connection, mirror),
        chunks=[
            Chunk(start, end, line, end_line, heading, embed_hash(title or "", heading, markdown[start:end]))
            for start, end, line, end_line, heading in connection.execute(
                'SELECT start, "end", start_line, end_line, heading FROM chunks WHERE mirror_hash = ? ORDER BY seq',
                (mirror,),
            )
        ],
        terms=terms_of(document.language, document.path, document.title, markdown),
        definitions=_rows(
            connection,
            StoredDefinition,
            'SELECT start, "end", first_line, line, end_line, kind, name, path FROM definitions WHERE document_id = ?'
            " ORDER BY seq",
            document.id,
        ),
        links=_rows(
            connection,
            Link,
            'SELECT kind, target, key, reach, fragment, line, start, "end" FROM links WHERE document_id = ?'
            " ORDER BY seq",
            document.id,
        ),
        aliases=aliases,
        labels=labels,
    )


def pieces_of(connection: Connection, mirror_hash: str, uri: str | None) -> tuple[PublishedPiece, ...]:
    """Return the pieces of a document that have vectors of the model, in order."""
    rows = connection.execute(
        'SELECT k.seq, v.start, v."end", v.line, v.last_line, v.embedding FROM chunks k'
        " CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash"
        " WHERE k.mirror_hash = ? AND v.model_id = (SELECT id FROM embedding_models WHERE uri = ?)"
        " ORDER BY k.seq, v.start",
        (mirror_hash, uri),
    )
    return tuple(PublishedPiece(*row) for row in rows)


def shared_document(
    connection: Connection, document: DocumentRow, uri: str | None, average: float
) -> tuple[SharedDocument, TermCounts]:
    """Return a document as it is published, and how often its terms occur."""
    prepared = prepared_of(connection, document)
    counts = counts_of(prepared.terms)
    pieces = pieces_of(connection, document.mirror_hash, uri)
    select = "SELECT lower(doc_type), lower(author) FROM documents WHERE id = ?"
    doc_type, author = connection.execute(select, (document.id,)).get
    shared = SharedDocument(
        key=key_of(document.path),
        version="",
        path=document.path,
        title=document.title,
        language=document.language,
        doc_type=doc_type,
        author=author,
        tags=tuple(prepared.tags),
        dated=document.dated,
        weights=weights_of(counts, average),
        payload=payload.encode(payload.Payload(path=document.path, prepared=prepared, container=document.container)),
        pieces=pieces,
    )
    return msgspec.structs.replace(shared, version=_version(shared, counts)), counts


class LocalEngine:
    """A collection of the index in one snapshot of the database."""

    def __init__(self, connection: Connection, collection: str, uri: str | None, average: float | None = None) -> None:
        self._connection = connection
        self._collection = collection
        self._uri = uri
        self._counts = {
            document.id: counts_of(terms_of(document.language, document.path, document.title, text))
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
        """Return the frequencies of all terms, by their ids."""
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
        """Return documents; with `keys=None` all."""
        return [
            shared_document(self._connection, document, self._uri, self.average)[0]
            for document in self._all(within)
            if keys is None or key_of(document.path) in keys
        ]

    def sample(self, share: float) -> list[Key]:
        return sorted(key for d in self._all() if (key := key_of(d.path)) < keys_below(share))

    def listed(self, path_prefix: str, limit: int, after: str = "") -> list[SharedListing]:
        found = [d for d in self._all() if d.path.startswith(path_prefix) and d.path > after][:limit]
        return [
            SharedListing(d.key, d.version, d.path, d.title) for d in self.documents({key_of(d.path) for d in found})
        ]

    def close(self) -> None:
        pass

    def _all(self, within: Restriction | None = None) -> Iterator[DocumentRow]:
        """Yield the documents in the order of their paths."""
        found = documents.under(self._connection, self._collection, "", -1, 0)
        if within is None:
            return iter(found)
        where, values = Filters(**within._asdict()).condition()
        passing = {id_ for (id_,) in self._connection.execute(f"SELECT d.id FROM documents d WHERE {where}", values)}
        return (document for document in found if document.id in passing)


def _version(document: SharedDocument, counts: TermCounts) -> str:
    """Return a hash of everything. The weights depend on other documents, so they are represented by the counts."""
    fields = msgspec.structs.asdict(document) | {"weights": [counts.ids.tobytes(), counts.columns.tobytes()]}
    return hashlib.sha256(msgspec.msgpack.encode(fields)).hexdigest()[:16]


def _rows(connection: Connection, kind: type[Row], select: str, of: object) -> list[Row]:
    return [kind(*row) for row in connection.execute(select, (of,))]


def _names(connection: Connection, document: DocumentRow) -> tuple[list[str], list[str]]:
    """Return the aliases and the labels of a document, in the form in which names are compared."""
    rows = connection.execute("SELECT name, rank FROM names WHERE document_id = ? ORDER BY name", (document.id,))
    found = list(rows)
    own = {name.name for name in names_of(document.path, (), ()) if name.rank == PATH}
    aliases = [name for name, rank in found if rank == ALIAS]
    labels = [name for name, rank in found if rank == PATH and name not in own]
    return aliases, labels


def _best(found: Iterable[ScoredDocument], limit: int) -> list[ScoredDocument]:
    return nlargest(limit, found, key=lambda each: (each.score, each.key))
