"""Measure how near a question is to the pieces of documents: cosines, and a limit from meaningless questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.store.vectors.vector_rows import EmbeddedPiece

Floats = NDArray[np.float32]

# Meaningless questions. Their cosines with a text show which cosines the model gives to unrelated texts. A question is
# near a text if its cosine is higher than most of those. Measured on 6 short texts with other nonsense: of 11 questions
# that share no word with their text, 10 are near with MiniLM and 9 with multilingual-e5; of 16 unrelated questions, 1
# is near with each model.
NONSENSE = (
    *("xqzzy blorf wumpt", "asdf jkl qwer", "flurb gribble nox tarvik", "hgjfkdls fjdksla"),
    *("zxcvbnm", "12345 67890", "mimsy borogoves outgrabe", "aaa bbb ccc ddd"),
)
_DEVIATIONS = 2.0


class EmbeddedQuestion(NamedTuple):
    """`vectors`: the vectors of the question, by model address. `served`: the serving model of each collection.
    `nonsense`: the vectors of NONSENSE by model address, one row each."""

    text: str
    vectors: Mapping[str, Floats]
    served: Mapping[str, str]
    nonsense: Mapping[str, Floats]


class NearPieces:
    """The pieces of a document that have a vector of the model `uri`, with their cosines to the question. `nonsense`:
    the cosines of the pieces with NONSENSE, one row each; None without vectors."""

    nonsense: Floats | None

    def __init__(self, question: EmbeddedQuestion, uri: str, pieces: Sequence[EmbeddedPiece]) -> None:
        query, nonsense = question.vectors.get(uri), question.nonsense.get(uri)
        known = [] if query is None else [(each, each.vector) for each in pieces if each.vector is not None]
        self._starts = np.array([piece.start for piece, _ in known], np.int64)
        self._ends = np.array([piece.end for piece, _ in known], np.int64)
        self._cosines, self.nonsense = np.empty(0, np.float32), None
        if query is not None and known:
            matrix = np.stack([vector for _, vector in known])
            self._cosines = matrix @ query
            self.nonsense = None if nonsense is None else matrix @ nonsense.T

    def around(self, start: int, end: int) -> float | None:
        """Return the cosine of the piece that contains most of a range."""
        if not len(self._starts):
            return None
        shared = np.minimum(self._ends, end) - np.maximum(self._starts, start)
        best = int(shared.argmax())
        return float(self._cosines[best]) if shared[best] > 0 else None

    def best(self, count: int) -> list[tuple[int, int]]:
        """Return the ranges of the pieces nearest to the question."""
        order = np.argsort(-self._cosines, kind="stable")[:count]
        return list(zip(self._starts[order].tolist(), self._ends[order].tolist(), strict=True))


def nearness_limit(nonsense: Floats) -> float:
    """Return the cosine above which a question is near a text. `nonsense`: the best cosine of each question in
    NONSENSE."""
    return float(nonsense.mean() + _DEVIATIONS * nonsense.std())
