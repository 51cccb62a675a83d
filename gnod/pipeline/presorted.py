"""The nearest of very many vectors: those whose signs are most like the query's are compared, the others are not.

How many are compared depends on the query: so many that the nearest are hardly missed. Where few documents pass a
filter, all of their vectors are compared.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from gnod.pipeline import signs
from gnod.pipeline.candidates import Scored, Spread, Winner, passing, stored
from gnod.pipeline.matrix import Matrix
from gnod.pipeline.places import Floats, Ids, Layout
from gnod.store.database import Connection
from gnod.store.documents.filters import Condition

# Vectors that are compared first, and for each document wanted.
_LEAST = 4096
_PER_DOCUMENT = 16
_SIGMAS = 2.0
# So many vectors are compared without a look at their signs.
_FEW = 32_768
# Documents that stand for all in `spread`.
_SAMPLE = 4096


class Presorted:
    """The vectors of a matrix with a centre, as they are when this is made. Only then, the matrix must not change."""

    def __init__(self, connection: Connection, model_id: int, matrix: Matrix, layout: Layout, query: Floats) -> None:
        self._connection = connection
        self._model_id = model_id
        self._query = query
        self._layout = layout
        self._ids = matrix.ids()
        self._rows: Ids | None = None  # all
        self._differences = matrix.differences(query)
        self._cosines = matrix.comparer(query)
        self._margin = matrix.margin(query)

    def __len__(self) -> int:
        return len(self._layout.documents)

    def top(self, depth: int) -> tuple[list[Winner], float]:
        if len(self._differences) <= _FEW:
            rows = self._named(np.arange(len(self._differences)))
            return self._scored(rows, self._cosines(rows), self._layout).top(depth)
        rows, cosines = self._near(depth)
        winners, below = self._scored(rows, cosines, self._layout).top(depth)
        # Others are hardly nearer than the farthest of those that were compared.
        return winners, max(below, float(cosines.min(initial=np.inf)))

    def _near(self, depth: int) -> tuple[Ids, Floats]:
        """Return the rows that may be among the nearest `depth`, with their cosines: about as many signs differ as in
        the nearest that are known so far."""
        chosen = signs.fewest(self._differences, max(_LEAST, _PER_DOCUMENT * depth))
        cosines = self._cosines(self._named(chosen))
        most = int(self._differences[chosen].max(initial=0))
        while len(chosen) > depth:
            nearest = chosen[np.argpartition(cosines, -depth)[-depth:]]
            wanted = signs.expected(self._differences[nearest], len(self._query), _SIGMAS)
            if wanted <= most:
                break
            more = np.flatnonzero((self._differences > most) & (self._differences <= wanted))
            chosen, most = np.concatenate([chosen, more]), wanted
            cosines = np.concatenate([cosines, self._cosines(self._named(more))])
        order = np.argsort(chosen)
        return self._named(chosen[order]), cosines[order]

    def narrowed(self, condition: Condition) -> Presorted:
        numbers = self._layout.numbers(passing(self._connection, condition))
        narrow = copy(self)
        narrow._layout = self._layout.of_numbers(numbers)
        rows = narrow._rows = np.unique(narrow._layout.rows)
        narrow._differences = self._differences[rows if self._rows is None else np.searchsorted(self._rows, rows)]
        return narrow

    def spread(self) -> Spread | None:
        """Return mean and deviation, estimated from documents at equal distances."""
        numbers = np.arange(0, len(self), max(len(self) // _SAMPLE, 1))
        layout = self._layout.of_numbers(numbers)
        rows = np.unique(layout.rows)
        return self._scored(rows, self._cosines(rows), layout).spread()

    def _named(self, numbers: Ids) -> Ids:
        """Return the rows with these numbers in `_differences`."""
        return numbers if self._rows is None else self._rows[numbers]

    def _scored(self, rows: Ids, cosines: Floats, layout: Layout) -> Scored:
        """Rank the documents of these rows, which ascend."""
        ids = self._ids[rows]
        exact = stored(self._connection, self._model_id, ids, self._query)
        return Scored(self._connection, ids, cosines, layout.among(rows, len(self._ids)), exact, margin=self._margin)
