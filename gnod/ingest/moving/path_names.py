"""Which file a link leads to, if the files of a collection had these paths. Pure; it has the rules of the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from gnod.ingest.links.targets import LinkTarget
from gnod.store.link_names import END, names_of
from gnod.store.links.links import LinkedDocument, chosen


class NamedFile(NamedTuple):
    """A file, or a folder, with its path from the root of the collection. `id`: the same under each of its paths."""

    id: int
    path: str
    aliases: list[str]
    labels: list[str]


class PathNames:
    """The names of documents, and of other files. As in the index, a document goes before any other file."""

    def __init__(self, documents: Iterable[NamedFile], others: Iterable[NamedFile]) -> None:
        self._tables = [_by_name(documents), _by_name(others)]

    def meant(self, target: LinkTarget, written: str, path: str) -> list[int]:
        """Return the files that a link in the file `path` leads to: none, one, or several that it cannot tell apart."""
        if target.key is None:
            return []
        for table in self._tables:
            rows = [row for row in table.get(target.key, ()) if row[0] <= target.reach]
            if rows:
                return [found.id for found in chosen(rows, target.reach, written, lambda: path)]
        return []

    def is_unique(self, key: str | None) -> bool:
        """Tell whether only one document has a path, or an end of it, with this key; or no document, but one file."""
        for table in self._tables:
            if ids := {file.id for rank, _, file in table.get(key or "", ()) if rank <= END}:
                return len(ids) == 1
        return False


_Row = tuple[int, int, LinkedDocument]


def _by_name(files: Iterable[NamedFile]) -> dict[str, list[_Row]]:
    table = defaultdict[str, list[_Row]](list)
    for file in files:
        document = LinkedDocument(file.id, file.path)
        for name in names_of(file.path, file.aliases, file.labels):
            table[name.name].append((name.rank, name.depth, document))
    for rows in table.values():
        rows.sort(key=lambda row: (row[0], row[1], row[2].path))
    return table
