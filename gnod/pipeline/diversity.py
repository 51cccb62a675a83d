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
    without one repeats nothing that is known."""
    worth = LAMBDA * np.asarray(relevance, np.float64)
    similar = _similarities(vectors)
    redundant = np.zeros(len(worth))
    chosen: list[int] = []
    for _ in range(min(limit, len(worth))):
        best = int(np.argmax(worth - (1 - LAMBDA) * redundant))
        chosen.append(best)
        worth[best] = -np.inf
        redundant = np.maximum(redundant, similar[best])
    return chosen


def _similarities(vectors: Sequence[Vectors | None]) -> NDArray[np.float64]:
    """Return the cosines of all pairs, none below 0."""
    known = [number for number, vector in enumerate(vectors) if vector is not None]
    rows = np.asarray([vector for vector in vectors if vector is not None], np.float64)
    found = np.zeros((len(vectors), len(vectors)))
    if known:
        found[np.ix_(known, known)] = np.clip(rows @ rows.T, 0, 1)
    return found
