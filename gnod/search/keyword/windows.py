"""Score how close together the words of a query are in a long document (passage evidence: Callan 1994). Pure.

BM25 counts the words of a whole document. In a long document, the words of a query also occur far apart, in passages
about other things. So the score of the best window of WINDOW terms also counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gnod import bm25

WINDOW = 64
# The share of the window in the score of a long document, and the number of terms that makes a document long
# (docs/adr/0027-long-documents.md has the figures).
SHARE = 1 / 3
LONG = 600
# Leave out terms below this share of the heaviest term's weight: they say little and occur often.
NEGLIGIBLE = 0.15
_BLOCK = WINDOW // 2


TermPlaces = tuple[float, Sequence[tuple[int, bytes]]]
"""The weight of a term, and pairs of a document and the positions of one of the term's phrases, as unsigned 32-bit
integers."""


def best_windows(terms: Sequence[TermPlaces]) -> dict[int, float]:
    """Return the score of each document's best window. Windows overlap by half."""
    numbers = {id_: number for number, id_ in enumerate(dict.fromkeys(id_ for _, places in terms for id_, _ in places))}
    last, found = np.zeros(len(numbers), np.int64), []
    for weight, places in terms:
        positions = np.frombuffer(b"".join([data for _, data in places]), np.uint32)
        lengths = [len(data) // positions.itemsize for _, data in places]
        owners = np.repeat(np.asarray([numbers[id_] for id_, _ in places], np.int64), lengths)
        blocks = (positions // _BLOCK).astype(np.int64)
        np.maximum.at(last, owners, blocks)
        found.append((weight, owners, blocks))
    # Put the blocks of all documents in one row, with an empty block after each document. No window begins there, so no
    # window reaches into the next document.
    starts = np.append(0, np.cumsum(last + 2))
    scores = np.zeros(starts[-1])
    for weight, owners, blocks in found:
        counts = np.bincount(starts[owners] + blocks, minlength=len(scores)).astype(np.float64)
        counts[:-1] += counts[1:]
        scores += weight * bm25.saturated(counts)
    return {id_: float(scores[starts[number] : starts[number + 1] - 1].max()) for id_, number in numbers.items()}


def blended(scores: Mapping[int, float], windows: Mapping[int, float]) -> dict[int, float]:
    """Blend the scores of documents with the scores of their windows. Keeps the order of the documents.

    The window scores are scaled by the median of their ratio to the documents' scores, so that long documents have no
    general advantage or disadvantage.
    """
    ratios = [windows[id_] / score for id_, score in scores.items() if score > 0 and id_ in windows]
    if not ratios:
        return dict(scores)
    scale = SHARE / float(np.median(ratios))
    return {
        id_: (1 - SHARE) * score + scale * windows[id_] if id_ in windows else score for id_, score in scores.items()
    }
