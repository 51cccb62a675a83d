"""Which documents hold which vectors, in memory: from the similarity of each vector to the best of each document.

A text that occurs in several documents has one vector and several places. Must not depend on the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]
Collections = NDArray[np.int32]
Owners = NDArray[np.int32]
Rows = NDArray[np.int32 | np.int64]

NO_OWNER, SEVERAL = -1, -2


class Layout(NamedTuple):
    """Documents in ascending order of their ids. The vectors of document i are `rows[starts[i]:starts[i + 1]]`, rows of
    a matrix. `collections`: the id of the collection of each document. Immutable."""

    rows: Rows
    documents: Ids
    starts: Ids
    collections: Collections

    @classmethod
    def of(cls, rows: Ids, documents: Ids, collections: Collections) -> Layout:
        """Return the layout of these places: a row, a document, and its collection."""
        order = np.argsort(documents, kind="stable")
        return cls._grouped(rows[order], documents[order], collections[order])

    @classmethod
    def _grouped(cls, rows: Ids, owners: Ids, collections: Collections) -> Layout:
        """`owners` ascends; it and `collections` have a document for each row."""
        first = np.flatnonzero(np.diff(owners, prepend=owners[:1] - 1))
        return cls(rows, owners[first], np.append(first, len(rows)), collections[first])

    def without(self, rows: Ids) -> Layout:
        """Return the layout without the places of these rows. Changes cost little: only `rows` is copied as a whole."""
        if not len(rows) or not len(self.rows):
            return self
        is_gone = np.zeros(max(int(self.rows.max()), int(rows.max())) + 1, bool)
        is_gone[rows] = True
        at = np.flatnonzero(is_gone[self.rows])
        counts = np.diff(self.starts) - np.bincount(self._owners(at), minlength=len(self.documents))
        left = counts > 0
        return Layout(np.delete(self.rows, at), self.documents[left], _starts(counts[left]), self.collections[left])

    def plus(self, rows: Ids, documents: Ids, collections: Collections) -> Layout:
        """Return the layout with these places more."""
        if not len(rows):
            return self
        more = Layout.of(rows, documents, collections)
        added, before = np.diff(more.starts), np.searchsorted(self.documents, more.documents)
        after = np.searchsorted(self.documents, more.documents, side="right")
        is_new, counts = before == after, np.diff(self.starts)
        counts[before[~is_new]] += added[~is_new]
        return Layout(
            np.insert(self.rows, np.repeat(self.starts[after], added), more.rows),
            np.insert(self.documents, before[is_new], more.documents[is_new]),
            _starts(np.insert(counts, before[is_new], added[is_new])),
            np.insert(self.collections, before[is_new], more.collections[is_new]),
        )

    def renumbered(self, before: Ids, after: Ids) -> Layout:
        """Return the layout for a matrix whose rows had the ids `before` and now have `after`, which are all here."""
        return self._replace(rows=np.searchsorted(after, before[self.rows]))

    def owners(self, total: int) -> Owners:
        """Return the number of the document that has each of `total` rows; NO_OWNER and SEVERAL where it is not one."""
        numbers = np.repeat(np.arange(len(self.documents), dtype=np.int32), np.diff(self.starts))
        found = np.full(total, NO_OWNER, np.int32)
        found[self.rows] = numbers
        found[self.rows[found[self.rows] != numbers]] = SEVERAL
        return found

    def among(self, rows: Ids, total: int, owners: Owners | None = None) -> Layout:
        """Return the places of these rows of a `total`, which ascend, as a layout of rows numbered by their position
        here. `owners` of all rows save looking at all places."""
        if owners is not None and (numbers := owners[rows]).min(initial=0) > SEVERAL:
            there = np.flatnonzero(numbers > NO_OWNER)
            order = there[np.argsort(numbers[there], kind="stable")]
            return Layout._grouped(order, self.documents[numbers[order]], self.collections[numbers[order]])
        is_wanted = np.zeros(total, bool)
        is_wanted[rows] = True
        at = np.flatnonzero(is_wanted[self.rows])
        owned, places = self._owners(at), np.searchsorted(rows, self.rows[at])
        return Layout._grouped(places, self.documents[owned], self.collections[owned])

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
        starts = _starts(self.starts[numbers + 1] - self.starts[numbers])
        return Layout(self.rows[self._at(numbers, starts)], self.documents[numbers], starts, self.collections[numbers])

    def in_collections(self, collections: Sequence[int], numbers: Ids | None = None) -> Ids:
        """Return the numbers of the documents in these collections: of all, or of these."""
        held = self.collections if numbers is None else self.collections[numbers]
        if len(collections) == 1:
            found = np.flatnonzero(held == collections[0])
        else:
            is_wanted = np.zeros(max(held.max(initial=0), *collections, 0) + 1, bool)
            is_wanted[list(collections)] = True
            found = np.flatnonzero(is_wanted[held])
        return found if numbers is None else numbers[found]

    def rows_of(self, numbers: Ids) -> tuple[Ids, Ids]:
        """Return the rows of these documents (numbers in `documents`), and for each row the position in `numbers`."""
        counts = self.starts[numbers + 1] - self.starts[numbers]
        owners = np.repeat(np.arange(len(numbers)), counts)
        return self.rows[self._at(numbers, _starts(counts))].astype(np.int64), owners

    def _at(self, numbers: Ids, starts: Ids) -> Ids:
        """Return the places of documents. `starts`: of each, and the end of the last, among these places."""
        return np.arange(starts[-1]) + np.repeat(self.starts[numbers] - starts[:-1], np.diff(starts))

    def _owners(self, at: Ids) -> Ids:
        """Return the numbers of the documents of places."""
        return np.searchsorted(self.starts, at, side="right") - 1


def _starts(counts: Ids) -> Ids:
    """Return where each of these numbers of items begins, and where the last ends."""
    return np.append(0, np.cumsum(counts))


def ascending(numbers: Ids) -> Ids:
    """Return each of the numbers once, in order, which they often are. NumPy's `unique` takes four times as long."""
    steps = np.diff(numbers)
    if (steps > 0).all():
        return numbers
    ordered = np.sort(numbers)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))]
