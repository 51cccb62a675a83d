"""Rank and count documents by a view, with filters. Knows no query language and no FTS5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from gnod.store.database import Connection
from gnod.store.documents import copies
from gnod.store.documents.filters import Filters
from gnod.store.postings.segment import Numbers
from gnod.store.postings.view import AnyOf, Matching, Scored, View, Weights

# With filters, so many documents are looked up at first, then four times as many, ….
_FIRST = 512
_MORE = 4


class Conditions(NamedTuple):
    """What documents must pass: a phrase of each required group, and none that is excluded."""

    filters: Filters
    required: Sequence[AnyOf] = ()
    excluded: AnyOf = ()


class Ranked(NamedTuple):
    """The best documents; the sums as `View.scored` has them."""

    best: list[tuple[int, float]]
    total: float
    roots: float


def best(
    connection: Connection, view: View, phrases: Weights, weights: tuple[float, ...], depth: int, passing: Conditions
) -> list[tuple[int, float]]:
    """Return the best documents; ties are ordered by docid."""
    scored, _, _ = view.scored(phrases, weights, _least(passing, depth), _allowed(connection, view, passing))
    if _is_slow(passing.filters) or passing.filters.excluded:
        found = _passing(connection, scored, passing.filters, depth)
    else:
        found = _with_docids_of_ties(connection, scored)
    found.sort(key=lambda each: (-each[1], each[2], each[0]))
    return [(id_, score) for id_, score, _ in found[:depth]]


def survey(
    connection: Connection, view: View, phrases: Weights, weights: tuple[float, ...], depth: int, passing: Conditions
) -> Ranked:
    """Return the best documents; ties are ordered by id."""
    scored, total, roots = view.scored(phrases, weights, _least(passing, depth), _allowed(connection, view, passing))
    if passing.filters.are_empty:
        order = np.lexsort((scored.ids, -scored.scores))[:depth]
        return Ranked(list(zip(scored.ids[order].tolist(), scored.scores[order].tolist(), strict=True)), total, roots)
    found = _passing(connection, scored, passing.filters, depth)
    found.sort(key=lambda each: (-each[1], each[0]))
    return Ranked([(id_, score) for id_, score, _ in found[:depth]], total, roots)


def count(connection: Connection, view: View, phrases: AnyOf, passing: Conditions) -> int:
    """Return how many documents have one of the phrases; copies count once."""
    found = _in_collections(connection, view.matching([*passing.required, phrases], passing.excluded), passing.filters)
    if not _is_slow(passing.filters) and not passing.filters.excluded:
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


def _passing(connection: Connection, scored: Scored, filters: Filters, depth: int) -> list[tuple[int, float, str]]:
    """Return the best documents that pass the filters, with their docids: at least `depth`, and those as good as the
    last."""
    order = np.argsort(-scored.scores, kind="stable")
    ids, scores = scored.ids[order], scored.scores[order]
    found: list[tuple[int, float, str]] = []
    start, size = 0, max(_FIRST, 2 * depth)
    while start < len(ids) and len(found) < depth:
        end = min(start + size, len(ids))
        end = int(np.searchsorted(-scores, -scores[end - 1], side="right"))
        score_of = dict(zip(ids[start:end].tolist(), scores[start:end].tolist(), strict=True))
        found += [(id_, score_of[id_], docid) for id_, docid in _filtered(connection, ids[start:end], filters)]
        start, size = end, size * _MORE
    return found


def _with_docids_of_ties(connection: Connection, scored: Scored) -> list[tuple[int, float, str]]:
    """Return the documents with their docids, which are looked up only where scores are equal."""
    _, inverse, times = np.unique(scored.scores, return_inverse=True, return_counts=True)
    docids = dict(_filtered(connection, scored.ids[times[inverse] > 1], Filters()))
    pairs = zip(scored.ids.tolist(), scored.scores.tolist(), strict=True)
    return [(id_, score, docids.get(id_, "")) for id_, score in pairs]


def _filtered(connection: Connection, ids: Numbers, filters: Filters) -> list[tuple[int, str]]:
    where, values = filters.condition()
    rows = connection.execute(
        f"SELECT d.id, d.docid FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value WHERE {where}",
        (_json(ids), *values),
    )
    return list(rows)


def _surplus(connection: Connection, found: Matching) -> int:
    """Return how many of the documents are copies of others."""
    if not copies.exist(connection):
        return 0
    rows = dict(connection.execute("SELECT document_id, source_hash FROM copies"))
    among = np.intersect1d(found.ids(), np.array(list(rows), np.int64)).tolist()
    return len(among) - len({rows[id_] for id_ in among})


def _json(ids: Numbers) -> str:
    return msgspec.json.encode(ids.tolist()).decode()
