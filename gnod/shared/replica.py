"""Store the documents of a shared collection that searches found before, in an index on this machine.

The replica is an ordinary index file, so that all code that reads documents works with it. Its size is limited: the
documents that no search has found for the longest time are removed. It can be deleted at any time. A damaged replica is
deleted and starts empty. Must not depend on engines or ranking.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from zlib import crc32

import msgspec
import numpy as np

from gnod.analysis.terms import VERSION
from gnod.errors import Corrupt, EngineFailed, ForeignDatabase, NewerDatabase, OutdatedDatabase
from gnod.ingest.text.document_terms import terms_of
from gnod.shared import payload
from gnod.shared.engine import FORMAT, Key, SharedDocument, key_of
from gnod.shared.payload import Payload
from gnod.store.connection import ID_BITS, Connection, json_list
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.documents.described import titles
from gnod.store.keyword_index import fulltext
from gnod.store.tables.records import PreparedDocument, Terms
from gnod.store.vectors import vectors
from gnod.store.vectors.vector_rows import DTYPE

# The maximum number of documents: some hundred times the number of results of a search.
MOST = 20_000
_KEPT = 0.9
# A book of a thousand pages has about this many pieces.
_MOST_PIECES = 10_000
_MOST_DIMENSIONS = 16_384
_NUMBERS = 2**22 - 2

_TABLES = """
CREATE TABLE IF NOT EXISTS shared_documents (
    key TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    document_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS shared_documents_by_id ON shared_documents (document_id);
"""
# The id of this row is the lowest of the index, so that SQLite numbers the next documents from there.
_FIRST = (
    "INSERT OR IGNORE INTO documents (id, collection_id, path, docid, source_hash, size, mtime_ns, inode, mirror_hash,"
    " title, mime, converter, dated, metadata, line_map, active, indexed_at)"
    " VALUES (?, ?, '', '', '', 0, 0, 0, '', '', '', '', 0, '{}', '[]', 0, 0)"
)


def number_of(name: str) -> int:
    """Return the number of a collection's index (gnod.store.connection)."""
    return 1 + crc32(name.encode()) % _NUMBERS


class Replica:
    """Thread-safe. The index has the `address` of the collection in place of its folder."""

    def __init__(self, path: Path, name: str, address: str, *, most: int = MOST) -> None:
        self.name = name
        self.number = number_of(name)
        self._path = path
        self._address = address
        self._most = most
        self._lock = threading.Lock()
        self._used: dict[Key, int] = {}
        self._clock = 0
        self._idle: list[Connection] = []
        self._database = self._opened()

    def held(self, connection: Connection, keys: Collection[Key]) -> dict[Key, tuple[str, int]]:
        """Return the versions and ids of the documents in the replica."""
        rows = connection.execute(
            "SELECT s.key, s.version, s.document_id FROM json_each(?) wanted"
            " CROSS JOIN shared_documents s ON s.key = wanted.value"
            " CROSS JOIN documents d ON d.id = s.document_id AND d.active",
            (json_list(keys),),
        )
        found = {key: (version, id_) for key, version, id_ in rows}
        with self._lock:
            self._clock += 1
            self._used.update(dict.fromkeys(found, self._clock))
        return found

    def store(self, found: Sequence[SharedDocument], uri: str | None, dimensions: int | None) -> None:
        """Store documents, and their vectors if there is a model. Raises EngineFailed, and stores none, if one of them
        is damaged."""
        made = [(document, *_prepared(document, dimensions)) for document in found]
        self._database.submit_write(partial(self._store, made, uri)).result()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for one thread at a time."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._database.open_reader()
        try:
            yield connection
        finally:
            with self._lock:
                self._idle.append(connection)

    def close(self) -> None:
        self._database.close()

    def delete(self) -> None:
        """Close the replica, and delete its files."""
        self._database.close()
        self._delete_files()

    def _opened(self) -> Database:
        try:
            return self._prepare()
        except (Corrupt, ForeignDatabase, NewerDatabase, OutdatedDatabase):
            self._delete_files()
            return self._prepare()

    def _prepare(self) -> Database:
        database = Database(self._path, readers=1, use_knn=False)
        try:
            if not database.submit_write(self._is_current).result():
                raise Corrupt("the replica belongs to another collection or version")
        except BaseException:
            database.close()
            raise
        return database

    def _is_current(self, connection: Connection) -> bool:
        """Tell whether the documents belong to this collection, and their terms to this analyser. A new replica is
        current."""
        stamp = f"{self._address} {FORMAT} {VERSION}"
        connection.execute(_TABLES)
        known = collections.all_collections(connection)
        if known:
            return [(each.name, each.path, each.language) for each in known] == [(self.name, self._address, stamp)]
        collections.mirror(connection, [collections.Folder(self.name, self._address, stamp)], [])
        connection.execute(_FIRST, (self.number << ID_BITS, collections.id_of(connection, self.name)))
        return True

    def _delete_files(self) -> None:
        for end in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + end).unlink(missing_ok=True)

    def _store(
        self, made: Sequence[tuple[SharedDocument, Payload, PreparedDocument]], uri: str | None, connection: Connection
    ) -> None:
        collection_id, terms = collections.id_of(connection, self.name), dict[int, Terms]()
        for shared, sent, prepared in made:
            writing.put(
                connection, collection_id, sent.path, prepared, now=time.time(), terms=terms, container=sent.container
            )
            connection.execute(
                "INSERT OR REPLACE INTO shared_documents SELECT ?, ?, id FROM documents"
                " WHERE collection_id = ? AND path = ?",
                (shared.key, shared.version, collection_id, sent.path),
            )
            if uri:
                vectors.put(connection, uri, _pieces(shared, prepared))
        fulltext.store(connection, terms)
        self._make_room(connection, collection_id, {shared.key for shared, *_ in made})

    def _make_room(self, connection: Connection, collection_id: int, new: Collection[Key]) -> None:
        rows = list(
            connection.execute(
                "SELECT s.key, d.path, d.id FROM shared_documents s JOIN documents d ON d.id = s.document_id"
            )
        )
        if len(rows) <= self._most:
            return
        with self._lock:
            self._clock += 1
            self._used.update(dict.fromkeys(new, self._clock))
            used = dict(self._used)
        rows.sort(key=lambda row: used.get(str(row[0]), 0))
        leaving = rows[: len(rows) - int(self._most * _KEPT)]
        writing.remove(connection, collection_id, [str(path) for _, path, _ in leaving])
        connection.executemany("DELETE FROM shared_documents WHERE key = ?", [(key,) for key, *_ in leaving])
        connection.executemany("DELETE FROM documents WHERE id = ? AND NOT active", [(id_,) for *_, id_ in leaving])
        with self._lock:
            for key, *_ in leaving:
                self._used.pop(str(key), None)


def _prepared(shared: SharedDocument, dimensions: int | None) -> tuple[Payload, PreparedDocument]:
    """Check a document, and return its contents with its terms. Raises EngineFailed."""
    sent = payload.decode(shared.payload)
    if sent.path != shared.path or shared.key != key_of(sent.path):
        raise EngineFailed("a document of a shared collection is damaged: its path belongs to another document")
    if len(shared.pieces) > _MOST_PIECES or not all(_is_sound(piece.embedding, dimensions) for piece in shared.pieces):
        raise EngineFailed("a document of a shared collection is damaged: it has invalid vectors")
    chunks = len(sent.prepared.chunks)
    if not all(0 <= piece.seq < chunks and piece.start >= 0 for piece in shared.pieces):
        raise EngineFailed("a document of a shared collection is damaged: a piece belongs to no chunk")
    own = sent.prepared
    terms = terms_of(own.language, sent.path, titles(own.title, own.metadata), own.markdown, own.mime)
    return sent, msgspec.structs.replace(own, terms=terms)


def _is_sound(embedding: bytes, dimensions: int | None) -> bool:
    if dimensions is None or dimensions > _MOST_DIMENSIONS or len(embedding) != dimensions * DTYPE.itemsize:
        return False
    vector = np.frombuffer(embedding, DTYPE)
    return bool(np.isfinite(vector).all() and vector.any())


def _pieces(shared: SharedDocument, prepared: PreparedDocument) -> Mapping[str, Sequence[vectors.StoredPiece]]:
    found: dict[str, dict[int, vectors.StoredPiece]] = {}
    for each in shared.pieces:
        piece = vectors.StoredPiece(
            np.frombuffer(each.embedding, DTYPE), each.start, each.end, each.line, each.last_line
        )
        # Chunks with the same text have the same pieces.
        found.setdefault(prepared.chunks[each.seq].embed_hash, {})[each.start] = piece
    return {embed_hash: list(pieces.values()) for embed_hash, pieces in found.items()}
