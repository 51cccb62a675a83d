"""Store links between documents, and the names that they look for. Rows are replaced with their document.

No row has the target of a link: the target is looked up among the names of the current documents. So a new, renamed or
deleted file does not change the rows of other documents (docs/adr/0049-links.md).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import unquote

import msgspec

from gnod.store.connection import Connection, json_list
from gnod.store.link_names import ALIAS, END, EXTERNAL, names_of
from gnod.store.tables.documents import in_scope
from gnod.store.tables.records import Link, PreparedDocument

_FIELDS = "l.document_id, l.collection_id, l.kind, l.target, l.key, l.reach, l.fragment, l.line, l.start, l.end"
_FOUND = (
    "EXISTS (SELECT 1 FROM names n WHERE n.collection_id = l.collection_id AND n.name = l.key AND n.rank <= l.reach)"
)
# For a name `n`: whether a better name exists, and whether another document has an equally good name.
BETTER = (
    "SELECT 1 FROM names b WHERE b.collection_id = n.collection_id AND b.name = n.name"
    " AND (b.rank, b.depth) < (n.rank, n.depth)"
)
EQUAL = (
    "SELECT 1 FROM names b WHERE b.collection_id = n.collection_id AND b.name = n.name"
    " AND (b.rank, b.depth) = (n.rank, n.depth) AND b.document_id <> n.document_id"
)


class StoredLink(NamedTuple):
    """A link with the document that contains it."""

    document_id: int
    collection_id: int
    link: Link


LinksPage = tuple[list[StoredLink], int]
"""Some links, and the total number of links."""
Renamed = dict[tuple[int, str], tuple[int, str]]
"""By collection and name: the rank of the name, and the path of the document that had the name."""


class LinkedDocument(NamedTuple):
    """The id and path of a document that a link may lead to."""

    id: int
    path: str


class OwnName(NamedTuple):
    """A name of a document. `has_equals`: other documents have this name with the same rank and depth."""

    name: str
    collection_id: int
    rank: int
    has_equals: int


def put(connection: Connection, collection_id: int, document_id: int, path: str, new: PreparedDocument) -> None:
    """Store the links and the names of a document, which has none yet."""
    connection.executemany(
        "INSERT OR IGNORE INTO names VALUES (?, ?, ?, ?, ?)",
        ((collection_id, *name, document_id) for name in names_of(path, new.aliases, new.labels)),
    )
    if new.links:
        connection.executemany(
            "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((document_id, seq, collection_id, *msgspec.structs.astuple(link)) for seq, link in enumerate(new.links)),
        )


def remove(connection: Connection, document_id: int) -> None:
    connection.execute("DELETE FROM names WHERE document_id = ?", (document_id,))
    connection.execute("DELETE FROM links WHERE document_id = ?", (document_id,))


def outgoing(connection: Connection, document_id: int, limit: int = -1, offset: int = 0) -> list[StoredLink]:
    """Return the links in a document in order."""
    where = "WHERE l.document_id = ? ORDER BY l.seq LIMIT ? OFFSET ?"
    return list(_select(connection, where, (document_id, limit, offset)))


def at(connection: Connection, document_id: int, seq: int) -> StoredLink:
    """Return one link of a document, by its number."""
    return next(_select(connection, "WHERE l.document_id = ? AND l.seq = ?", (document_id, seq)))


def count_outgoing(connection: Connection, document_id: int) -> int:
    return int(connection.execute("SELECT count(*) FROM links WHERE document_id = ?", (document_id,)).get)


def meant(connection: Connection, stored: StoredLink) -> list[LinkedDocument]:
    """Return the documents that a link leads to: none, one, or several if the link is ambiguous."""
    link = stored.link
    if link.key is None:
        return []
    select = (
        "SELECT n.rank, n.depth, n.document_id, d.path FROM names n CROSS JOIN documents d ON d.id = n.document_id"
        " WHERE n.collection_id = ? AND n.name = ? AND n.rank <= ? ORDER BY n.rank, n.depth, d.path"
    )
    found = connection.execute(select, (stored.collection_id, link.key, link.reach))
    rows = [(rank, depth, LinkedDocument(id_, path)) for rank, depth, id_, path in found]
    return chosen(rows, link.reach, link.target, lambda: _path(connection, stored.document_id))


def chosen(
    rows: list[tuple[int, int, LinkedDocument]], reach: int, target: str, linking: Callable[[], str]
) -> list[LinkedDocument]:
    """Choose the documents that a link leads to. `rows`: (rank, depth, document) of the names that it reaches, best
    first. `target`: as written. `linking` returns the path of the document with the link."""
    best = [document for rank, depth, document in rows if (rank, depth) == rows[0][:2]]
    if len(best) > 1 and reach == ALIAS:
        best = _below_folder(best, linking())
    return _as_written(best, target)


def best_names(connection: Connection, document_id: int) -> list[OwnName]:
    """Return the names by which links find a document. No other document has one of these names with a better rank."""
    rows = connection.execute(
        f"SELECT n.name, n.collection_id, min(n.rank), EXISTS ({EQUAL}) FROM names n"
        f" WHERE n.document_id = ? AND NOT EXISTS ({BETTER}) GROUP BY n.name",
        (document_id,),
    )
    return [OwnName(*row) for row in rows]


def incoming(connection: Connection, document_id: int, limit: int = -1, offset: int = 0) -> LinksPage:
    """Return the links to a document in order of their documents, and their total number. Links in the document itself
    are included."""
    names = best_names(connection, document_id)
    wanted = json_list(names)
    source = (
        "FROM json_each(?) w CROSS JOIN links l ON l.collection_id = w.value ->> 1 AND l.key = w.value ->> 0"
        " AND l.reach >= w.value ->> 2"
    )
    # The index of keys contains all columns for the order, so only the returned rows are read.
    select = (
        f"SELECT {_FIELDS} FROM (SELECT l.document_id, l.seq {source} ORDER BY 1, 2 LIMIT ? OFFSET ?) page"
        " CROSS JOIN links l USING (document_id, seq) ORDER BY l.document_id, l.seq"
    )
    if any(name.has_equals for name in names):
        found = [
            link
            for link in _rows(connection, select, (wanted, -1, 0))
            if document_id in [document.id for document in meant(connection, link)]
        ]
        return found[offset:][: limit if limit >= 0 else None], len(found)
    total = int(connection.execute(f"SELECT count(*) {source}", (wanted,)).get)
    return list(_rows(connection, select, (wanted, limit, offset))), total


def linking(connection: Connection, document_id: int) -> set[int]:
    """Return the documents with a link to a document."""
    return {link.document_id for link in incoming(connection, document_id)[0]}


def looking_for(connection: Connection, collection_id: int, keys: Collection[str]) -> Iterator[StoredLink]:
    """Yield the links that look for one of these names."""
    source = "FROM json_each(?) w CROSS JOIN links l ON l.collection_id = ? AND l.key = w.value"
    values = (json_list(keys), collection_id)
    return _rows(connection, f"SELECT {_FIELDS} {source}", values)


def linked(connection: Connection, document_id: int) -> set[int]:
    """Return the documents that the links in a document lead to."""
    return {found.id for link in outgoing(connection, document_id) for found in meant(connection, link)}


def unresolved(connection: Connection, collection: str | None, prefix: str, limit: int, offset: int) -> LinksPage:
    """Return the links that lead to no document, in order of paths, and their total number. `prefix` limits them to a
    folder of a collection."""
    source, values = _below(connection, collection, prefix)
    source += f" AND l.reach <> {EXTERNAL} AND (l.key IS NULL OR NOT {_FOUND})"
    total = int(connection.execute(f"SELECT count(*) {source}", values).get)
    select = f"SELECT {_FIELDS} {source} ORDER BY c.name, d.path, l.seq LIMIT ? OFFSET ?"
    return list(_rows(connection, select, (*values, limit, offset))), total


def with_fragment(connection: Connection, collection: str | None, prefix: str) -> Iterator[StoredLink]:
    """Yield the links to a heading or another place in a document, in order of paths."""
    source, values = _below(connection, collection, prefix)
    select = f"SELECT {_FIELDS} {source} AND l.fragment <> '' AND l.key IS NOT NULL AND {_FOUND}"
    return _rows(connection, f"{select} ORDER BY c.name, d.path, l.seq", values)


def named(connection: Connection, name: str) -> list[int]:
    """Return the documents for which a key is the best name, in any collection."""
    select = (
        "SELECT n.rank, n.document_id FROM collections c"
        " CROSS JOIN names n ON n.collection_id = c.id AND n.name = ? ORDER BY n.rank, n.document_id"
    )
    rows = list(connection.execute(select, (name,)))
    return [id_ for rank, id_ in rows if rank == rows[0][0]]


def file_names(connection: Connection, collection_id: int, beginning: str) -> list[str]:
    """Return at most 500 names of files in a collection with this beginning, without their folders."""
    rows = connection.execute(
        "SELECT DISTINCT name FROM names WHERE collection_id = ? AND name >= ? AND name < ? AND rank <= ?"
        " AND instr(name, '/') = 0 LIMIT 500",
        (collection_id, beginning, beginning + "\U0010ffff", END),
    )
    return [str(name) for (name,) in rows]


def path_named(connection: Connection, collection_id: int, name: str) -> str | None:
    """Return the shortest path that ends with a name."""
    rows = connection.execute(
        "SELECT d.path FROM names n JOIN documents d ON d.id = n.document_id"
        " WHERE n.collection_id = ? AND n.name = ? ORDER BY n.rank, n.depth, d.path LIMIT 1",
        (collection_id, name),
    )
    return next((str(path) for (path,) in rows), None)


def renamed(connection: Connection) -> Renamed:
    """Return where the content of removed documents is now, by collection and former name. A name with several such
    places is left out."""
    rows = connection.execute(
        "SELECT was.collection_id, was.path, now.path FROM documents was CROSS JOIN documents now ON now.active"
        " AND now.collection_id = was.collection_id AND now.mirror_hash = was.mirror_hash WHERE NOT was.active"
    )
    found: dict[tuple[int, str], set[tuple[int, str]]] = {}
    for collection_id, was, now in rows:
        for name in names_of(was, [], []):
            found.setdefault((collection_id, name.name), set()).add((name.rank, now))
    return {name: places.pop() for name, places in found.items() if len(places) == 1}


def with_equal_text(connection: Connection, collection: str | None, prefix: str) -> Iterator[list[tuple[str, str]]]:
    """Yield groups of documents with the same text, as collections and paths. `prefix` limits them to a folder of a
    collection."""
    where, values = in_scope(connection, collection, prefix)
    rows = connection.execute(
        "SELECT d.mirror_hash, c.name, d.path FROM documents d JOIN collections c ON c.id = d.collection_id"
        f" WHERE d.active{where} ORDER BY d.mirror_hash, c.name, d.path",
        values,
    )
    groups = ([place for _, *place in group] for _, group in groupby(rows, itemgetter(0)))
    yield from sorted([(str(name), str(path)) for name, path in group] for group in groups if len(group) > 1)


def orphans(connection: Connection, collection: str | None, prefix: str) -> list[int]:
    """Return the documents that no other document links to, in order of paths."""
    where, values = in_scope(connection, collection, prefix)
    linked = (
        "SELECT 1 FROM names n CROSS JOIN links l ON l.collection_id = n.collection_id"
        " AND l.key = n.name AND l.reach >= n.rank AND l.document_id <> n.document_id"
        f" WHERE n.document_id = d.id AND NOT EXISTS ({BETTER})"
    )
    rows = connection.execute(
        f"SELECT d.id, EXISTS ({linked}) FROM documents d JOIN collections c ON c.id = d.collection_id"
        f" WHERE d.active{where} AND NOT EXISTS ({linked} AND NOT EXISTS ({EQUAL})) ORDER BY c.name, d.path",
        values,
    )
    # A link to one of several documents with equal names may prefer another one.
    return [int(id_) for id_, is_perhaps in rows if not (is_perhaps and linking(connection, id_) - {id_})]


def _path(connection: Connection, document_id: int) -> str:
    return str(connection.execute("SELECT path FROM documents WHERE id = ?", (document_id,)).get)


def _below_folder(best: list[LinkedDocument], path: str) -> list[LinkedDocument]:
    """Return the documents below the folder of the linking note, which Obsidian prefers, or all if there are none."""
    folder = path[: path.rfind("/") + 1]
    return [document for document in best if document.path.startswith(folder)] or best


def _as_written(best: list[LinkedDocument], target: str) -> list[LinkedDocument]:
    """Among documents whose names differ only in case, return those with the case of the link."""
    if len(best) < 2:
        return best
    written = _stem(unquote(target).partition("#")[0])
    return [document for document in best if _stem(document.path) == written] or best


def _stem(path: str) -> str:
    return unicodedata.normalize("NFC", path.rpartition("/")[2]).removesuffix(".md")


def _below(connection: Connection, collection: str | None, prefix: str) -> tuple[str, tuple[object, ...]]:
    where, values = in_scope(connection, collection, prefix)
    return (
        "FROM documents d JOIN collections c ON c.id = d.collection_id JOIN links l ON l.document_id = d.id"
        f" WHERE d.active{where}",
        values,
    )


def _select(connection: Connection, where: str, values: tuple[object, ...]) -> Iterator[StoredLink]:
    return _rows(connection, f"SELECT {_FIELDS} FROM links l {where}", values)


def _rows(connection: Connection, select: str, values: tuple[object, ...]) -> Iterator[StoredLink]:
    for document_id, collection_id, *fields in connection.execute(select, values):
        yield StoredLink(document_id, collection_id, Link(*fields))
