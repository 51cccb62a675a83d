"""Encode and decode the published content of a document. A reader stores it in its own index, beside the vectors.

Terms are left out, because the same version of the analyser makes the same terms. Data that only the machine with the
files can use are also left out: inodes, scans that are not read yet, and messages about files.

A reader gets payloads from a machine that it does not control. `decode` checks types, sizes and offsets.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import PurePosixPath

import msgspec

from gnod.errors import EngineFailed
from gnod.ingest.text.canonical import embed_hash
from gnod.ingest.text.document_terms import terms_of
from gnod.shared.engine import PublishedPiece, SharedDocument, key_of
from gnod.shared.weights import TermCounts, counts_of, weights_of
from gnod.store.connection import Connection
from gnod.store.documents.described import titles
from gnod.store.link_names import ALIAS, PATH, names_of
from gnod.store.links import links
from gnod.store.tables import definitions, documents, tags
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.records import Chunk, FileStat, Link, PreparedDocument, StoredDefinition, Terms

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError, compress
else:
    from backports.zstd import ZstdDecompressor, ZstdError, compress

# This is larger than the longest text that is indexed by default, with its chunks and links.
_MOST_BYTES = 512 << 20
_LEVEL = 3
_SHA256 = re.compile("[0-9a-f]{64}")
NO_TERMS = Terms("", "", "")


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """`prepared` has no terms. `path` is relative to the collection. `container` is as in `writing.put`."""

    path: str
    prepared: PreparedDocument
    container: str | None = None


def shared_document(
    connection: Connection, document: DocumentRow, uri: str | None, average: float
) -> tuple[SharedDocument, TermCounts]:
    """Return the document to publish, and the counts of its terms."""
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
        payload=encode(Payload(path=document.path, prepared=prepared, container=document.container)),
        pieces=pieces,
    )
    return msgspec.structs.replace(shared, version=_version(shared, counts)), counts


def prepared_of(connection: Connection, document: DocumentRow) -> PreparedDocument:
    """Return a document of the index in the form in which it was stored, without its scans."""
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
        definitions=definitions.all_of(connection, document.id),
        links=[stored.link for stored in links.outgoing(connection, document.id)],
        aliases=aliases,
        labels=labels,
    )


def pieces_of(connection: Connection, mirror_hash: str, uri: str | None) -> tuple[PublishedPiece, ...]:
    """Return the pieces of a document with vectors of the model, in order."""
    rows = connection.execute(
        'SELECT k.seq, v.start, v."end", v.line, v.last_line, v.embedding FROM chunks k'
        " CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash"
        " WHERE k.mirror_hash = ? AND v.model_id = (SELECT id FROM embedding_models WHERE uri = ?)"
        " ORDER BY k.seq, v.start",
        (mirror_hash, uri),
    )
    return tuple(PublishedPiece(*row) for row in rows)


def encode(payload: Payload) -> bytes:
    """Return the bytes to publish. Equal documents give equal bytes."""
    prepared = payload.prepared
    shared = msgspec.structs.replace(
        prepared,
        terms=NO_TERMS,
        scans=None,
        unread=[],
        stat=FileStat(prepared.stat.size, prepared.stat.mtime_ns, 0) if prepared.stat else None,
    )
    return compress(msgspec.msgpack.encode(msgspec.structs.replace(payload, prepared=shared)), _LEVEL)


def decode(data: bytes) -> Payload:
    """Raises EngineFailed for data that no publisher sends."""
    try:
        decompressor = ZstdDecompressor()
        plain = decompressor.decompress(data, max_length=_MOST_BYTES)
        if not decompressor.eof:
            raise ValueError("it is too long or truncated")
        payload = msgspec.msgpack.decode(plain, type=Payload)
        _check(payload)
    except (ZstdError, msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, ValueError) as error:
        raise EngineFailed(f"a document of a shared collection is damaged: {error}") from error
    return payload


def _version(document: SharedDocument, counts: TermCounts) -> str:
    """Return a hash of all fields. The weights depend on other documents, so the counts are hashed instead."""
    fields = msgspec.structs.asdict(document) | {"weights": [counts.ids.tobytes(), counts.columns.tobytes()]}
    return hashlib.sha256(msgspec.msgpack.encode(fields)).hexdigest()[:16]


def _names(connection: Connection, document: DocumentRow) -> tuple[list[str], list[str]]:
    """Return the aliases and labels of a document, in the form for comparison."""
    rows = connection.execute("SELECT name, rank FROM names WHERE document_id = ? ORDER BY name", (document.id,))
    found = list(rows)
    own = {name.name for name in names_of(document.path, (), ()) if name.rank == PATH}
    aliases = [name for name, rank in found if rank == ALIAS]
    labels = [name for name, rank in found if rank == PATH and name not in own]
    return aliases, labels


def _check(payload: Payload) -> None:
    for path in (payload.path, payload.container):
        if path is not None and not _is_relative(path):
            raise ValueError("its path leads out of the collection")
    prepared = payload.prepared
    end = len(prepared.markdown)
    if not all(_SHA256.fullmatch(each) for each in (prepared.mirror_hash, *(c.embed_hash for c in prepared.chunks))):
        raise ValueError("a hash is not a SHA-256 hash")
    spans: list[Chunk | StoredDefinition | Link] = [*prepared.chunks, *prepared.definitions, *prepared.links]
    if any(not 0 <= span.start <= span.end <= end for span in spans):
        raise ValueError("a range is outside its text")


def _is_relative(path: str) -> bool:
    return bool(path) and not path.startswith("/") and "\0" not in path and ".." not in PurePosixPath(path).parts
