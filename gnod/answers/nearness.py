"""How near a question is to texts: cosines, and the limit that meaningless questions set for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.store.vectors.vector_rows import EmbeddedPiece

Floats = NDArray[np.float32]

# Meaningless questions. Their cosines with a text show which cosines the model gives to unrelated texts. A question is
# near a text if its cosine is higher than most of these. Measured on 6 short texts with other nonsense: of 11 questions
# that share no word with their text, 10 are near with MiniLM and 9 with multilingual-e5; of 16 unrelated ones, 1 each.
NONSENSE = (
    *("xqzzy blorf wumpt", "asdf jkl qwer", "flurb gribble nox tarvik", "hgjfkdls fjdksla"),
    *("zxcvbnm", "12345 67890", "mimsy borogoves outgrabe", "aaa bbb ccc ddd"),
)
_DEVIATIONS = 2.0


class EmbeddedQuestion(NamedTuple):
    """`vectors`: of the question, by model address. `served`: serving model by collection. `nonsense`: vectors of
    NONSENSE by model address, one row each."""

    text: str
    vectors: Mapping[str, Floats]
    served: Mapping[str, str]
    nonsense: Mapping[str, Floats]


def question_cosines(
    question: EmbeddedQuestion, uri: str, pieces: Sequence[EmbeddedPiece]
) -> tuple[list[float | None], Floats | None]:
    """Return each piece's cosine with the question, and a row of those with NONSENSE for each piece that has a vector;
    None without vectors of this model."""
    found: list[float | None] = [None] * len(pieces)
    query, nonsense = question.vectors.get(uri), question.nonsense.get(uri)
    rows = {n: each.vector for n, each in enumerate(pieces) if each.vector is not None}
    if query is None or not rows:
        return found, None
    matrix = np.stack([*rows.values()])
    for n, cosine in zip(rows, (matrix @ query).tolist(), strict=True):
        found[n] = cosine
    return found, None if nonsense is None else matrix @ nonsense.T


def nearness_limit(nonsense: Floats) -> float:
    """Return the cosine from which a question is near a text. `nonsense`: the best cosine of each of NONSENSE."""
    return float(nonsense.mean() + _DEVIATIONS * nonsense.std())
