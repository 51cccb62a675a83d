"""Read the documents of this machine's index as they are published."""

from __future__ import annotations

import hashlib
from typing import TypeVar

import msgspec

from gnod.ingest.text.canonical import embed_hash
from gnod.ingest.text.document_terms import terms_of
from gnod.shared import payload
from gnod.shared.engine import (
    PublishedPiece,
    SharedDocument,
    key_of,
)
from gnod.shared.weights import TermCounts, counts_of, weights_of
from gnod.store.connection import Connection
from gnod.store.documents.described import titles
from gnod.store.link_names import ALIAS, PATH, names_of
from gnod.store.tables import documents, tags
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.records import Chunk, Link, PreparedDocument, StoredDefinition

Row = TypeVar("Row")


def prepared_of(connection: Connection, document: DocumentRow) -> PreparedDocument:
    """Return a document of the index as it was stored; without its scans."""
    mirror = document.mirror_hash
    title, markdown = connection.execute("SELECT title, markdown FROM content WHERE mirror_hash = ?", (mirror,)).get
    stat = document.stat
    if stat.mtime_ns < 0:  # the file must be read again
        stat = msgspec.structs.replace(stat, mtime_ns=int(document.dated * 1e9))
    aliases, labels = _names(connection, document)
    metadata = msgspec.json.decode(document.metadata)
    return PreparedDocument(
        source_hash=document.source_hash,
        stat=stat,
        mime=document.mime,
        converter=document.converter,
        title=document.title,
        own_title=title,
        language=document.language,
        metadata=metadata,
        tags=tags.of(connection, document.id),
        line_map=list(document.line_map),
        locations=document.locations,
        markdown=markdown,
        mirror_hash=documents.content_digest(connection, mirror),
        chunks=[
            Chunk(start, end, line, end_line, heading, embed_hash(title, heading, markdown[start:end]))
            for start, end, line, end_line, heading in connection.execute(
                'SELECT start, "end", start_line, end_line, heading FROM chunks WHERE mirror_hash = ? ORDER BY seq',
                (mirror,),
            )
        ],
        terms=terms_of(document.language, document.path, titles(document.title, metadata), markdown, document.mime),
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
    """Return the document to publish, and how often its terms occur."""
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
        tags=tuple(tags.with_those_above(prepared.tags)),
        dated=document.dated,
        weights=weights_of(counts, average),
        payload=payload.encode(payload.Payload(path=document.path, prepared=prepared, container=document.container)),
        pieces=pieces,
    )
    return msgspec.structs.replace(shared, version=_version(shared, counts)), counts


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
