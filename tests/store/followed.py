"""A database with a thread that updates its postings."""

from __future__ import annotations

from pathlib import Path

from gnod.analysis import terms
from gnod.ingest.text.document_terms import terms_of
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.keyword_index.postings.builder import Builder
from gnod.store.keyword_index.postings.following import IDLE_S, Following
from gnod.store.keyword_index.postings.versions import Postings, folder_of
from gnod.store.keyword_index.postings.view import view_of
from tests.small_index import prepared


class Index:
    """A database with the thread. `uses_process`: the process does all work, even small work."""

    def __init__(self, path: Path, *, uses_process: bool = False, idle_s: float = IDLE_S) -> None:
        self.builder = Builder(terms_of, 0) if uses_process else Builder(terms_of)
        self.database = Database(path, readers=1, use_knn=False)
        self.postings = Postings(folder_of(path), terms.VERSION)
        self.following = Following(self.database, self.postings, self.builder, idle_s=idle_s)
        self.following.start()

    def close(self) -> None:
        self.following.close()
        self.database.close()

    def add(self, *paths: str, text: str = "red house") -> None:
        def work(connection: Connection) -> None:
            collections.mirror(connection, [Folder("notes", "/notes", None)], [])
            for path in paths:
                new = prepared(f"{text} {path}", path)
                writing.put(connection, collections.id_of(connection, "notes"), path, new, now=0.0)

        self.database.submit_write(work).result()

    def remove(self, *paths: str) -> None:
        self.database.submit_write(
            lambda c: writing.remove(c, collections.id_of(c, "notes"), list(paths), now=1.0)
        ).result()

    def size(self) -> int:
        """Return the number of documents in the view of a reader."""
        return self.database.submit_read(lambda c: view_of(c).size).result()

    def segments(self) -> int:
        """Return the number of segments in the view of a reader."""
        return self.database.submit_read(lambda c: sum(part.file is not None for part in view_of(c).parts)).result()

    def is_current(self) -> bool:
        """Tell whether the segments have all documents."""
        return self.database.submit_read(lambda c: view_of(c).is_complete).result()
