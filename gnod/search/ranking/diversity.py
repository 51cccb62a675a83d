"""An order in which no document repeats what those before it say. Pure: numbers in, order out.

As in maximal marginal relevance (Carbonell & Goldstein 1998), each next document is the one that adds most to those
chosen before. What it adds is its relevance times the share that is new: a document repeats a chosen one as far as it
is nearer to that one than to what was asked for. So the scores descend, whatever cosines a model gives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Two vectors are never taken as quite equal, because the rest is divided by their distance.
_LEAST = 1e-6

Vectors = NDArray[np.float32]


def order(
    relevance: Sequence[float], vectors: Sequence[Vectors | None], limit: int, asked: Vectors | None = None
) -> list[tuple[int, float]]:
    """Return the numbers of the documents chosen, in order, with what each adds; of equals, the first. Vectors have
    length 1. A document without a vector does not repeat any other. `asked`: what was asked for."""
    worth = np.asarray(relevance, np.float64)
    every = _rows([*vectors, asked])
    rows = every[:-1]
    near = (rows @ every[-1]).clip(0, 1 - _LEAST)
    chosen: list[tuple[int, float]] = []
    left, new = np.ones(len(worth), bool), np.ones(len(worth))
    for _ in range(min(limit, len(worth))):
        added = np.where(left, worth * new, -1.0)
        best = int(np.argmax(added))
        chosen.append((best, float(added[best])))
        left[best] = False
        repeated = (rows @ rows[best] - near) / (1 - near)
        new = np.minimum(new, 1 - repeated.clip(0, 1))
    return chosen


def _rows(vectors: Sequence[Vectors | None]) -> Vectors:
    """Return the vectors as a matrix, with zeros for those that are not known: their cosine with any is 0."""
    dimensions = next((len(vector) for vector in vectors if vector is not None), 0)
    nothing = np.zeros(dimensions, np.float32)
    return np.asarray([nothing if vector is None else vector for vector in vectors], np.float32)
