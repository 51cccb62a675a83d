"""From ranked vectors to ranked documents: deeper and deeper, until enough documents pass the filters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.pipeline.matrix import FLOAT_NOISE, Floats, Ids, Matrix
from gnod.pipeline.ranked import RankedDocument, Span
from gnod.store.database import Connection
from gnod.store.documents.filters import Filters
from gnod.store.vectors import knn, vector_rows

_MIN_DEPTH = 64
_DEEPER = 4
# At this depth most filters have passed enough documents. Where they pass only few of those seen, it is cheaper to
# query which vectors pass at all.
_FILTER_DEPTH = 256
_FEW = 0.2
# Vectors as near as the last document, within the error of quantisation, are checked down to this depth.
_MAX_DEPTH = 4096
_STREAMED_ROWS = 4096
# Documents that represent all documents for the prominence of the best.
_SAMPLE = 4000

Cosines = NDArray[np.float64]


class Top(NamedTuple):
    """The best vectors with their true cosines. `below`: an upper bound for all others (-inf: there are none)."""

    ids: Ids
    cosines: Cosines
    below: float


class Sample(NamedTuple):
    """The vectors of some documents that represent all. `ids`, grouped by document; `starts`: where each group
    begins."""

    ids: Ids
    starts: Ids


class Spread(NamedTuple):
    """Mean and standard deviation of the cosines of documents, each by its best vector."""

    mean: float
    deviation: float


class Ranking(Protocol):
    """Vectors in the order of their cosine with a query."""

    def top(self, depth: int) -> Top: ...

    def among(self, ids: Ids) -> Ranking: ...

    def spread(self, sample: Sample) -> Spread | None:
        """Return mean and deviation of the documents' cosines; None: not known."""


class Scored:
    """Vectors with cosines known to within `margin`; those of the best are recomputed from the database."""

    def __init__(
        self, connection: Connection, model_id: int, query: Floats, ids: Ids, cosines: Floats, margin: float
    ) -> None:
        self._connection = connection
        self._model_id = model_id
        self._query = query
        self._ids = ids
        self._cosines = cosines
        self._margin = margin

    def top(self, depth: int) -> Top:
        rows, floor = _best(self._cosines, depth)
        ids, vectors = vector_rows.by_ids(self._connection, self._model_id, self._ids[rows].tolist())
        return Top(ids, _exact(vectors, self._query), floor + self._margin)

    def among(self, ids: Ids) -> Ranking:
        kept = np.isin(self._ids, ids)
        return Scored(self._connection, self._model_id, self._query, self._ids[kept], self._cosines[kept], self._margin)

    def spread(self, sample: Sample) -> Spread | None:
        if not len(sample.starts) or not len(self._ids):
            return None
        rows = np.searchsorted(self._ids, sample.ids).clip(max=len(self._ids) - 1)
        cosines = np.where(self._ids[rows] == sample.ids, self._cosines[rows], -np.inf)
        best = np.maximum.reduceat(cosines, sample.starts)
        there = best[best > -np.inf]
        return Spread(float(there.mean()), float(there.std())) if len(there) else None


class OnDisk:
    """The sqlite-vec table of a model; each query reads all of it."""

    def __init__(self, connection: Connection, uri: str, query: Floats, among: Sequence[int] | None = None) -> None:
        self._connection = connection
        self._uri = uri
        self._query = query
        self._among = among

    def top(self, depth: int) -> Top:
        depth = min(depth, knn.MAX_NEIGHBOURS)
        found = knn.search(self._connection, self._uri, self._query.tobytes(), depth, self._among)
        ids = np.fromiter((n.vector_id for n in found), np.int64, len(found))
        cosines = np.fromiter((n.cosine for n in found), np.float64, len(found))
        # sqlite-vec returns no more neighbours: deeper ones are not found.
        is_end = len(found) < depth or depth == knn.MAX_NEIGHBOURS
        return Top(ids, cosines, -np.inf if is_end else float(cosines[-1]) + FLOAT_NOISE)

    def among(self, ids: Ids) -> Ranking:
        return OnDisk(self._connection, self._uri, self._query, ids.tolist())

    def spread(self, sample: Sample) -> Spread | None:  # noqa: ARG002
        return None


def resident(connection: Connection, model_id: int, matrix: Matrix, query: Floats) -> Ranking:
    """Rank the rows of a matrix as they are now."""
    return Scored(connection, model_id, query, matrix.ids(), matrix.cosines(query), matrix.margin(query))


def streamed(connection: Connection, model_id: int, query: Floats) -> Ranking:
    """Rank vectors that are read from the database for this query only."""
    parts = [
        (ids, np.asarray(vectors @ query, np.float32))
        for ids, vectors in vector_rows.blocks(connection, model_id, _STREAMED_ROWS)
    ]
    ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in parts)])
    cosines = np.concatenate([np.empty(0, np.float32), *(cosines for _, cosines in parts)])
    return Scored(connection, model_id, query, ids, cosines, FLOAT_NOISE)


def sample(connection: Connection, model_id: int) -> Sample:
    """Return the vectors of the documents with the lowest docids: a fixed random sample, since docids are hashes."""
    rows = list(
        connection.execute(
            "SELECT d.id, v.id FROM (SELECT id, mirror_hash FROM documents WHERE active ORDER BY docid LIMIT ?) d"
            " CROSS JOIN chunks k ON k.mirror_hash = d.mirror_hash"
            " CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash AND v.model_id = ? ORDER BY d.id",
            (_SAMPLE, model_id),
        )
    )
    owners = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    ids = np.fromiter((row[1] for row in rows), np.int64, len(rows))
    return Sample(ids, np.unique(owners, return_index=True)[1])


def documents(
    connection: Connection,
    ranking: Ranking,
    model_id: int,
    filters: Filters,
    limit: int,
    exclude_mirror: str | None = None,
) -> list[RankedDocument]:
    """Return the best `limit` documents that pass the filters; ties by document id."""
    where, bound = filters.condition()
    if exclude_mirror is not None:
        where, bound = f"{where} AND d.mirror_hash <> ?", (*bound, exclude_mirror)
    return _search(connection, ranking, model_id, where, bound, limit)


def these(
    connection: Connection, ranking: Ranking, model_id: int, filters: Filters, document_ids: Collection[int]
) -> list[RankedDocument]:
    """Return those of the documents that pass the filters and have a vector, at any rank; best first."""
    where, bound = filters.condition()
    where = f"d.id IN (SELECT value FROM json_each(?)) AND {where}"
    bound = (msgspec.json.encode(sorted(document_ids)).decode(), *bound)
    narrowed = ranking.among(_passing(connection, model_id, where, bound))
    return _search(connection, narrowed, model_id, where, bound, len(document_ids), is_narrowed=True)


def _search(
    connection: Connection,
    ranking: Ranking,
    model_id: int,
    where: str,
    bound: tuple[object, ...],
    limit: int,
    *,
    is_narrowed: bool = False,
) -> list[RankedDocument]:
    found: dict[int, RankedDocument] = {}
    seen: set[int] = set()
    passing = 0
    depth = max(_MIN_DEPTH, limit + limit // 2)
    while True:
        top = ranking.top(depth)
        similarities = dict(zip(top.ids.tolist(), ((1 + top.cosines) / 2).clip(0, 1).tolist(), strict=True))
        new = [vector_id for vector_id in similarities if vector_id not in seen]
        passing += _collect(connection, new, similarities, where, bound, found)
        seen.update(new)
        best = sorted(found.values(), key=lambda each: (-each.score, each.id))[:limit]
        is_full = len(best) == limit
        if np.isneginf(top.below) or (is_full and (best[-1].score > (1 + top.below) / 2 or depth >= _MAX_DEPTH)):
            return best
        if not is_narrowed and depth >= _FILTER_DEPTH and passing < _FEW * len(seen):
            ranking, is_narrowed = ranking.among(_passing(connection, model_id, where, bound)), True
        else:
            depth *= _DEEPER


def _collect(
    connection: Connection,
    ids: list[int],
    similarities: dict[int, float],
    where: str,
    bound: tuple[object, ...],
    found: dict[int, RankedDocument],
) -> int:
    """Put the documents of vectors into `found`, each with its best piece (the first of equals). Return how many
    vectors belong to a document that passes the filters."""
    rows = connection.execute(
        "SELECT v.id, d.id, k.start + v.start, coalesce(k.start + v.end, k.end), k.start_line + v.line,"
        " coalesce(k.start_line + v.last_line, k.end_line) FROM json_each(?) wanted"
        " CROSS JOIN content_vectors v ON v.id = wanted.value"
        " CROSS JOIN chunks k ON k.embed_hash = v.embed_hash"
        f" CROSS JOIN documents d ON d.mirror_hash = k.mirror_hash WHERE {where}",
        (msgspec.json.encode(ids).decode(), *bound),
    )
    passed = set()
    for vector_id, document_id, *place in rows:
        score, span = similarities[vector_id], Span(*place)
        before = found.get(document_id)
        if before is None or before.span is None or (-score, span.start) < (-before.score, before.span.start):
            found[document_id] = RankedDocument(document_id, score, span, {"similarity": score})
        passed.add(vector_id)
    return len(passed)


def _passing(connection: Connection, model_id: int, where: str, bound: tuple[object, ...]) -> Ids:
    """Return the vectors of documents that pass."""
    rows = connection.execute(
        "SELECT DISTINCT v.id FROM documents d CROSS JOIN chunks k ON k.mirror_hash = d.mirror_hash"
        f" CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash AND v.model_id = ? WHERE {where}",
        (model_id, *bound),
    )
    return np.asarray([vector_id for (vector_id,) in rows], np.int64)


def _best(cosines: Floats, depth: int) -> tuple[Ids, float]:
    """Return the rows of the best `depth`, with all that equal the last, and an upper bound for the others."""
    if depth >= len(cosines):
        return np.flatnonzero(cosines > -np.inf), -np.inf
    floor = float(np.partition(cosines, -depth)[-depth])
    if floor == -np.inf:
        return np.flatnonzero(cosines > -np.inf), -np.inf
    return np.flatnonzero(cosines >= floor), floor


def _exact(vectors: Floats, query: Floats) -> Cosines:
    """Sum each row separately, so that equal vectors get equal cosines. BLAS does not guarantee that."""
    return (vectors.astype(np.float64) * query).sum(axis=1) if len(vectors) else np.empty(0)
