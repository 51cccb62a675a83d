"""A small real index: texts pass through the real preparation into a real database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gnod.ingest.code import languages
from gnod.ingest.formats import Converted
from gnod.ingest.prepare import prepare
from gnod.ingest.text.canonical import digest
from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import FileStat, PreparedDocument
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece

T = TypeVar("T")


def prepared(
    text: str,
    path: str,
    *,
    title: str | None = None,
    language: str | None = None,
    source: str | None = None,
    mtime_s: str = "1700000000",
) -> PreparedDocument:
    """Prepare a text. Documents with the same `source` are copies of each other. `path` may name source code."""
    code = languages.by_path(path)
    converted = Converted(
        markdown=text, mime=code.mime if code else "text/markdown", converter="markdown/1", keeps_lines=True
    )
    stat = FileStat(len(text), int(mtime_s) * 10**9, 1)
    return prepare(
        converted,
        relative_path=path,
        source_hash=digest(source or path + text),
        stat=stat,
        title=title,
        language=language,
    )


def vector_of(uri: str, text: str, dimensions: int = 8) -> NDArray[np.float32]:
    """Return a pseudo-random vector that depends only on the arguments."""
    seed = int.from_bytes(sha256(f"{uri} {text}".encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


class SmallIndex:
    """`reader`: a connection that sees all written data, for tests that read in their own thread."""

    def __init__(self, path: Path, *, use_knn: bool = True, readers: int = 1) -> None:
        self.database = Database(path, readers=readers, use_knn=use_knn)
        self.reader = self.database.open_reader()

    def close(self) -> None:
        self.database.close()

    def write(self, work: Callable[[Connection], T]) -> T:
        return self.database.submit_write(work).result()

    def add(self, texts: Mapping[str, str], collection: str = "notes", **options: str) -> None:
        """Add documents. `texts` maps paths to Markdown; `prepared` describes the `options`."""

        def work(connection: Connection) -> None:
            known = [Folder(c.name, c.path, c.language) for c in collections.all_collections(connection)]
            if collection not in {folder.name for folder in known}:
                collections.mirror(connection, [*known, Folder(collection, f"/data/{collection}", None)], [])
            collection_id = collections.id_of(connection, collection)
            for path, text in texts.items():
                writing.put(connection, collection_id, path, prepared(text, path, **options), now=0.0)

        self.write(work)

    def remove(self, *paths: str, collection: str = "notes") -> None:
        self.write(lambda c: writing.remove(c, collections.id_of(c, collection), paths, now=1.0))

    def embed(self, uri: str, *collections: str, limit: int = 10_000, dimensions: int = 8, pieces: int = 1) -> int:
        """Store vectors for the chunks of these collections ("notes" by default). Returns the number of chunks."""

        def work(connection: Connection) -> int:
            chunks = vectors.pending(connection, uri, collections or ("notes",), limit)
            made = {
                c.embed_hash: [
                    StoredPiece(vector_of(uri, f"{c.title}|{c.heading}|{c.text}{'+' * number}", dimensions), number)
                    for number in range(pieces)
                ]
                for c in chunks
            }
            return vectors.put(connection, uri, made)

        return self.write(work)

    def embed_in_brief(self, uri: str, *collections: str, limit: int = 10_000) -> int:
        """Store a vector for the beginning of each document that has none. Returns their number."""

        def work(connection: Connection) -> int:
            due = [c for c in vectors.pending(connection, uri, collections or ("notes",), limit) if c.brief_due]
            briefs = {c.embed_hash: StoredPiece(vector_of(uri, f"{c.title}|{c.text[:9]}")) for c in due}
            vectors.put(connection, uri, {}, briefs)
            return len(due)

        return self.write(work)

    def search(self, query: str, filters: Filters | None = None, limit: int = 20) -> list[str]:
        """Return the paths of the hits, best first."""
        found = lexical.search(self.reader, parse_clauses(query), filters or Filters(), limit=limit)
        by_id = documents.by_ids(self.reader, [r.id for r in found.ranked])
        return [by_id[r.id].path for r in found.ranked]

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return list(self.reader.execute(sql))
