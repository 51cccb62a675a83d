"""How close together the words of a query are in a long document (passage evidence: Callan 1994). Pure.

BM25 counts the words of a whole document. In a long one, the words of a query also occur far apart, in passages about
other things. So the score of the best window of WINDOW terms also counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod import bm25

WINDOW = 64
# The share of the window's score in that of a long document, and the number of terms from which a document is long
# (docs/adr/0027-long-documents.md has the figures).
SHARE = 1 / 3
LONG = 600
# Terms below this share of the heaviest term's weight say little and occur often.
NEGLIGIBLE = 0.15
_BLOCK = WINDOW // 2


TermPlaces = tuple[float, Sequence[tuple[int, bytes]]]
"""The weight of a term, and where it occurs: of each document, the positions of each of the term's phrases, as unsigned
32-bit integers."""


def best_windows(terms: Sequence[TermPlaces]) -> dict[int, float]:
    """Return the score of the best window of each document. Windows begin at every half window."""
    found = [_FoundBlocks.of(*term) for term in terms if term[1]]
    if not found:
        return {}
    # The blocks of all documents in one row, with an empty one after each document. No window begins there, so none
    # reaches into the next document.
    blocks: dict[int, int] = {}
    for each in found:
        for document, last in each.last_blocks():
            blocks[document] = max(blocks.get(document, 0), last + 2)
    starts = dict(zip(blocks, np.cumsum([0, *blocks.values()]).tolist(), strict=False))
    scores = np.zeros(sum(blocks.values()))
    for each in found:
        counts = each.counts(starts, len(scores))
        counts[:-1] += counts[1:]
        scores += each.weight * bm25.saturated(counts)
    return {id_: float(scores[start : start + blocks[id_] - 1].max()) for id_, start in starts.items()}


def blended(scores: Mapping[int, float], windows: Mapping[int, float]) -> dict[int, float]:
    """Return the scores, those of documents with a window blended with the window's, in the same order.

    The scores of windows are scaled by the median of their ratio to the documents' scores, so that long documents have
    no general advantage or disadvantage.
    """
    from statistics import median  # it takes 4 ms of each start of the daemon

    ratios = [windows[id_] / score for id_, score in scores.items() if score > 0 and id_ in windows]
    if not ratios:
        return dict(scores)
    scale = SHARE / median(ratios)
    return {
        id_: (1 - SHARE) * score + scale * windows[id_] if id_ in windows else score for id_, score in scores.items()
    }


class _FoundBlocks(NamedTuple):
    """Blocks in which a term occurs, one entry for each occurrence, document by document."""

    weight: float
    documents: list[int]
    lengths: list[int]
    blocks: NDArray[np.int64]

    @classmethod
    def of(cls, weight: float, places: Sequence[tuple[int, bytes]]) -> _FoundBlocks:
        positions = np.frombuffer(b"".join([data for _, data in places]), np.uint32)
        return cls(
            weight,
            [document for document, _ in places],
            [len(data) // positions.itemsize for _, data in places],
            (positions // _BLOCK).astype(np.int64),
        )

    def last_blocks(self) -> list[tuple[int, int]]:
        ends = np.cumsum(self.lengths) - 1
        return list(zip(self.documents, self.blocks[ends].tolist(), strict=True))

    def counts(self, starts: Mapping[int, int], size: int) -> NDArray[np.float64]:
        """Return how often the term occurs in each block of the row."""
        offsets = np.repeat([starts[document] for document in self.documents], self.lengths)
        return np.bincount(self.blocks + offsets, minlength=size).astype(np.float64)
