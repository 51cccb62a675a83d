"""Find the nearest of very many vectors: compare only vectors whose signs are most like the query's.

The number of compared vectors depends on the query, so that the nearest are almost never missed. If few documents pass
a filter, all their vectors are compared.
"""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from math import isqrt

import numpy as np

from gnod.search.meaning import vector_signs
from gnod.search.meaning.candidate_documents import ScoredVectors, Spread, WantedDocuments, Winners, passing, stored
from gnod.search.meaning.vector_matrix import Floats, Ids, Layout, Matrix, Owners, ascending
from gnod.search.meaning.vector_signs import Differences
from gnod.store.connection import Connection

# The minimum number of vectors to compare first, and the number for each requested document.
_LEAST = 4096
_PER_DOCUMENT = 16
# Compare rows that differ in as many signs as this many of the nearest rows, plus this many standard deviations.
_JUDGED = 64
_SIGMAS = 1.75
# If a larger share of the vectors has signs like the query's, compare all: a full product is less work than separate
# rows.
_MANY = 0.05
# Take the cosine of one vector in this many to estimate the cosine of the last of the nearest.
_STRIDE = 16
# Compare up to this many vectors without a look at their signs.
_FEW = 32_768
# The number of sampled documents in `spread`, and in `share`.
_SAMPLE, _TRIED = 4096, 64


class Presorted:
    """A snapshot of the vectors of a matrix with a centre. The matrix must not change while the snapshot is made.

    `_numbers`, `_cosines`: of the rows compared so far, which are all rows that differ from the query in at most
    `_most` signs. If the signs predict badly, all rows are compared (`_every`), and `_numbers` are the nearest.
    """

    def __init__(
        self,
        connection: Connection,
        model_id: int,
        matrix: Matrix,
        layout: Layout,
        owners: Owners,
        query: Floats,
    ) -> None:
        self._connection = connection
        self._model_id = model_id
        self._query = query
        self._layout = layout
        self._owners: Owners | None = owners
        self._ids = matrix.ids()
        self._rows: Ids | None = None  # None means all
        self._margin = matrix.margin(query)
        self._comparer = matrix.comparer(query)
        self._counter = matrix.counter(query)
        self._begin()

    def _begin(self) -> None:
        self._counted: Differences | None = None  # a strict filter does not need it
        self._every: Floats | None = None
        self._most = -1
        self._numbers: Ids = np.empty(0, np.int64)
        self._cosines: Floats = np.empty(0, np.float32)

    def __len__(self) -> int:
        return len(self._layout.documents)

    def share(self, wanted: WantedDocuments) -> float | None:
        if not len(self):
            return None
        # Choose at random, because documents at equal distances may have something in common.
        numbers = ascending(np.random.default_rng(1).integers(0, len(self), _TRIED))
        return len(wanted.among(self._layout, numbers)) / len(numbers)

    def top(self, depth: int, needed: int, wanted: WantedDocuments | None = None) -> tuple[Winners, float]:
        self._compare_near(depth)
        numbers, cosines, is_all = self._numbers, self._cosines, self._most >= len(self._query)
        if len(numbers) > (kept := _PER_DOCUMENT * depth):
            nearest = np.argpartition(cosines, -kept)[-kept:]
            numbers, cosines, is_all = numbers[nearest], cosines[nearest], False
        order = np.argsort(numbers)
        winners, below = self._scored(self._named(numbers[order]), cosines[order]).top(depth, needed, wanted)
        if is_all:
            return winners, below
        # Other vectors are very unlikely to be nearer than the farthest of these.
        return winners, max(below, float(cosines.min(initial=np.inf)) + self._margin)

    def _compare_near(self, depth: int) -> None:
        """Compare the rows that may be among the nearest `depth`: rows with about as many different signs as the
        nearest rows so far."""
        if self._rows is not None and len(self._rows) <= _FEW:
            if self._most < 0:
                self._compare(np.arange(len(self._rows)), len(self._query))
            return
        least = max(_LEAST, _PER_DOCUMENT * depth)
        if self._every is None:
            self._compare_by_signs(least, max(depth, _JUDGED))
        if self._every is not None:
            self._numbers = _nearest(self._every, least)
            self._cosines = self._every[self._numbers]
            self._most = len(self._query) if len(self._numbers) == len(self._every) else self._most

    def _compare_by_signs(self, least: int, judged: int) -> None:
        """Compare at least `least` rows. The number of different signs in the `judged` nearest rows decides which
        others to compare."""
        differences = self._differences()
        if len(self._numbers) < least:
            fewest = vector_signs.fewest(differences, least)
            self._compare_more(fewest, int(differences[fewest].max(initial=0)))
        while len(self._numbers) > judged:
            nearest = self._numbers[np.argpartition(self._cosines, -judged)[-judged:]]
            wanted = vector_signs.expected(differences[nearest], len(self._query), _SIGMAS)
            if wanted <= self._most:
                break
            are_wanted = differences <= wanted
            if self._rows is None and np.count_nonzero(are_wanted) > _MANY * len(differences):
                self._every = self._comparer(None)
                break
            self._compare_more(np.flatnonzero(are_wanted), wanted)

    def _compare_more(self, numbers: Ids, most: int) -> None:
        """Compare the rows that were not compared yet. `most`: the rows include all that differ in at most this many
        signs."""
        if len(self._numbers):
            numbers = numbers[self._differences()[numbers] > self._most]
        self._compare(numbers, most)

    def _compare(self, numbers: Ids, most: int) -> None:
        self._numbers = np.concatenate([self._numbers, numbers])
        self._cosines = np.concatenate([self._cosines, self._comparer(self._named(numbers))])
        self._most = most

    def narrowed(self, wanted: WantedDocuments, ids: Collection[int] | None = None) -> Presorted:
        numbers = passing(self._layout, wanted, ids)
        narrow = copy(self)
        narrow._layout, narrow._owners = self._layout.of_numbers(numbers), None
        rows = narrow._rows = ascending(narrow._layout.rows.astype(np.int64))
        narrow._begin()
        if self._counted is not None:
            narrow._counted = self._counted[rows if self._rows is None else np.searchsorted(self._rows, rows)]
        return narrow

    def _differences(self) -> Differences:
        """Return the number of signs in which each vector differs from the query."""
        if self._counted is None:
            self._counted = self._counter(self._rows)
        return self._counted

    def spread(self) -> Spread | None:
        """Return mean and deviation, estimated from documents at equal distances."""
        layout = self._layout.of_numbers(np.arange(0, len(self), max(len(self) // _SAMPLE, 1)))
        rows, order = np.unique(layout.rows.astype(np.int64), return_inverse=True)
        return Spread.of(layout._replace(rows=order).best(self._comparer(rows)))

    def _named(self, numbers: Ids) -> Ids:
        """Return the rows with these numbers in `_differences`."""
        return numbers if self._rows is None else self._rows[numbers]

    def _scored(self, rows: Ids, cosines: Floats) -> ScoredVectors:
        """Rank the documents of these rows. The rows must ascend."""
        ids = self._ids[rows]
        layout = self._layout.among(rows, len(self._ids), self._owners)
        exact = stored(self._connection, self._model_id, ids, self._query)
        return ScoredVectors(ids, cosines, layout, exact, margin=self._margin)


def _nearest(cosines: Floats, count: int) -> Ids:
    """Return the numbers of at least the `count` highest cosines, ascending."""
    if count >= len(cosines):
        return np.arange(len(cosines))
    sample, wanted = cosines[::_STRIDE], count // _STRIDE
    wanted = min(wanted + 2 * isqrt(wanted) + 1, len(sample))
    found = np.flatnonzero(cosines >= np.partition(sample, -wanted)[-wanted])
    return found if len(found) >= count else np.flatnonzero(cosines >= np.partition(cosines, -count)[-count])
