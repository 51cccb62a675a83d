"""Some random documents of a shared collection, in memory: what can be said of all its documents without asking.

How far the best document stands out (gnod.search.ranking.fusion) needs the mean and the deviation over all. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gnod.search.meaning.vector_matrix import Layout
from gnod.shared.engine import Key, SharedDocument, Vector
from gnod.store.vectors.vector_rows import DTYPE

# With this many documents, the deviation differs by at most 5 % from the deviation of all documents.
SIZE = 1000
# The maximum number of pieces of a document: a long one would need much memory.
_MOST_PIECES = 32

Floats = NDArray[np.float32]


class DocumentSample:
    """`dimensions` of the vectors; None: there are none."""

    def __init__(self, documents: Sequence[SharedDocument], dimensions: int | None) -> None:
        self._keys = [document.key for document in documents]
        found: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        for number, document in enumerate(documents):
            for id_, weight in document.weights.items():
                found[id_].append((number, weight))
        self._terms = {
            id_: (np.array([n for n, _ in places], np.int32), np.array([w for _, w in places], np.float32))
            for id_, places in found.items()
        }
        rows = [
            (number, piece.embedding)
            for number, document in enumerate(documents)
            for piece in document.pieces[:_MOST_PIECES]
            if dimensions and len(piece.embedding) == dimensions * DTYPE.itemsize
        ]
        data = b"".join(embedding for _, embedding in rows)
        self._vectors = np.nan_to_num(np.frombuffer(data, DTYPE).reshape(len(rows), dimensions or 0))
        numbers = np.array([number for number, _ in rows], np.int64)
        self._layout = Layout.of(np.arange(len(rows)), numbers, np.zeros(len(rows), np.int32))

    def __len__(self) -> int:
        return len(self._keys)

    def cosines(self, query: Vector) -> Floats:
        """Return the cosine of the best piece of each document that has vectors."""
        if len(query) != self._vectors.shape[1]:
            return np.empty(0, np.float32)
        return self._layout.best(np.asarray(self._vectors @ query, np.float32))

    def sums(self, weights: Mapping[int, float], without: Collection[Key], documents: int) -> tuple[float, float]:
        """Estimate the sum of the scores of this many documents that are not in `without`, and the sum of their square
        roots. `weights` of the query's terms."""
        outside = np.array([key not in without for key in self._keys], bool)
        if documents <= 0 or not outside.any():
            return 0.0, 0.0
        scores = np.zeros(len(self._keys))
        for id_, weight in weights.items():
            if id_ in self._terms:
                numbers, frequencies = self._terms[id_]
                scores[numbers] += weight * frequencies
        scores = np.maximum(scores[outside], 0.0)
        scale = documents / len(scores)
        return float(scores.sum() * scale), float(np.sqrt(scores).sum() * scale)
