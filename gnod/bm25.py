"""BM25: the score that a query term adds to a text that has it (Robertson & Zaragoza 2009). Pure.

All rankings by words use this module: documents, their windows and definitions, memories, shared collections.
"""

from __future__ import annotations

from math import log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# These are the values of SQLite's FTS5, which computes some of the scores (fts5_aux.c).
K1, B = 1.2, 0.75

# The weights of a document's path, title and body. docs/adr/0004-lexical-ranking.md has the figures for a title weight
# of 3 instead of 4.
COLUMN_WEIGHTS = (1.5, 3.0, 1.0)
# The weights when vector search runs too, which has the title in every piece. docs/adr/0014-fusion.md has the figures.
FUSED_COLUMN_WEIGHTS = (1.5, 2.0, 1.0)

# A title that consists of query words adds this share of their weights. docs/adr/0004-lexical-ranking.md has the
# figures.
COVERED_TITLE = 1.0

Number = TypeVar("Number", float, NDArray[np.float64])


def idf(texts: int, frequency: int) -> float:
    """Return the weight of a term that occurs in `frequency` of the texts; never negative.

    >>> round(idf(1000, 10), 2), round(idf(1000, 1000), 4)
    (4.56, 0.0005)
    """
    return log(1 + (texts - frequency + 0.5) / (frequency + 0.5))


def saturated(frequency: Number, length: Number | float = 1.0, *, b: float = B) -> Number:
    """Return the score of a term before its weight: from 0 to K1 + 1; it grows with the frequency.

    `length`: the length of the text divided by the mean length. `b`: how much the length counts.

    >>> saturated(1.0), round(saturated(1.0, 4.0), 2), round(saturated(1000.0), 2)
    (1.0, 0.45, 2.2)
    """
    return damped(frequency, damping(length, b=b))


def damping(length: Number | float, *, b: float = B) -> Number | float:
    """Return the part of the formula that depends on the length of a text, for `damped`."""
    return K1 * (1 - b + b * length)


def damped(frequency: Number, damping: Number | float) -> Number:
    """Do as `saturated`, with the output of `damping`, which all terms of a text share."""
    return frequency * (K1 + 1) / (frequency + damping)


def greatest(weights: float) -> float:
    """Return the upper bound of the score of a text for terms with this sum of weights."""
    return (K1 + 1) * weights
