"""Rank documents by the similarity of their vectors. Searches deeper until enough documents pass the filters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.search.meaning.vector_matrix import FLOAT_NOISE, Floats, Ids, Layout, ascending
from gnod.search.ranking.ranked import Held, RankedDocument, Span, without_copies
from gnod.store.connection import Connection
from gnod.store.tables.filters import Condition, Filters
from gnod.store.vectors import vector_rows
from gnod.store.vectors.vector_rows import Places

_MIN_DEPTH = 64
_DEEPER = 4
# Read the vectors that are within this many margins of the last document needed. Others are very unlikely to be nearer.
_SETTLED = 1.33
# The cost to examine one more document, relative to the cost to query one that passes.
_COST = 10
# If the documents that pass are known without a query, and are less than this share, search only these.
_KNOWN_SHARE = 0.25
# Check documents that are as near as the last one, within the error of quantisation, down to this depth.
_MAX_DEPTH = 4096
_STREAMED_ROWS = 4096
# A search on disk keeps this many vectors.
_ON_DISK = 4096

Cosines = NDArray[np.float64]
Exact = Callable[[Ids], Cosines]
"""Returns the true cosines of rows; -inf for a vector that does not exist."""


class Spread(NamedTuple):
    """The mean and standard deviation of documents' cosines, each by its best vector."""

    mean: float
    deviation: float
    documents: int

    @classmethod
    def of(cls, best: Floats) -> Spread | None:
        """`best`: the cosine of each document's best vector. None without documents."""
        if not len(best):
            return None
        return cls(float(best.mean(dtype=np.float64)), float(best.std(dtype=np.float64)), len(best))

    def plus(self, other: Spread) -> Spread:
        """Return the spread of both sets of documents together."""
        whole = self.documents + other.documents
        mean = (self.documents * self.mean + other.documents * other.mean) / whole
        squares = sum(each.documents * (each.deviation**2 + each.mean**2) for each in (self, other)) / whole
        return Spread(mean, max(squares - mean**2, 0.0) ** 0.5, whole)


class Winners(NamedTuple):
    """Vectors that may be the best of their documents, with the ids of document and vector, and the cosine. The vectors
    of one document are in the order of their places."""

    documents: Ids
    vectors: Ids
    cosines: Cosines

    def __len__(self) -> int:
        return len(self.cosines)

    def chosen(self, which: NDArray[np.bool_]) -> Winners:
        return Winners(self.documents[which], self.vectors[which], self.cosines[which])


class WantedDocuments(NamedTuple):
    """The documents that pass the filters. `collections`: exactly the documents of these pass; None: only the database
    knows. `is_all`: these are all collections."""

    connection: Connection
    condition: Condition
    collections: tuple[int, ...] | None = None
    is_all: bool = False

    def among(self, layout: Layout, numbers: Ids) -> Ids:
        """Return the documents that pass. `numbers`, result: numbers in the layout."""
        if self.collections is not None:
            return layout.in_collections(self.collections, numbers)
        documents = layout.documents[numbers]
        return numbers[np.isin(documents, self._passing(self.condition.with_ids(documents.tolist())))]

    def every(self, layout: Layout) -> Ids:
        """Return all documents that pass, as numbers in the layout."""
        if self.collections is not None:
            return layout.in_collections(self.collections)
        return layout.numbers(self._passing(self.condition))

    def are_few(self, share: float, limit: int, documents: int) -> bool:
        """Return whether it is cheaper to find all documents that pass (a `share` of all) than to examine documents
        until `limit` of them pass."""
        if self.collections is not None:
            return share < _KNOWN_SHARE
        return share * documents < _COST * limit / max(share, 1 / documents)

    def _passing(self, condition: Condition) -> Ids:
        rows = self.connection.execute(f"SELECT d.id FROM documents d WHERE {condition.where}", condition.values)
        return np.asarray([document_id for (document_id,) in rows], np.int64)


class Ranking(Protocol):
    """The documents with vectors, ranked by the cosine of their best vector with a query."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def top(self, depth: int, needed: int, wanted: WantedDocuments | None = None) -> tuple[Winners, float]:
        """Return the best vectors of the documents that pass among the best `depth`, at least for all that may be among
        the best `needed`. Also return an upper bound for the cosines of all other documents (-inf: there are none)."""

    def share(self, wanted: WantedDocuments) -> float | None:
        """Return the approximate share of documents that pass; None if the share would not save work."""

    def narrowed(self, wanted: WantedDocuments, ids: Collection[int] | None = None) -> Ranking:
        """Return the ranking of only the documents that pass; with `ids`, only of these."""

    def spread(self) -> Spread | None:
        """Return mean and deviation over all documents; None: unknown."""


class ScoredVectors:
    """Vectors with cosines known to within `margin`. The cosines of the best documents are recomputed with `exact`.
    Documents without any of these vectors have a cosine of at most `below`."""

    def __init__(
        self,
        ids: Ids,
        cosines: Floats,
        layout: Layout,
        exact: Exact,
        *,
        margin: float = FLOAT_NOISE,
        below: float = -np.inf,
    ) -> None:
        self._ids = ids
        self._cosines = cosines
        self._layout = layout
        self._exact = exact
        self._margin = margin
        self._below = below
        self._best = layout.best(cosines)

    def __len__(self) -> int:
        return len(self._layout.documents)

    def top(self, depth: int, needed: int, wanted: WantedDocuments | None = None) -> tuple[Winners, float]:
        numbers, floor = _best(self._best, depth)
        if wanted is not None:
            numbers = wanted.among(self._layout, numbers)
        if len(numbers) > needed:
            first, least = _best(self._best[numbers], needed, _SETTLED * self._margin)
            numbers, floor = numbers[first], max(floor, least)
        rows, owners = self._layout.rows_of(numbers)
        near = self._cosines[rows] >= self._best[numbers][owners] - 2 * self._margin
        rows, owners = rows[near], owners[near]
        # Rounding may give more than 1, and then equal vectors would differ.
        cosines = self._exact(rows)
        cosines = np.where(cosines > 1, 1.0, cosines)
        winners = Winners(self._layout.documents[numbers][owners], self._ids[rows], cosines)
        return winners.chosen(cosines > -np.inf), max(floor + self._margin, self._below)

    def share(self, _: WantedDocuments) -> None:
        return None

    def narrowed(self, wanted: WantedDocuments, ids: Collection[int] | None = None) -> ScoredVectors:
        numbers = passing(self._layout, wanted, ids)
        kept = copy(self)
        kept._best = np.full_like(self._best, -np.inf)
        kept._best[numbers] = self._best[numbers]
        return kept

    def spread(self) -> Spread | None:
        return Spread.of(self._best[self._best > -np.inf])


class OnDisk(ScoredVectors):
    """The stored vectors of a model. Each query reads all of them and keeps the nearest."""

    def __init__(self, connection: Connection, model_id: int, query: Floats) -> None:
        found = vector_rows.nearest(connection, model_id, query.tobytes(), _ON_DISK)
        below = -np.inf if len(found) < _ON_DISK else found[-1][1] + FLOAT_NOISE
        super().__init__(*_neighbours(connection, model_id, query, found), below=below)
        self._source = connection, model_id, query

    def narrowed(self, wanted: WantedDocuments, ids: Collection[int] | None = None) -> ScoredVectors:
        connection, model_id, query = self._source
        condition = wanted.condition if ids is None else wanted.condition.with_ids(ids)
        found = vector_rows.cosines_of_documents(connection, model_id, query.tobytes(), condition)
        return ScoredVectors(*_neighbours(*self._source, found)).narrowed(wanted, ids)

    def spread(self) -> None:
        return None


def _neighbours(
    connection: Connection, model_id: int, query: Floats, found: list[tuple[int, float]]
) -> tuple[Ids, Floats, Layout, Exact]:
    """Return the arguments of `ScoredVectors` for vectors that the database found."""
    found = sorted(found)
    ids = np.asarray([id_ for id_, _ in found], np.int64)
    cosines = np.asarray([cosine for _, cosine in found], np.float32)
    layout = _layout(ids, vector_rows.places(connection, model_id, ids.tolist()))
    return ids, cosines, layout, stored(connection, model_id, ids, query)


def streamed(connection: Connection, model_id: int, query: Floats) -> Ranking:
    """Rank vectors that are read from the database only for this query."""
    parts = [
        (ids, np.asarray(vectors @ query, np.float32))
        for ids, vectors in vector_rows.blocks(connection, model_id, _STREAMED_ROWS)
    ]
    ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in parts)])
    cosines = np.concatenate([np.empty(0, np.float32), *(cosines for _, cosines in parts)])
    layout = _layout(ids, vector_rows.places(connection, model_id))
    return ScoredVectors(ids, cosines, layout, stored(connection, model_id, ids, query))


def of_documents(connection: Connection, model_id: int, query: Floats, document_ids: Collection[int]) -> Ranking:
    """Rank only these documents, by vectors that are read for this query."""
    places = vector_rows.places_of(connection, model_id, document_ids)
    ids, vectors = vector_rows.by_ids(connection, model_id, np.unique(places[0]).tolist())
    cosines = np.asarray(vectors @ query, np.float32) if len(ids) else np.empty(0, np.float32)
    return ScoredVectors(ids, cosines, _layout(ids, places), in_memory(lambda rows: vectors[rows], query))


def documents(
    connection: Connection, ranking: Ranking, filters: Filters, limit: int, *, is_current: bool = False
) -> list[RankedDocument]:
    """Return the best `limit` documents that pass the filters, each content once; ties by document id. `is_current`:
    the ranking has exactly the documents of this snapshot; the places are then looked up later, by `placed`."""
    wanted = _wanted(connection, filters, is_current=is_current)
    return _search(connection, ranking, wanted, limit, look_up=not is_current)


def these(
    connection: Connection,
    ranking: Ranking,
    filters: Filters,
    document_ids: Collection[int],
    *,
    is_current: bool = False,
) -> list[RankedDocument]:
    """Return all of `document_ids` that pass the filters and have a vector, best first. `is_current`: as in
    `documents`."""
    wanted = _wanted(connection, filters, is_current=is_current)
    narrowed = ranking.narrowed(wanted, document_ids)
    return _search(connection, narrowed, wanted, len(document_ids), is_narrowed=True, look_up=not is_current)


def passing(layout: Layout, wanted: WantedDocuments, ids: Collection[int] | None) -> Ids:
    """Return the documents that pass, as numbers in the layout; with `ids`, only of these."""
    if ids is None:
        return wanted.every(layout)
    return wanted.among(layout, layout.numbers(np.asarray(list(ids), np.int64)))


def _wanted(connection: Connection, filters: Filters, *, is_current: bool) -> WantedDocuments:
    condition = filters.condition()
    if not is_current or not filters._replace(collections=()).are_empty:
        return WantedDocuments(connection, condition)
    rows = list(connection.execute("SELECT name, id FROM collections"))
    ids = tuple(id_ for name, id_ in rows if not filters.collections or name in filters.collections)
    return WantedDocuments(connection, condition, ids, len(ids) == len(rows))


def placed(connection: Connection, ranked: Iterable[RankedDocument]) -> list[RankedDocument]:
    """Look up the places of documents that have none yet."""
    ranked = list(ranked)
    spans = _spans(connection, [held for each in ranked for held in each.unplaced])
    return [_with_first(each, spans) if each.unplaced else each for each in ranked]


def _with_first(document: RankedDocument, spans: Mapping[Held, Span]) -> RankedDocument:
    found = [spans[held] for held in document.unplaced if held in spans]
    return document._replace(span=min(found, key=lambda span: span.start, default=None), unplaced=())


def _search(
    connection: Connection,
    ranking: Ranking,
    wanted: WantedDocuments,
    limit: int,
    *,
    is_narrowed: bool = False,
    look_up: bool,
) -> list[RankedDocument]:
    depth, needed, share = max(_MIN_DEPTH, limit + limit // 2), limit, 1.0
    if not is_narrowed and not wanted.is_all and (known := ranking.share(wanted)) is not None:
        if wanted.are_few(known, limit, len(ranking)):
            ranking, is_narrowed = ranking.narrowed(wanted), True
        else:
            depth = max(depth, int(1.5 * limit / known))
    while True:
        winners, below = ranking.top(depth, needed, None if is_narrowed or wanted.is_all else wanted)
        if not is_narrowed and (found := len(ascending(winners.documents))) < needed:
            share = found / depth
        best = _first(connection, winners, limit, look_up=look_up)
        is_full = len(best) == limit
        if is_full and (best[-1].score > (1 + below) / 2 or depth >= _MAX_DEPTH):
            return best
        if np.isneginf(below) or (is_narrowed and depth >= _MAX_DEPTH and len(winners) < depth):
            return best
        if not is_narrowed and wanted.are_few(share, limit, len(ranking)):
            ranking, is_narrowed, share = ranking.narrowed(wanted), True, 1.0
        else:
            depth = _deeper(depth, share, limit)
        needed = depth  # some were copies, or a cosine was less exact than usual


def _deeper(depth: int, share: float, limit: int) -> int:
    """Return the depth at which `limit` documents should pass: at least twice as deep, but limited."""
    wanted = int(1.5 * limit / share) if share else _DEEPER * depth
    return min(max(wanted, 2 * depth), _DEEPER * depth)


def _first(connection: Connection, winners: Winners, limit: int, *, look_up: bool) -> list[RankedDocument]:
    """Return the best documents. With `look_up`, also look up the places of their vectors. A vector without a place is
    not in this snapshot, so it does not count."""
    while True:
        first = without_copies(connection, _ranked(winners))[:limit]
        if not look_up:
            return first
        spans = _spans(connection, [held for each in first for held in each.unplaced])
        lost = {held for each in first for held in each.unplaced} - spans.keys()
        if not lost:
            return [_with_first(each, spans) for each in first]
        held = map(Held, winners.documents.tolist(), winners.vectors.tolist())
        winners = winners.chosen(np.asarray([each not in lost for each in held], bool))


def _ranked(winners: Winners) -> list[RankedDocument]:
    """Return the documents by their best vector, each with all equally good vectors; ties by document id."""
    order = np.lexsort((winners.documents, -winners.cosines))
    scores = ((1 + winners.cosines) / 2).clip(0.0, 1.0)
    best: dict[int, tuple[float, float, list[Held]]] = {}
    for id_, vector, cosine, score in zip(*(column[order].tolist() for column in (*winners, scores)), strict=True):
        first = best.setdefault(id_, (cosine, score, []))
        if cosine == first[0]:
            first[2].append(Held(id_, vector))
    return [
        RankedDocument(id_, score, None, {"similarity": score}, tuple(held)) for id_, (_, score, held) in best.items()
    ]


def _spans(connection: Connection, wanted: Sequence[Held]) -> dict[Held, Span]:
    """Return the first place of each vector in its document. Leaves out vectors that are not in this snapshot."""
    if not wanted:
        return {}
    rows = connection.execute(
        "SELECT wanted.key, k.start + v.start, coalesce(k.start + v.end, k.end), k.start_line + v.line,"
        " coalesce(k.start_line + v.last_line, k.end_line) FROM json_each(?) wanted"
        " CROSS JOIN documents d ON d.id = wanted.value ->> 0"
        " CROSS JOIN content_vectors v ON v.id = wanted.value ->> 1"
        " CROSS JOIN chunks k ON k.embed_hash = v.embed_hash AND k.mirror_hash = d.mirror_hash",
        (msgspec.json.encode(wanted).decode(),),
    )
    spans: dict[Held, Span] = {}
    for number, *place in rows:
        held, span = wanted[number], Span(*place)
        if held not in spans or span.start < spans[held].start:
            spans[held] = span
    return spans


def _layout(ids: Ids, places: Places) -> Layout:
    """Return the layout of these places. `ids`: of all their vectors, ascending."""
    vectors, documents, collections = places
    return Layout.of(np.searchsorted(ids, vectors), documents, collections)


def _best(cosines: Floats, depth: int, within: float = 0.0) -> tuple[Ids, float]:
    """Return the numbers of the best `depth` documents, and of all `within` this distance of the last one, and an upper
    bound for the others."""
    # If only a few of many documents have cosines, a partition of all would take 40 times as long, because almost all
    # values are equal.
    there = np.flatnonzero(cosines > -np.inf)
    if depth >= len(there):
        return there, -np.inf
    values = cosines[there]
    floor = float(np.partition(values, -depth)[-depth]) - within
    return there[values >= floor], floor


def stored(connection: Connection, model_id: int, ids: Ids, query: Floats) -> Exact:
    """Return the exact cosines of vectors that are read from the database."""

    def cosines(rows: Ids) -> Cosines:
        wanted = ids[rows]
        known, vectors = vector_rows.by_ids(connection, model_id, np.unique(wanted).tolist())
        if not len(known):
            return np.full(len(rows), -np.inf)
        at = np.searchsorted(known, wanted).clip(max=len(known) - 1)
        return np.where(known[at] == wanted, _cosines(vectors, query)[at], -np.inf)

    return cosines


def in_memory(vectors: Callable[[Ids], Floats], query: Floats) -> Exact:
    """Return the exact cosines of unquantised vectors in memory."""
    return lambda rows: _cosines(vectors(rows), query)


def _cosines(vectors: Floats, query: Floats) -> Cosines:
    """Sum each row separately, so that equal vectors get equal cosines. BLAS does not guarantee that."""
    return (vectors.astype(np.float64) * query).sum(axis=1) if len(vectors) else np.empty(0)
