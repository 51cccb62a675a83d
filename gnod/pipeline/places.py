"""Which documents hold which vectors, in memory: from the similarity of each vector to the best of each document.

A text that occurs in several documents has one vector and several places. Knows no database.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]


class Places(NamedTuple):
    """Pairs of a vector's id and a document's id, in order of the document. Immutable."""

    vectors: Ids
    documents: Ids

    @classmethod
    def of(cls, vectors: Ids, documents: Ids) -> Places:
        order = np.argsort(documents, kind="stable")
        return cls(vectors[order], documents[order])

    def replaced(self, changed: Ids, vectors: Ids, documents: Ids) -> Places:
        """Return the places with those of the vectors `changed` replaced by the pairs given."""
        kept = ~np.isin(self.vectors, changed)
        return Places.of(
            np.concatenate([self.vectors[kept], vectors]), np.concatenate([self.documents[kept], documents])
        )

    def layout(self, ids: Ids) -> Layout:
        """Return the places of the vectors with these ids, which ascend."""
        if not len(ids) or not len(self.vectors):
            return Layout(np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(1, np.int64))
        rows = np.searchsorted(ids, self.vectors).clip(max=len(ids) - 1)
        there = ids[rows] == self.vectors
        documents, starts = np.unique(self.documents[there], return_index=True)
        return Layout(rows[there], documents, np.append(starts, np.count_nonzero(there)))


class Layout(NamedTuple):
    """Documents in ascending order of their ids. The vectors of document i are `rows[starts[i]:starts[i + 1]]`, rows of
    a matrix. Immutable."""

    rows: Ids
    documents: Ids
    starts: Ids

    def best(self, cosines: Floats) -> Floats:
        """Return the highest cosine of each document, given that of each row."""
        if not len(self.documents):
            return np.empty(0, np.float32)
        return np.maximum.reduceat(cosines[self.rows], self.starts[:-1])

    def rows_of(self, numbers: Ids) -> tuple[Ids, Ids]:
        """Return the rows of these documents (numbers in `documents`), and for each row the position in `numbers`."""
        first, counts = self.starts[numbers], self.starts[numbers + 1] - self.starts[numbers]
        owners = np.repeat(np.arange(len(numbers)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.rows[first[owners] + within], owners
