"""Rank and count the documents of a view, with filters. Must not depend on the query language or FTS5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from gnod.store.connection import Connection
from gnod.store.keyword_index.postings.contents import Numbers
from gnod.store.keyword_index.postings.view import AnyOf, Matching, View, WeighedPhrase
from gnod.store.tables import copies
from gnod.store.tables.filters import Filters

# With filters, look up this many documents at first, then four times as many, and so on.
_FIRST = 512
_MORE = 4


class Conditions(NamedTuple):
    """What documents must pass: filters, a phrase of each required group, and none that is excluded."""

    filters: Filters = Filters()
    required: Sequence[AnyOf] = ()
    excluded: AnyOf = ()


class RankedDocids(NamedTuple):
    """`best`: ids and scores. `total` and `total_of_roots`: as in `view.Scored`."""

    best: list[tuple[int, float]]
    total: float
    total_of_roots: float


def ranked(
    connection: Connection,
    view: View,
    phrases: Sequence[WeighedPhrase],
    weights: tuple[float, ...],
    depth: int,
    passing: Conditions,
) -> RankedDocids:
    """Return the best documents; ties are ordered by docid."""
    filters = passing.filters
    allowed = None
    if passing.required or passing.excluded or filters.collections:
        allowed = _in_collections(connection, view.matching(passing.required, passing.excluded), filters)
    least = None if _is_slow(filters) else depth + len(filters.excluded)
    scored = view.scored(phrases, weights, least, allowed)
    order = np.lexsort((scored.ids, scored.docids, -scored.scores))
    best = _cut(connection, scored.ids[order], scored.scores[order], filters, depth)
    return RankedDocids(best, scored.total, scored.total_of_roots)


def count(connection: Connection, view: View, phrases: AnyOf, passing: Conditions) -> int:
    """Return how many documents have one of the phrases; copies count once."""
    found = _matching(connection, view, phrases, passing)
    if _are_known(passing.filters):
        return found.size - _surplus(connection, found)
    counted = "DISTINCT d.source_hash" if copies.exist(connection) else "*"
    return _select(connection, f"count({counted})", found.ids(), passing.filters)[0]


def ids(connection: Connection, view: View, phrases: AnyOf, passing: Conditions, limit: int) -> list[int]:
    """Return documents with one of the phrases, unranked."""
    found = _matching(connection, view, phrases, passing).ids()
    if _are_known(passing.filters):
        every: list[int] = found[:limit].tolist()
        return every
    return _select(connection, "d.id", found, passing.filters)[:limit]


def _matching(connection: Connection, view: View, phrases: AnyOf, passing: Conditions) -> Matching:
    return _in_collections(connection, view.matching([*passing.required, phrases], passing.excluded), passing.filters)


def _in_collections(connection: Connection, found: Matching, filters: Filters) -> Matching:
    if not filters.collections:
        return found
    names = msgspec.json.encode(filters.collections).decode()
    rows = connection.execute("SELECT id FROM collections WHERE name IN (SELECT value FROM json_each(?))", (names,))
    return found.in_collections([id_ for (id_,) in rows])


def _is_slow(filters: Filters) -> bool:
    """Tell whether there is a filter that the view does not know."""
    return not filters._replace(collections=(), excluded=frozenset()).are_empty


def _are_known(filters: Filters) -> bool:
    """Tell whether the view alone tells which documents pass."""
    return not (_is_slow(filters) or filters.excluded)


def _cut(
    connection: Connection, ids: Numbers, scores: Numbers, filters: Filters, depth: int
) -> list[tuple[int, float]]:
    """Return the first `depth` documents that pass the filters."""
    if _are_known(filters):
        return list(zip(ids[:depth].tolist(), scores[:depth].tolist(), strict=True))
    found: list[tuple[int, float]] = []
    start, size = 0, max(_FIRST, 2 * depth)
    while start < len(ids) and len(found) < depth:
        some = slice(start, start + size)
        passing = set(_select(connection, "d.id", ids[some], filters))
        pairs = zip(ids[some].tolist(), scores[some].tolist(), strict=True)
        found += [(id_, score) for id_, score in pairs if id_ in passing]
        start, size = start + size, size * _MORE
    return found[:depth]


def _surplus(connection: Connection, found: Matching) -> int:
    """Return how many of the documents are copies of others."""
    if not copies.exist(connection):
        return 0
    rows = dict(connection.execute("SELECT document_id, source_hash FROM copies"))
    among = np.intersect1d(found.ids(), np.array(list(rows), np.int64), assume_unique=True).tolist()
    return len(among) - len({rows[id_] for id_ in among})


def _select(connection: Connection, what: str, ids: Numbers, filters: Filters) -> list[int]:
    """Return something of those of the documents that pass the filters."""
    where, values = filters.condition()
    rows = connection.execute(
        f"SELECT {what} FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value WHERE {where}",
        (msgspec.json.encode(ids.tolist()).decode(), *values),
    )
    return [int(value) for (value,) in rows]
