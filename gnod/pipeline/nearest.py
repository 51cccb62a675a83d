"""The documents nearest to a vector: the vectors of each model in memory, in step with the database.

Depends on the store; knows no models, no queries and no wire. All similarities are computed before the filters apply,
so a filter never costs a document: what passes it is found wherever it ranks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from gnod.pipeline import candidates, fusion
from gnod.pipeline.candidates import Ranking, Sample
from gnod.pipeline.matrix import Floats, Matrix
from gnod.pipeline.ranked import RankedDocument
from gnod.store.database import Connection
from gnod.store.documents.filters import Filters
from gnod.store.vectors import knn, vector_rows
from gnod.store.vectors.vector_rows import Model

_MB = 1024 * 1024
# 170,000 x 384: one product over them takes about 15 ms on two cores.
EXACT_BYTES = 256 * _MB
LIMIT_BYTES = 1024 * _MB
_LOAD_ROWS = 4096
# While vectors are being added, the mean of all need not be exact.
_SAMPLE_KEPT_S = 2.0
# A matrix changes its kind only well past the threshold.
_HYSTERESIS = 1.25


class _Resident(NamedTuple):
    """`seq`: the last change that is in the matrix."""

    matrix: Matrix
    seq: int


class _Sampled(NamedTuple):
    """`seq`: the last change of vectors that the sample knows of. `made`: when, by the monotonic clock."""

    sample: Sample
    seq: int
    made: float


class _Ranked(NamedTuple):
    ranking: Ranking
    model_id: int


class Surveyed(NamedTuple):
    """`prominence` of the best among all documents (gnod.pipeline.fusion.prominence); None: not known."""

    ranked: list[RankedDocument]
    prominence: float | None


class Nearest:
    """The vectors of models, each loaded when it is first searched (or by `load`).

    Up to `exact_bytes` a model is kept as float32, above that as int8; models that would take more than `limit_bytes`
    in all are searched on disk, which is slow. For the reader threads of one database.
    """

    def __init__(self, *, exact_bytes: int = EXACT_BYTES, limit_bytes: int = LIMIT_BYTES) -> None:
        self._exact_bytes = exact_bytes
        self._limit_bytes = limit_bytes
        self._resident: dict[int, _Resident] = {}
        self._samples: dict[int, _Sampled] = {}
        self._lock = threading.Lock()

    def search(
        self,
        connection: Connection,
        uri: str,
        query: Floats,
        filters: Filters,
        *,
        limit: int,
        exclude_mirror: str | None = None,
    ) -> list[RankedDocument]:
        """Return the best `limit` documents that pass the filters, by their best piece; ties by document id.

        The filters must name the collections that the model serves. A model without vectors finds nothing. Documents
        with the content `exclude_mirror` are left out.
        """
        ranking = self._ranking(connection, uri, query)
        if ranking is None or limit < 1:
            return []
        return candidates.documents(connection, ranking.ranking, ranking.model_id, filters, limit, exclude_mirror)

    def survey(
        self, connection: Connection, uri: str, query: Floats, filters: Filters, *, limit: int, also: Collection[int]
    ) -> Surveyed:
        """Search for fusion with another ranking: those of `also` that pass the filters come too, wherever they rank,
        after the others."""
        ranking = self._ranking(connection, uri, query)
        if ranking is None or limit < 1:
            return Surveyed([], None)
        best = candidates.documents(connection, ranking.ranking, ranking.model_id, filters, limit)
        others = set(also) - {each.id for each in best}
        if others:
            best += candidates.these(connection, ranking.ranking, ranking.model_id, filters, others)
        return Surveyed(best, self._prominence(connection, ranking, best))

    def load(self, connection: Connection, uri: str) -> None:
        """Load or update the vectors of a model, so that no search has to wait."""
        model = vector_rows.model(connection, uri)
        if model is not None and model.dimensions is not None:
            with self._lock:
                self._current(connection, model)

    def memory_bytes(self) -> int:
        return sum(resident.matrix.memory_bytes for resident in list(self._resident.values()))

    def _prominence(self, connection: Connection, ranked: _Ranked, best: list[RankedDocument]) -> float | None:
        seq, now = vector_rows.last_change(connection), time.monotonic()
        with self._lock:
            known = self._samples.get(ranked.model_id)
        if known is None or (known.seq != seq and now - known.made > _SAMPLE_KEPT_S):
            known = _Sampled(candidates.sample(connection, ranked.model_id), seq, now)
            with self._lock:
                self._samples[ranked.model_id] = known
        spread = ranked.ranking.spread(known.sample)
        if spread is None or not best:
            return None
        return fusion.prominence(2 * best[0].score - 1, spread.mean, spread.deviation)

    def _ranking(self, connection: Connection, uri: str, query: Floats) -> _Ranked | None:
        model = vector_rows.model(connection, uri)
        length = float(np.linalg.norm(query))
        if model is None or model.dimensions is None or len(query) != model.dimensions or not length:
            return None
        query = np.ascontiguousarray(query / length, np.float32)
        return _Ranked(self._rank(connection, model, query), model.id)

    def _rank(self, connection: Connection, model: Model, query: Floats) -> Ranking:
        # One at a time: a product has all cores, and the matrix does not change meanwhile.
        with self._lock:
            matrix = self._current(connection, model)
            if matrix is not None:
                return candidates.resident(connection, model.id, matrix, query)
        if knn.has_table(connection, model.uri):
            return candidates.OnDisk(connection, model.uri, query)
        return candidates.streamed(connection, model.id, query)

    def _current(self, connection: Connection, model: Model) -> Matrix | None:
        """Return the matrix as of the connection's snapshot or a later one; None if it would be too large.

        A search in an older snapshot may miss what was removed since, and never finds what it cannot see.
        """
        self._forget_dropped(connection)
        resident = self._resident.get(model.id)
        if resident is not None:
            changes = vector_rows.changes_since(connection, model.id, resident.seq)
            if changes.ids is not None and self._apply(connection, model, resident.matrix, changes.ids):
                self._resident[model.id] = resident._replace(seq=changes.seq)
                return resident.matrix
            del self._resident[model.id], resident
        matrix = self._loaded(connection, model)
        if matrix is not None:
            self._resident[model.id] = _Resident(matrix, vector_rows.last_change(connection))
        return matrix

    def _apply(self, connection: Connection, model: Model, matrix: Matrix, changed: list[int]) -> bool:
        """Apply changes to a matrix. Return False when it must be loaded again."""
        if not changed:
            return True
        ids, vectors = vector_rows.by_ids(connection, model.id, changed)
        gone = np.setdiff1d(np.asarray(changed, np.int64), ids)
        matrix.remove(gone)
        matrix.add(ids, vectors)
        return self._fits(matrix)

    def _fits(self, matrix: Matrix) -> bool:
        exact_bytes = 4 * matrix.dimensions * len(matrix)
        if self.memory_bytes() > self._limit_bytes * _HYSTERESIS:
            return False
        if matrix.is_quantised:
            return exact_bytes * _HYSTERESIS > self._exact_bytes
        return exact_bytes < self._exact_bytes * _HYSTERESIS

    def _loaded(self, connection: Connection, model: Model) -> Matrix | None:
        assert model.dimensions is not None
        exact_bytes = 4 * model.dimensions * vector_rows.count(connection, model.id)
        quantised = exact_bytes > self._exact_bytes
        if self.memory_bytes() + exact_bytes // (4 if quantised else 1) > self._limit_bytes:
            return None
        matrix = Matrix(model.dimensions, quantised=quantised)
        for ids, vectors in vector_rows.blocks(connection, model.id, _LOAD_ROWS):
            matrix.add(ids, vectors)
        return matrix

    def _forget_dropped(self, connection: Connection) -> None:
        if len(self._resident) > 1:
            known = {model.id for model in vector_rows.models(connection)}
            for model_id in self._resident.keys() - known:
                del self._resident[model_id]
                self._samples.pop(model_id, None)
