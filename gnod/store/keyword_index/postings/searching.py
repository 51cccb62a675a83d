"""Rank and count documents by a view, with filters. Must not depend on the query language or FTS5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from gnod.store.connection import Connection
from gnod.store.keyword_index.postings.best import ScoredDocids
from gnod.store.keyword_index.postings.masks import Matching
from gnod.store.keyword_index.postings.records import Numbers
from gnod.store.keyword_index.postings.view import AnyOf, Noted, Sums, View, Weights
from gnod.store.tables import copies
from gnod.store.tables.filters import Filters

# With filters, look up this many documents at first, then four times as many, and so on.
_FIRST = 512
_MORE = 4


class Conditions(NamedTuple):
    """What documents must pass: a phrase of each required group, and none that is excluded."""

    filters: Filters
    required: Sequence[AnyOf] = ()
    excluded: AnyOf = ()


class RankedDocids(NamedTuple):
    """`best`: ids and scores. `whole`: documents with a phrase of every group noted, all such among the best. `total`:
    how many have any of the phrases noted; None: `count` must tell."""

    best: list[tuple[int, float]]
    whole: set[int]
    total: int | None


class Surveyed(NamedTuple):
    best: list[tuple[int, float]]
    sums: Sums


def best(
    connection: Connection,
    view: View,
    phrases: Weights,
    weights: tuple[float, ...],
    depth: int,
    passing: Conditions,
    noted: Noted,
) -> RankedDocids:
    """Return the best documents; ties are ordered by docid."""
    if len(noted.any) == 1 or not _are_known(passing.filters) or copies.exist(connection):
        noted = noted._replace(any=())
    allowed = _allowed(connection, view, passing)
    scored, total = view.scored(phrases, weights, _least(passing, depth), allowed, noted)
    order = np.lexsort((scored.ids, scored.docids, -scored.scores))
    ranked = _cut(connection, scored, passing.filters, depth, order)
    return RankedDocids(ranked, set(scored.ids[scored.whole].tolist()), total if noted.any else None)


def survey(
    connection: Connection, view: View, phrases: Weights, weights: tuple[float, ...], depth: int, passing: Conditions
) -> Surveyed:
    """Return the best documents; ties are ordered by id."""
    scored, sums = view.surveyed(phrases, weights, _least(passing, depth), _allowed(connection, view, passing))
    order = np.lexsort((scored.ids, -scored.scores))
    return Surveyed(_cut(connection, scored, passing.filters, depth, order), sums)


def count(connection: Connection, view: View, phrases: AnyOf, passing: Conditions) -> int:
    """Return how many documents have one of the phrases; copies count once."""
    is_free = passing.filters.are_empty and not passing.required and not passing.excluded
    if len(phrases) == 1 and is_free and not copies.exist(connection):
        return view.frequency(phrases[0])
    found = _in_collections(connection, view.matching([*passing.required, phrases], passing.excluded), passing.filters)
    if _are_known(passing.filters):
        return found.size - _surplus(connection, found)
    where, values = passing.filters.condition()
    counted = "DISTINCT d.source_hash" if copies.exist(connection) else "*"
    rows = connection.execute(
        f"SELECT count({counted}) FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value WHERE {where}",
        (_json(found.ids()), *values),
    )
    return int(rows.get)


def _allowed(connection: Connection, view: View, passing: Conditions) -> Matching | None:
    if not (passing.required or passing.excluded or passing.filters.collections):
        return None
    return _in_collections(connection, view.matching(passing.required, passing.excluded), passing.filters)


def _in_collections(connection: Connection, found: Matching, filters: Filters) -> Matching:
    if not filters.collections:
        return found
    names = msgspec.json.encode(filters.collections).decode()
    rows = connection.execute("SELECT id FROM collections WHERE name IN (SELECT value FROM json_each(?))", (names,))
    return found.in_collections([id_ for (id_,) in rows])


def _least(passing: Conditions, depth: int) -> int | None:
    """Return how many of the best documents hold `depth` that pass; None: all must be known."""
    return None if _is_slow(passing.filters) else depth + len(passing.filters.excluded)


def _is_slow(filters: Filters) -> bool:
    """Tell whether there is a filter that the postings do not know."""
    return not filters._replace(collections=(), excluded=frozenset()).are_empty


def _are_known(filters: Filters) -> bool:
    """Tell whether the postings alone tell which documents pass."""
    return not (_is_slow(filters) or filters.excluded)


def _cut(
    connection: Connection, scored: ScoredDocids, filters: Filters, depth: int, order: Numbers
) -> list[tuple[int, float]]:
    """Return the first `depth` documents that pass the filters."""
    ids, scores = scored.ids[order], scored.scores[order]
    if _are_known(filters):
        return list(zip(ids[:depth].tolist(), scores[:depth].tolist(), strict=True))
    found: list[tuple[int, float]] = []
    start, size = 0, max(_FIRST, 2 * depth)
    while start < len(ids) and len(found) < depth:
        passing = _passing(connection, ids[start : start + size], filters)
        pairs = zip(ids[start : start + size].tolist(), scores[start : start + size].tolist(), strict=True)
        found += [(id_, score) for id_, score in pairs if id_ in passing]
        start, size = start + size, size * _MORE
    return found[:depth]


def _passing(connection: Connection, ids: Numbers, filters: Filters) -> set[int]:
    where, values = filters.condition()
    rows = connection.execute(
        f"SELECT d.id FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value WHERE {where}",
        (_json(ids), *values),
    )
    return {id_ for (id_,) in rows}


def _surplus(connection: Connection, found: Matching) -> int:
    """Return how many of the documents are copies of others."""
    if not copies.exist(connection):
        return 0
    rows = dict(connection.execute("SELECT document_id, source_hash FROM copies"))
    among = np.intersect1d(found.ids(), np.array(list(rows), np.int64)).tolist()
    return len(among) - len({rows[id_] for id_ in among})


def _json(ids: Numbers) -> str:
    return msgspec.json.encode(ids.tolist()).decode()
