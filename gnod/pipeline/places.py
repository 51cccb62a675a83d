"""Which documents hold which vectors, in memory: from the similarity of each vector to the best of each document.

A text that occurs in several documents has one vector and several places. Knows no database.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]


class Layout(NamedTuple):
    """Documents in ascending order of their ids. The vectors of document i are `rows[starts[i]:starts[i + 1]]`, rows of
    a matrix. Immutable."""

    rows: Ids
    documents: Ids
    starts: Ids

    @classmethod
    def of(cls, rows: Ids, documents: Ids) -> Layout:
        """Return the layout of these places: pairs of a row and a document."""
        order = np.argsort(documents, kind="stable")
        return cls._grouped(rows[order], documents[order])

    @classmethod
    def _grouped(cls, rows: Ids, owners: Ids) -> Layout:
        """`owners` ascends."""
        first = np.flatnonzero(np.diff(owners, prepend=owners[:1] - 1))
        return cls(rows, owners[first], np.append(first, len(rows)))

    def without(self, rows: Ids) -> Layout:
        """Return the layout without the places of these rows. Takes no sorting, so a change costs little."""
        if not len(rows) or not len(self.rows):
            return self
        is_gone = np.zeros(max(int(self.rows.max()), int(rows.max())) + 1, bool)
        is_gone[rows] = True
        kept = ~is_gone[self.rows]
        return self if kept.all() else Layout._grouped(self.rows[kept], self._owners()[kept])

    def plus(self, rows: Ids, documents: Ids) -> Layout:
        """Return the layout with these places more."""
        if not len(rows):
            return self
        order, owners = np.argsort(documents, kind="stable"), self._owners()
        at = np.searchsorted(owners, documents[order], side="right")
        return Layout._grouped(np.insert(self.rows, at, rows[order]), np.insert(owners, at, documents[order]))

    def renumbered(self, before: Ids, after: Ids) -> Layout:
        """Return the layout for a matrix whose rows had the ids `before`, and have `after` now: all that are here."""
        return self._replace(rows=np.searchsorted(after, before[self.rows]))

    def among(self, rows: Ids, total: int) -> Layout:
        """Return the places of these rows of a `total`, which ascend, as a layout of rows numbered by their position
        here."""
        is_wanted = np.zeros(total, bool)
        is_wanted[rows] = True
        at = np.flatnonzero(is_wanted[self.rows])
        owners = self.documents[np.searchsorted(self.starts, at, side="right") - 1]
        return Layout._grouped(np.searchsorted(rows, self.rows[at]), owners)

    def best(self, cosines: Floats) -> Floats:
        """Return the highest cosine of each document, given that of each row."""
        if not len(self.documents):
            return np.empty(0, np.float32)
        return np.maximum.reduceat(cosines[self.rows], self.starts[:-1])

    def numbers(self, documents: Ids) -> Ids:
        """Return the numbers of those of the documents that are here, in ascending order."""
        if not len(self.documents):
            return np.empty(0, np.int64)
        wanted = ascending(documents)
        found = np.searchsorted(self.documents, wanted).clip(max=len(self.documents) - 1)
        return np.asarray(found[self.documents[found] == wanted], np.int64)

    def of_numbers(self, numbers: Ids) -> Layout:
        """Return the layout of these documents alone (ascending numbers in `documents`)."""
        rows, owners = self.rows_of(numbers)
        return Layout._grouped(rows, self.documents[numbers][owners])

    def rows_of(self, numbers: Ids) -> tuple[Ids, Ids]:
        """Return the rows of these documents (numbers in `documents`), and for each row the position in `numbers`."""
        first, counts = self.starts[numbers], self.starts[numbers + 1] - self.starts[numbers]
        owners = np.repeat(np.arange(len(numbers)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.rows[first[owners] + within], owners

    def _owners(self) -> Ids:
        """Return the document of each place."""
        return np.repeat(self.documents, np.diff(self.starts))


def ascending(numbers: Ids) -> Ids:
    """Return each of the numbers once. NumPy's `unique` takes four times as long."""
    ordered = np.sort(numbers)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))]
