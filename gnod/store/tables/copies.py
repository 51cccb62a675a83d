"""Find copies: documents whose files have the same bytes. Results show one copy, which names the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from gnod.store.connection import Connection, by_id, json_list
from gnod.store.tables.filters import Filters


class CopyGroup(NamedTuple):
    """A document that has or had copies. `order`: of equally good copies, the one with the lowest `order` is shown,
    which has the shortest path. `mirror_hash`: equal bytes may have different texts, for example in a `.txt` and a
    `.md`."""

    source_hash: str
    order: tuple[int, str, str]
    mirror_hash: str


class CopyPath(NamedTuple):
    """The place of a copy. `root`: the folder of the collection."""

    id: int
    collection: str
    root: str
    path: str

    @property
    def source(self) -> str:
        return f"{self.root.rstrip('/')}/{self.path}"


def exist(connection: Connection) -> bool:
    """Tell whether any document may have a copy."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM copies)").get)


@by_id
def among(connection: Connection, ids: Collection[int]) -> dict[int, CopyGroup]:
    """Return the documents that may have copies."""
    if not exist(connection):
        return {}
    rows = connection.execute(
        "SELECT d.id, d.source_hash, length(d.path), d.path, c.name, d.mirror_hash FROM json_each(?) wanted"
        " CROSS JOIN copies ON copies.document_id = wanted.value CROSS JOIN documents d ON d.id = copies.document_id"
        " CROSS JOIN collections c ON c.id = d.collection_id",
        (json_list(ids),),
    )
    return {id_: CopyGroup(source, (length, path, name), mirror) for id_, source, length, path, name, mirror in rows}


@by_id
def others(connection: Connection, ids: Collection[int], filters: Filters) -> dict[int, list[CopyPath]]:
    """Return the copies of each document that pass the filters, shortest path first. Documents without such copies are
    left out."""
    if not exist(connection):
        return {}
    where, values = filters.condition()
    rows = connection.execute(
        "SELECT wanted.value, d.id, c.name, c.path, d.path FROM json_each(?) wanted"
        " CROSS JOIN copies ON copies.document_id = wanted.value"
        " CROSS JOIN documents d ON d.docid = '#' || substr(copies.source_hash, 1, 8)"
        " AND d.source_hash = copies.source_hash AND d.id <> copies.document_id"
        f" CROSS JOIN collections c ON c.id = d.collection_id WHERE {where} ORDER BY length(d.path), d.path, c.name",
        (json_list(ids), *values),
    )
    found: defaultdict[int, list[CopyPath]] = defaultdict(list)
    for id_, *address in rows:
        found[id_].append(CopyPath(*address))
    return found
