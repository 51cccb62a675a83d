"""Collect the documents with the best scores, segment by segment. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.store.keyword_index.postings.records import Numbers
from gnod.store.keyword_index.postings.segment import Segment

# To estimate the last score, look at one document in this many of a segment. Twice as many as are wanted should reach
# the estimate.
_STRIDE, _TWICE = 16, 2


class ScoredDocids(NamedTuple):
    """`docids` as `contents.ordered_docid` has them. `whole`: which have every word, if that was
    noted."""

    ids: NDArray[np.int64]
    docids: Numbers
    scores: NDArray[np.float64]
    whole: NDArray[np.bool_]


class Best:
    """The best `depth` (None: all), and those as good as the last."""

    def __init__(self, depth: int | None) -> None:
        self._depth = depth
        self._found: list[ScoredDocids] = []
        # The best scores so far, and the score that a document must reach to be among them.
        self._top = np.empty(0)
        self._least = float(np.nextafter(0.0, 1.0))

    def add(self, segment: Segment, documents: Numbers | None, scores: NDArray[np.float64]) -> Numbers:
        """Take the documents of a segment with these numbers (None: all), each once. Returns the numbers of those that
        may be among the best."""
        if not self._found:
            self._least = max(self._least, self._estimated(scores))
        good = np.flatnonzero(scores >= self._least)
        self._raise_least(scores[good])
        good = good[scores[good] >= self._least]
        numbers = good if documents is None else documents[good]
        none = np.zeros(len(good), bool)
        self._found.append(ScoredDocids(segment.ids(numbers), segment.docids[numbers], scores[good], none))
        return numbers

    def note(self, whole: NDArray[np.bool_]) -> None:
        """Note which of the documents that `add` returned last have every word."""
        self._found[-1] = self._found[-1]._replace(whole=whole)

    def documents(self) -> ScoredDocids:
        together = ScoredDocids(*(np.concatenate(columns) for columns in zip(*self._found, strict=True)))
        ids, docids, scores, whole = together
        are_best = scores >= self._least
        return ScoredDocids(ids[are_best], docids[are_best], scores[are_best], whole[are_best])

    def _raise_least(self, scores: NDArray[np.float64]) -> None:
        if self._depth is None:
            return
        self._top = np.concatenate((self._top, scores))
        if len(self._top) >= self._depth:
            self._top = np.partition(self._top, -self._depth)[-self._depth :]
            self._least = float(self._top[0])

    def _estimated(self, scores: NDArray[np.float64]) -> float:
        """Return a score that enough documents reach, but not many more: to partition all takes ten times as long."""
        if self._depth is None or len(scores) < _STRIDE * self._depth:
            return 0.0
        some, wanted = scores[::_STRIDE], _TWICE * self._depth // _STRIDE
        some = some[some > 0]
        if len(some) <= wanted:
            return 0.0
        least = float(np.partition(some, -wanted)[-wanted])
        return least if np.count_nonzero(scores >= least) >= self._depth else 0.0
