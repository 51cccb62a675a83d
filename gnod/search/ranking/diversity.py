"""An order in which no document repeats what those before it say. Pure: numbers in, order out.

Maximal marginal relevance (Carbonell & Goldstein 1998): each next document is the one with the largest
λ · relevance - (1 - λ) · similarity to the most similar of those chosen before. λ is one half: a document that is as
near to a chosen one as to what was asked for adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LAMBDA = 0.5

Vectors = NDArray[np.float32]


def order(relevance: Sequence[float], vectors: Sequence[Vectors | None], limit: int) -> list[int]:
    """Return the numbers of the documents chosen, in order; of equals, the first. Vectors have length 1. A document
    without a vector does not repeat any other."""
    worth = LAMBDA * np.asarray(relevance, np.float64)
    rows = _rows(vectors)
    redundant = np.zeros(len(worth))
    chosen: list[int] = []
    for _ in range(min(limit, len(worth))):
        best = int(np.argmax(worth - (1 - LAMBDA) * redundant))
        chosen.append(best)
        worth[best] = -np.inf
        redundant = np.maximum(redundant, rows @ rows[best])
    return chosen


def _rows(vectors: Sequence[Vectors | None]) -> Vectors:
    """Return the vectors as a matrix, with zeros for those that are not known: their cosine with any is 0."""
    dimensions = next((len(vector) for vector in vectors if vector is not None), 0)
    nothing = np.zeros(dimensions, np.float32)
    return np.asarray([nothing if vector is None else vector for vector in vectors], np.float32)
