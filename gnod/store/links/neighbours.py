"""Find the documents that links connect, with the number of links, and documents that may mention another one. An
ambiguous link connects no documents.

The caller limits the number of links to read, because one note may have 100,000 links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from gnod.store.connection import Connection, json_list
from gnod.store.link_names import ALIAS
from gnod.store.links import links
from gnod.store.links.links import BETTER, EQUAL
from gnod.store.tables.documents import in_scope

# Joins a link `l` with the best name that it looks for.
_LEADS = (
    "CROSS JOIN names n ON n.collection_id = l.collection_id AND n.name = l.key AND n.rank <= l.reach"
    f" WHERE NOT EXISTS ({BETTER})"
)


class Neighbours(NamedTuple):
    """The documents that a document links to (`targets`) and that link to it (`sources`), with the number of links. The
    document itself is left out. `read`: the number of links read. `is_cut`: there may be more."""

    targets: dict[int, int]
    sources: dict[int, int]
    read: int
    is_cut: bool


class LinkRow(NamedTuple):
    """Equal links; the first has the number `seq` in its document. `doubtful`: another document also has the name."""

    source: int
    target: int
    doubtful: int
    seq: int
    times: int


def neighbours(connection: Connection, document_id: int, most: int) -> Neighbours:
    """Return the neighbours of a document. At most `most` links are read in each direction."""
    outgoing = _outgoing(connection, document_id, most)
    incoming = _incoming(connection, document_id, most)
    targets, sources = Counter[int](), Counter[int]()
    for row in _sure(connection, outgoing):
        targets[row.target] += row.times
    for row in _sure(connection, incoming):
        sources[row.source] += row.times
    read = [sum(row.times for row in rows) for rows in (outgoing, incoming)]
    return Neighbours(dict(targets), dict(sources), sum(read), max(read) >= most)


def linking(connection: Connection, document_id: int, most: int) -> set[int]:
    """Return the documents with a link to a document. At most `most` links are read."""
    return {row.source for row in _sure(connection, _incoming(connection, document_id, most))}


def degrees(connection: Connection, collection: str | None, prefix: str, most: int) -> Counter[int]:
    """Count the links in both directions of all documents, or of those below a folder of a collection. At most `most`
    links are read. Links whose target depends on letter case or on the folder are not counted."""
    where, values = in_scope(connection, collection, prefix)
    rows = connection.execute(
        "WITH l AS MATERIALIZED (SELECT k.document_id, k.collection_id, k.key, k.reach FROM documents d"
        " JOIN collections c ON c.id = d.collection_id CROSS JOIN links k ON k.document_id = d.id"
        f" WHERE d.active{where} AND k.key IS NOT NULL LIMIT ?)"
        f" SELECT l.document_id, n.document_id FROM l {_LEADS} AND NOT EXISTS ({EQUAL})",
        (*values, most),
    )
    found: Counter[int] = Counter()
    for source, target in rows:
        if source != target:
            found[source] += 1
            found[target] += 1
    return found


def ranked(connection: Connection, counts: Counter[int], collection: str | None, prefix: str) -> list[int]:
    """Return the counted documents, largest count first, then by path. `prefix` limits them to a folder of a
    collection."""
    where, values = in_scope(connection, collection, prefix)
    rows = connection.execute(
        "SELECT d.id, c.name, d.path FROM json_each(?) w CROSS JOIN documents d ON d.id = w.value"
        f" JOIN collections c ON c.id = d.collection_id WHERE d.active{where}",
        (json_list(counts), *values),
    )
    return [id_ for *_, id_ in sorted((-counts[id_], name, path, id_) for id_, name, path in rows)]


def _outgoing(connection: Connection, document_id: int, most: int) -> list[LinkRow]:
    rows = connection.execute(
        f"SELECT l.document_id, n.document_id, EXISTS ({EQUAL}) AS doubtful, min(l.seq), count(*)"
        " FROM (SELECT * FROM links WHERE document_id = ? AND key IS NOT NULL LIMIT ?) l"
        f" {_LEADS} AND n.document_id <> l.document_id"
        " GROUP BY n.document_id, CASE WHEN doubtful THEN l.key || '/' || l.reach || '/' || l.target END",
        (document_id, most),
    )
    return [LinkRow(*row) for row in rows]


def _incoming(connection: Connection, document_id: int, most: int) -> list[LinkRow]:
    names = links.best_names(connection, document_id)
    found = []
    # Read the two groups separately: for links whose target needs no comparison, an index contains all needed columns.
    for doubtful, group in enumerate(("l.document_id", "l.document_id, l.key, l.reach, l.target")):
        wanted = [name for name in names if name.has_equals == doubtful]
        rows = connection.execute(
            f"SELECT l.document_id, ?, {doubtful}, min(l.seq), count(*) FROM (SELECT {group}, l.seq FROM json_each(?) w"
            " CROSS JOIN links l ON l.collection_id = w.value ->> 1 AND l.key = w.value ->> 0"
            f" AND l.reach >= w.value ->> 2 LIMIT ?) l WHERE l.document_id <> ? GROUP BY {group}",
            (document_id, json_list(wanted), most, document_id),
        )
        found += [LinkRow(*row) for row in rows] if wanted else []
    return found


def _sure(connection: Connection, rows: Sequence[LinkRow]) -> Iterable[LinkRow]:
    """Yield the links that lead only to their target."""
    for row in rows:
        if not row.doubtful:
            yield row
        else:
            stored = links.at(connection, row.source, row.seq)
            if [meant.id for meant in links.meant(connection, stored)] == [row.target]:
                yield row


def cited_by(connection: Connection, ids: Collection[int], most: int) -> dict[int, set[int]]:
    """Return the documents that each of these documents links to. At most `most` links are read."""
    rows = connection.execute(
        "WITH l AS MATERIALIZED (SELECT k.document_id, k.collection_id, k.key, k.reach FROM json_each(?) w"
        " CROSS JOIN links k ON k.document_id = w.value AND k.key IS NOT NULL LIMIT ?)"
        f" SELECT l.document_id, n.document_id FROM l {_LEADS} AND NOT EXISTS ({EQUAL})"
        " AND n.document_id <> l.document_id",
        (json_list(ids), most),
    )
    found: dict[int, set[int]] = {}
    for source, target in rows:
        found.setdefault(source, set()).add(target)
    return found


def with_same_text(connection: Connection, document_id: int) -> frozenset[int]:
    """Return the documents with the same text as this one, including itself."""
    rows = connection.execute(
        "SELECT id FROM documents WHERE active AND mirror_hash = (SELECT mirror_hash FROM documents WHERE id = ?)",
        (document_id,),
    )
    return frozenset(id_ for (id_,) in rows)


# The maximum number of documents to read for a very common name. These are the documents with the lowest ids.
_MOST = 20_000
_MOST_LINKS = 100_000


class MentionCandidate(NamedTuple):
    id: int
    path: str
    mirror_hash: str
    mime: str


def candidates(connection: Connection, document_id: int, expression: str) -> tuple[list[MentionCandidate], bool]:
    """Return the other documents of the same collection whose text matches an FTS5 expression, and whether there are
    more. Documents without a link to this one come first, then by path. Source code is left out. Of copies, only one is
    returned."""
    own = "FROM documents WHERE id = ?2"
    rows = connection.execute(
        "SELECT d.id, d.path, d.mirror_hash, d.mime FROM documents_fts CROSS JOIN documents d"
        " ON d.id = documents_fts.rowid WHERE documents_fts MATCH ?1 AND d.converter NOT LIKE 'code/%'"
        f" AND d.collection_id = (SELECT collection_id {own}) AND d.mirror_hash <> (SELECT mirror_hash {own}) LIMIT ?3",
        (f"body : ({expression})", document_id, _MOST),
    )
    known = linking(connection, document_id, _MOST_LINKS)
    found = sorted(map(MentionCandidate._make, rows), key=lambda candidate: (candidate.id in known, candidate.path))
    first_copies = {candidate.mirror_hash: candidate for candidate in reversed(found)}
    return list(reversed(first_copies.values())), len(found) == _MOST


def links_in(connection: Connection, document_id: int) -> list[tuple[int, int]]:
    """Return the spans of the links in a document."""
    rows = connection.execute("SELECT start, end FROM links WHERE document_id = ? AND start < end", (document_id,))
    return [(start, end) for start, end in rows]


def aliases(connection: Connection, document_id: int) -> list[str]:
    """Return the aliases of a document, in the form for comparison."""
    rows = connection.execute(
        "SELECT DISTINCT name FROM names WHERE document_id = ? AND rank = ? ORDER BY name",
        (document_id, ALIAS),
    )
    return [name for (name,) in rows]
