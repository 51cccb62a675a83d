"""A real index, small: texts go through the real preparation into a real database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gnod.ingest.canonical import digest
from gnod.ingest.convert import Converted
from gnod.ingest.jobs import FileStat, Prepared
from gnod.ingest.prepare import prepare
from gnod.pipeline import lexical
from gnod.store import collections, documents
from gnod.store.collections import Folder
from gnod.store.database import Connection, Database
from gnod.store.filters import Filters


def prepared(text: str, path: str, *, title: str | None = None, language: str | None = None) -> Prepared:
    converted = Converted(markdown=text, mime="text/markdown", converter="markdown/1")
    stat = FileStat(len(text), 1_700_000_000_000_000_000, 1)
    return prepare(
        converted, relative_path=path, source_hash=digest(path + text), stat=stat, title=title, language=language
    )


class SmallIndex:
    def __init__(self, path: Path) -> None:
        self.database = Database(path, readers=1)

    def close(self) -> None:
        self.database.close()

    def add(self, texts: Mapping[str, str], collection: str = "notes", **options: str) -> None:
        """Add path to Markdown text; `options` are `prepared`'s."""

        def work(connection: Connection) -> None:
            known = [Folder(c.name, c.path, c.language) for c in collections.all_collections(connection)]
            if collection not in {folder.name for folder in known}:
                collections.mirror(connection, [*known, Folder(collection, f"/data/{collection}", None)], [])
            collection_id = collections.id_of(connection, collection)
            for path, text in texts.items():
                documents.put(connection, collection_id, path, prepared(text, path, **options), now=0.0)

        self.database.write(work).result()

    def remove(self, *paths: str, collection: str = "notes") -> None:
        self.database.write(lambda c: documents.remove(c, collections.id_of(c, collection), paths, now=1.0)).result()

    def search(self, query: str, filters: Filters | None = None, limit: int = 20) -> list[str]:
        """Return the paths found, best first."""

        def work(connection: Connection) -> list[str]:
            found = lexical.search(connection, query, filters or Filters(), limit=limit)
            by_id = documents.by_ids(connection, [r.document_id for r in found.ranked])
            return [by_id[r.document_id].path for r in found.ranked]

        return self.database.read(work).result()

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        return self.database.read(lambda connection: list(connection.execute(sql))).result()
