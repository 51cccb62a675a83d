"""Which documents have phrases, as masks. Must not depend on scores or the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gnod.store.keyword_index.postings.records import Numbers
from gnod.store.keyword_index.postings.segment import Segment
from gnod.store.keyword_index.postings.versions import ListedSegment


class Marks:
    """Which documents of a part have phrases; of documents that are not alive, this tells anything. A mask is made when
    it is asked for first, while the processor has the part in its cache. `documents_of` returns the numbers of the
    documents that have a phrase."""

    def __init__(self, part: ListedSegment, documents_of: Callable[[ListedSegment, str], Numbers]) -> None:
        self._part = part
        self._documents_of = documents_of
        self._masks: dict[str, NDArray[np.bool_]] = {}

    def mark(self, phrase: str, documents: Numbers) -> NDArray[np.bool_]:
        """Say which documents have a phrase, where that is known already."""
        mask = self._masks[phrase] = mask_of(self._part.segment, documents)
        return mask

    def any(self, phrases: Sequence[str]) -> NDArray[np.bool_]:
        """Return which documents have one of the phrases, in a new array."""
        mask = np.zeros(len(self._part.segment), bool)
        for phrase in phrases:
            mask |= self._of(phrase)
        return mask

    def number(self, phrases: Sequence[str], allowed: NDArray[np.bool_] | None) -> int:
        """Return how many of the documents that are alive, and allowed, have one of the phrases."""
        mask = self.any(phrases)
        for other in (self._part.alive, allowed):
            if other is not None:
                mask &= other
        return int(np.count_nonzero(mask))

    def have_every(self, groups: Sequence[Sequence[str]], numbers: Numbers) -> NDArray[np.bool_]:
        """Return which of the documents with these numbers have a phrase of every group."""
        every = np.ones(len(numbers), bool)
        for first, *others in groups:
            if not every.any():
                break
            found = self._of(first).take(numbers)
            for phrase in others:
                found |= self._of(phrase).take(numbers)
            every &= found
        return every

    def _of(self, phrase: str) -> NDArray[np.bool_]:
        known = self._masks.get(phrase)
        return self.mark(phrase, self._documents_of(self._part, phrase)) if known is None else known


@dataclass(frozen=True)
class Matching:
    """Documents, as a mask for each segment."""

    segments: list[Segment]
    masks: list[NDArray[np.bool_]]

    @property
    def size(self) -> int:
        return sum(int(np.count_nonzero(mask)) for mask in self.masks)

    def ids(self) -> NDArray[np.int64]:
        return np.concatenate([segment.ids(mask) for segment, mask in self._all()] or [np.empty(0, np.int64)])

    def in_collections(self, collections: Sequence[int]) -> Matching:
        masks = [mask & np.isin(segment.collections, collections) for segment, mask in self._all()]
        return Matching(self.segments, masks)

    def _all(self) -> Iterator[tuple[Segment, NDArray[np.bool_]]]:
        return zip(self.segments, self.masks, strict=True)


def mask_of(segment: Segment, documents: Numbers) -> NDArray[np.bool_]:
    mask = np.zeros(len(segment), bool)
    mask[documents] = True
    return mask
