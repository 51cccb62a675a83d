"""List the documents that pass the filters, newest first, for a query without words to rank by."""

from __future__ import annotations

from collections.abc import Sequence

from gnod.search.keyword import lexical
from gnod.search.keyword.lexical import Matches
from gnod.search.query.parsing import Clause
from gnod.search.ranking.ranked import RankedDocument, without_copies
from gnod.store.connection import Connection
from gnod.store.tables import copies
from gnod.store.tables.filters import Condition, Filters

_DEEPER = 4


def newest(connection: Connection, excluded: Sequence[Clause], filters: Filters, *, limit: int) -> Matches:
    """Return the newest `limit` documents without the excluded words, each content once, with the score 1; and the
    number of all such documents."""
    depth = limit
    while True:
        found = [RankedDocument(id_, 1.0, None, {}) for id_ in ids(connection, excluded, filters, limit=depth)]
        ranked = without_copies(connection, found)[:limit]
        if len(found) < depth:
            return Matches(ranked, len(ranked))
        if len(ranked) == limit:
            return Matches(ranked, _count(connection, excluded, filters))
        depth *= _DEEPER


def ids(connection: Connection, excluded: Sequence[Clause], filters: Filters, *, limit: int) -> list[int]:
    """Return the newest documents without the excluded words."""
    where, values = _without(connection, excluded, filters).condition()
    order = "ORDER BY d.dated DESC, d.docid, d.id LIMIT ?"
    rows = connection.execute(f"SELECT d.id FROM documents d WHERE {where} {order}", (*values, limit))
    return [id_ for (id_,) in rows]


def _count(connection: Connection, excluded: Sequence[Clause], filters: Filters) -> int:
    where, values = _without(connection, excluded, filters).condition()
    counted = "DISTINCT d.source_hash" if copies.exist(connection) else "*"
    return int(connection.execute(f"SELECT count({counted}) FROM documents d WHERE {where}", values).get)


def _without(connection: Connection, excluded: Sequence[Clause], filters: Filters) -> Filters:
    phrases = [Clause(clause.text, is_phrase=True) for clause in excluded]
    found = lexical.expression_of(connection, phrases).required
    if not found:
        return filters
    any_of = " OR ".join(phrase.expression for phrase in found)
    outside = Condition("d.id NOT IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)", (any_of,))
    return filters._replace(conditions=(*filters.conditions, outside))
