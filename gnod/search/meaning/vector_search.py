"""Vector search: rank documents by query vectors, or by their similarity to a document. `Nearest` keeps the vectors of
each model in memory, in step with the database.

Depends on the store; must not depend on models, queries, snippets or the wire types. Similarities are computed before
the filters apply, so every document that passes the filters is found at any rank.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gnod.errors import NotEmbedded
from gnod.search.meaning import candidate_documents
from gnod.search.meaning.candidate_documents import Ranking, ScoredVectors, Spread
from gnod.search.meaning.presorted_vectors import Presorted
from gnod.search.meaning.vector_matrix import Floats, Layout, Matrix, Owners
from gnod.search.ranking import fusion
from gnod.search.ranking.ranked import RankedDocument, without_copies
from gnod.store.connection import Connection
from gnod.store.links import neighbours
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.filters import Filters
from gnod.store.vectors import vector_rows, vectors
from gnod.store.vectors.vector_rows import Places, VectorModel

_MB = 1024 * 1024
# For example, 43,000 x 384. A product takes about 3 ms, with quantised vectors less than 1 ms.
EXACT_BYTES = 64 * _MB
LIMIT_BYTES = 1024 * _MB
_LOAD_ROWS = 4096
# A comparison of this many quantised vectors takes about 5 ms. If there are more, compare the signs first.
COMPARED_ROWS = 250_000
# A matrix changes its kind only when it is past the threshold by this factor.
_HYSTERESIS = 1.25


class QueryVectors(NamedTuple):
    """`rows`: by model URI, one vector of length 1 for each text, in the order of the texts. `served`: the serving
    model of each collection. Collections without one are not searched. `left_out`: why models have no rows."""

    rows: Mapping[str, Floats]
    served: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    def row(self, number: int) -> dict[str, Floats]:
        return {uri: rows[number] for uri, rows in self.rows.items()}

    def without(self, uris: Collection[str]) -> QueryVectors:
        """Leave out these models."""
        if not uris:
            return self
        return QueryVectors(
            {uri: rows for uri, rows in self.rows.items() if uri not in uris},
            {name: uri for name, uri in self.served.items() if uri not in uris},
            self.left_out,
        )

    def joined(self, more: QueryVectors) -> QueryVectors:
        """Append the rows of the same models."""
        return self._replace(rows={uri: np.concatenate([rows, more.rows[uri]]) for uri, rows in self.rows.items()})


class _Resident(NamedTuple):
    """`layout`: the documents of the matrix rows. `owners`: of the rows, if not all rows are compared. `seq`: the last
    change that is included."""

    matrix: Matrix
    layout: Layout
    owners: Owners | None
    seq: int

    @classmethod
    def of(cls, matrix: Matrix, layout: Layout, seq: int) -> _Resident:
        if matrix.centre is None:
            return cls(matrix, layout, None, seq)
        # Ids of half the size: the rows of some documents are read in half the time, but all rows in twice the time.
        layout = layout._replace(rows=layout.rows.astype(np.int32, copy=False))
        return cls(matrix, layout, layout.owners(len(matrix.ids())), seq)

    @property
    def memory_bytes(self) -> int:
        owners = 0 if self.owners is None else self.owners.nbytes
        return self.matrix.memory_bytes + owners + sum(array.nbytes for array in self.layout)


class SurveyedVectors(NamedTuple):
    """`ranked`: some documents do not have their places yet (`candidates.placed`). `prominence`: of the best among all
    documents (gnod.search.ranking.fusion.prominence); None: unknown. `spreads`: by model, of the cosines of all
    documents, if known."""

    ranked: list[RankedDocument]
    prominence: float | None
    spreads: Mapping[str, Spread] = MappingProxyType({})


class Nearest:
    """The vectors of models, each loaded when it is first searched (or by `load`).

    A model is kept as float32 up to `exact_bytes`, and above that as int8. Models that would exceed a total of
    `limit_bytes` are searched on disk, which is slow. All int8 vectors are compared up to `compared_rows`; above that,
    only those whose signs are most like the query's. For the reader threads of one database.
    """

    def __init__(
        self,
        *,
        exact_bytes: int = EXACT_BYTES,
        limit_bytes: int = LIMIT_BYTES,
        compared_rows: int = COMPARED_ROWS,
    ) -> None:
        self._exact_bytes = exact_bytes
        self._limit_bytes = limit_bytes
        self._compared_rows = compared_rows
        self._resident: dict[int, _Resident] = {}
        self._lock = threading.Lock()

    def survey(
        self, connection: Connection, uri: str, query: Floats, filters: Filters, *, limit: int, also: Collection[int]
    ) -> SurveyedVectors:
        """Return the best `limit` documents that pass the filters, by their best piece; ties by document id. After them
        follow documents of `also` that pass, at any rank.

        The filters must name the collections that the model serves. A model without vectors finds nothing.
        """
        found = self._ranking(connection, uri, query)
        if found is None or limit < 1:
            return SurveyedVectors([], None)
        ranking, is_current = found
        best = candidate_documents.documents(connection, ranking, filters, limit, is_current=is_current)
        others = set(also) - {each.id for each in best}
        if others:
            best += candidate_documents.these(connection, ranking, filters, others, is_current=is_current)
        spread = ranking.spread()
        return SurveyedVectors(best, prominence(spread, best), {uri: spread} if spread else {})

    def load(self, connection: Connection, uri: str) -> None:
        """Load or update the vectors of a model, so that no search waits for them."""
        model = vector_rows.model(connection, uri)
        if model is not None and model.dimensions is not None:
            with self._lock:
                self._current(connection, model)

    def memory_bytes(self) -> int:
        return sum(resident.memory_bytes for resident in list(self._resident.values()))

    def _ranking(self, connection: Connection, uri: str, query: Floats) -> tuple[Ranking, bool] | None:
        """Return the ranking, and whether its vectors are from the connection's snapshot, and not from a later one."""
        model = vector_rows.model(connection, uri)
        length = float(np.linalg.norm(query))
        if model is None or model.dimensions is None or len(query) != model.dimensions or not length:
            return None
        query = np.ascontiguousarray(query / length, np.float32)
        # Run one search at a time: a product uses all cores, and the matrix must not change meanwhile.
        with self._lock:
            if resident := self._current(connection, model):
                is_current = resident.seq == vector_rows.last_change(connection)
                return self._rank(connection, model, resident, query), is_current
        if vector_rows.has_extension(connection):
            return candidate_documents.OnDisk(connection, model.id, query), True
        return candidate_documents.streamed(connection, model.id, query), True

    def _current(self, connection: Connection, model: VectorModel) -> _Resident | None:
        """Return the vectors as of the connection's snapshot or a later one; None if they would be too large.

        A search in an older snapshot may miss documents that were removed since, but never finds documents that are not
        in its snapshot.
        """
        self._forget_dropped(connection)
        resident = self._resident.pop(model.id, None)
        if resident is not None:
            last, changed = vector_rows.changes_since(connection, model.id, resident.seq)
            resident = None if changed is None else _applied(connection, model, resident, changed, last)
        if resident is None or not self._fits(resident):
            resident = None  # free the memory before the vectors are loaded again
            resident = self._loaded(connection, model)
        if resident is not None:
            self._resident[model.id] = resident
        return resident

    def _fits(self, resident: _Resident) -> bool:
        matrix = resident.matrix
        exact_bytes = 4 * matrix.dimensions * len(matrix)
        if self.memory_bytes() + resident.memory_bytes > self._limit_bytes * _HYSTERESIS:
            return False
        if not matrix.is_quantised:
            return exact_bytes < self._exact_bytes * _HYSTERESIS
        if matrix.centre is None and len(matrix) > self._compared_rows * _HYSTERESIS:
            return False
        return exact_bytes * _HYSTERESIS > self._exact_bytes

    def _loaded(self, connection: Connection, model: VectorModel) -> _Resident | None:
        assert model.dimensions is not None
        count = vector_rows.count(connection, model.id)
        exact_bytes = 4 * model.dimensions * count
        quantised = exact_bytes > self._exact_bytes
        if self.memory_bytes() + exact_bytes // (4 if quantised else 1) > self._limit_bytes:
            return None
        centre = vector_rows.mean(connection, model.id) if quantised and count > self._compared_rows else None
        matrix = Matrix(model.dimensions, quantised=quantised, centre=centre)
        for ids, rows in vector_rows.blocks(connection, model.id, _LOAD_ROWS):
            matrix.add(ids, rows)
        layout = Layout.of(*_rows(matrix, vector_rows.places(connection, model.id)))
        return _Resident.of(matrix, layout, vector_rows.last_change(connection))

    def _rank(self, connection: Connection, model: VectorModel, resident: _Resident, query: Floats) -> Ranking:
        matrix, layout = resident.matrix, resident.layout
        if resident.owners is not None and len(matrix) > self._compared_rows:
            return Presorted(connection, model.id, matrix, layout, resident.owners, query)
        ids, cosines = matrix.ids(), matrix.cosines(query)
        if matrix.is_quantised:
            exact = candidate_documents.stored(connection, model.id, ids, query)
        else:
            exact = candidate_documents.in_memory(matrix.reader(), query)
        return ScoredVectors(ids, cosines, layout, exact, margin=matrix.margin(query))

    def _forget_dropped(self, connection: Connection) -> None:
        if len(self._resident) > 1:
            known = {model.id for model in vector_rows.models(connection)}
            for model_id in self._resident.keys() - known:
                del self._resident[model_id]


def _applied(
    connection: Connection, model: VectorModel, resident: _Resident, changed: list[int], seq: int
) -> _Resident:
    """Bring a model up to date with its changed vectors."""
    if not changed:
        return resident._replace(seq=seq)
    matrix, ids = resident.matrix, np.asarray(sorted(changed), np.int64)
    layout = resident.layout.without(matrix.rows_of(ids))
    before = matrix.ids()
    matrix.remove(np.setdiff1d(ids, vector_rows.existing(connection, changed)))
    if len(matrix.ids()) < len(before):  # the matrix was compacted
        layout = layout.renumbered(before, matrix.ids())
    matrix.add(*vector_rows.by_ids(connection, model.id, ids[ids > matrix.last_id].tolist()))
    layout = layout.plus(*_rows(matrix, vector_rows.places(connection, model.id, changed)))
    return _Resident.of(matrix, layout, seq)


def _rows(matrix: Matrix, places: Places) -> Places:
    """Return the places with the rows of their vectors."""
    ids, (vectors, documents, collections) = matrix.ids(), places
    if not len(ids):
        return vectors[:0], documents[:0], collections[:0]
    rows = np.searchsorted(ids, vectors).clip(max=len(ids) - 1)
    there = ids[rows] == vectors
    return rows[there], documents[there], collections[there]


def prominence(spread: Spread | None, best: Sequence[RankedDocument]) -> float | None:
    """Return the prominence of the best document; None if the spread is unknown."""
    if spread is None or not best:
        return None
    return fusion.prominence(2 * best[0].score - 1, spread.mean, spread.deviation)


def search(
    connection: Connection,
    nearest: Nearest,
    query: QueryVectors,
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[RankedDocument]:
    """Return the best `limit` documents by the first row, each content once; ties by document id. The score is the
    similarity of the document's best piece, in [0, 1]: 1 - cosine distance / 2."""
    found = survey(connection, nearest, query, 0, filters, limit=limit)
    return distinct(connection, found.ranked, limit, min_score)


def distinct(
    connection: Connection, found: Sequence[RankedDocument], limit: int, min_score: float
) -> list[RankedDocument]:
    """Return the best `limit` of the ranked documents, each content once, with their places."""
    ranked = best(without_copies(connection, found), limit, min_score)
    return candidate_documents.placed(connection, ranked)


def survey(
    connection: Connection,
    nearest: Nearest,
    query: QueryVectors,
    number: int,
    filters: Filters,
    *,
    limit: int,
    also: Collection[int] = (),
) -> SurveyedVectors:
    """Search row `number` for fusion with another ranking. Returns the best `limit` documents of each model, and all
    documents of `also` that have a vector and pass the filters."""
    found: list[RankedDocument] = []
    prominences: list[float] = []
    spreads: dict[str, Spread] = {}
    for uri, vector in query.row(number).items():
        if within := served_by(uri, query.served, filters):
            only = filters._replace(collections=within)
            surveyed = nearest.survey(connection, uri, vector, only, limit=limit, also=also)
            found += surveyed.ranked
            spreads.update(surveyed.spreads)
            prominences += [] if surveyed.prominence is None else [surveyed.prominence]
    return SurveyedVectors(best(found, len(found), 0.0), max(prominences, default=None), spreads)


def similar(
    connection: Connection,
    nearest: Nearest,
    document: DocumentRow,
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[RankedDocument]:
    """Return the documents nearest to `document`, without itself and its copies, from the collections that the same
    model serves. Raises NotEmbedded."""
    only = filters._replace(excluded=filters.excluded | neighbours.with_same_text(connection, document.id))
    found = similar_and(connection, nearest, document, served, only, limit=limit, also=())
    return candidate_documents.placed(connection, best(found, limit, min_score))


def similar_and(
    connection: Connection,
    nearest: Nearest,
    document: DocumentRow,
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    also: Collection[int],
) -> list[RankedDocument]:
    """Do as `similar`, and add all documents of `also` that have a vector and pass the filters. The filters must leave
    out the document itself. Some documents do not have their places yet. Raises NotEmbedded."""
    address, uri = document.uri, served.get(document.collection)
    query = vectors.document_vector(connection, document.mirror_hash, uri) if uri else None
    if uri is None or query is None:
        raise NotEmbedded(f"{address} is not embedded yet: `gnoctl embed` shows the progress", {"uri": address})
    within = served_by(uri, served, filters)
    if not within:
        raise NotEmbedded(
            f"{', '.join(filters.collections)} cannot be compared with {address}: the same model must embed both",
            {"uri": address, "model": uri},
        )
    return nearest.survey(connection, uri, query, filters._replace(collections=within), limit=limit, also=also).ranked


def served_by(uri: str, served: Mapping[str, str], filters: Filters) -> tuple[str, ...]:
    """Return the requested collections that the model serves. Empty means none, not all: then do not search."""
    wanted = set(filters.collections or served)
    return tuple(sorted(name for name, model in served.items() if model == uri and name in wanted))


def best(found: Sequence[RankedDocument], limit: int, min_score: float) -> list[RankedDocument]:
    """Return the best `limit` of the documents; ties by document id."""
    ordered = sorted(found, key=lambda each: (-each.score, each.id))[:limit]
    return [each for each in ordered if each.score >= min_score]
