"""Which documents may have the name of another one in their text. The caller looks for it there."""

from __future__ import annotations

from typing import NamedTuple

from gnod.store import link_names
from gnod.store.connection import Connection
from gnod.store.links import neighbours

# The maximum number of documents with a very common name. Those with the first numbers are taken.
_MOST = 20_000
_MOST_LINKS = 100_000


class MentionCandidate(NamedTuple):
    id: int
    path: str
    mirror_hash: str
    mime: str


class Candidates(NamedTuple):
    """`is_cut`: there are more."""

    documents: list[MentionCandidate]
    is_cut: bool


def candidates(connection: Connection, document_id: int, expression: str) -> Candidates:
    """Return the other documents of the same collection whose text matches an FTS5 expression, by path: first those
    that do not link to the document. Source code is left out, and so are all copies but one."""
    own = "FROM documents WHERE id = ?2"
    rows = connection.execute(
        "SELECT d.id, d.path, d.mirror_hash, d.mime FROM documents_fts CROSS JOIN documents d"
        " ON d.id = documents_fts.rowid WHERE documents_fts MATCH ?1 AND d.converter NOT LIKE 'code/%'"
        f" AND d.collection_id = (SELECT collection_id {own}) AND d.mirror_hash <> (SELECT mirror_hash {own}) LIMIT ?3",
        (f"body : ({expression})", document_id, _MOST),
    )
    linking = neighbours.linking(connection, document_id, _MOST_LINKS)
    found = sorted(map(MentionCandidate._make, rows), key=lambda each: (each.id in linking, each.path))
    first_copies = {each.mirror_hash: each for each in reversed(found)}
    return Candidates(list(reversed(first_copies.values())), len(found) == _MOST)


def links_in(connection: Connection, document_id: int) -> list[tuple[int, int]]:
    """Return the ranges of the links in a document."""
    rows = connection.execute("SELECT start, end FROM links WHERE document_id = ? AND start < end", (document_id,))
    return [(start, end) for start, end in rows]


def aliases(connection: Connection, document_id: int) -> list[str]:
    """Return the aliases of a document, as names are compared."""
    rows = connection.execute(
        "SELECT DISTINCT name FROM names WHERE document_id = ? AND rank = ? ORDER BY name",
        (document_id, link_names.ALIAS),
    )
    return [name for (name,) in rows]
