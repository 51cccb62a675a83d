"""Merge segments into one, without the documents that were removed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge as merged_lists
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.store.keyword_index.postings.contents import Contents, coded
from gnod.store.keyword_index.postings.records import MOST_DOCUMENTS, Numbers, code_of, document_of, posting, term_of
from gnod.store.keyword_index.postings.segment import Segment

FACTOR = 8
# A segment is full if it has this share of the documents or postings that it may have.
FULL = 15 / 16
# At rest, a segment is merged with smaller ones that together have at least a quarter of its documents.
AT_REST = 4
# A merge takes about 25 bytes of memory for each posting. A document of a few pages has a thousand postings.
MOST_POSTINGS = 8_000_000


class SegmentSize(NamedTuple):
    """Of a segment: documents, how many of them are alive, and postings."""

    documents: int
    alive: int
    postings: int


class Kept(NamedTuple):
    """A segment, and which of its documents are kept (None: all)."""

    segment: Segment
    alive: Numbers | None


def merge(kept: Sequence[Kept]) -> Contents:
    """Return the contents of one segment. No id is kept twice. Raises Damaged and OSError."""
    pieces = [each.segment.contents() for each in kept]
    alive = [np.ones(len(each.segment), bool) if each.alive is None else each.alive for each in kept]
    words = [word for word, _ in groupby(merged_lists(*(piece.words for piece in pieces)))]
    number = {word: at for at, word in enumerate(words)}
    order = np.argsort(_of_documents("ids", pieces, alive), kind="stable")
    renumbered = np.empty(len(order), np.uint16)
    renumbered[order] = np.arange(len(order))
    table, codes = coded(np.concatenate([piece.counts for piece in pieces]))
    found: list[NDArray[np.uint64]] = []
    first_document = first_code = 0
    for piece, mask in zip(pieces, alive, strict=True):
        places = np.zeros(len(mask), np.uint16)
        end = first_document + int(np.count_nonzero(mask))
        places[mask] = renumbered[first_document:end]
        terms = np.array([number[word] for word in piece.words], np.int64)
        of_piece = codes[first_code : first_code + len(piece.counts)]
        found.append(_renumbered(piece.postings, mask, terms, of_piece, places))
        first_document, first_code = end, first_code + len(piece.counts)
    postings = np.concatenate(found)
    del found
    postings.sort(kind="stable")  # they are in a few sorted pieces
    used = np.bincount(term_of(postings), minlength=len(words)) > 0
    if not used.all():
        new_terms = np.cumsum(used) - 1
        postings = posting(new_terms[term_of(postings)], code_of(postings), document_of(postings))
    return Contents(
        ids=_of_documents("ids", pieces, alive)[order],
        docids=_of_documents("docids", pieces, alive)[order],
        collections=_of_documents("collections", pieces, alive)[order],
        lengths=_of_documents("lengths", pieces, alive)[order],
        words=[word for word, is_used in zip(words, used.tolist(), strict=True) if is_used],
        postings=postings,
        counts=table,
    )


def _of_documents(name: str, pieces: Sequence[Contents], alive: Sequence[NDArray[np.bool_]]) -> Numbers:
    return np.concatenate([getattr(piece, name)[mask] for piece, mask in zip(pieces, alive, strict=True)])


def _renumbered(
    postings: NDArray[np.uint64], alive: NDArray[np.bool_], terms: Numbers, codes: Numbers, documents: Numbers
) -> NDArray[np.uint64]:
    """Return the postings of documents that are alive, with other numbers of terms, codes and documents."""
    of_document = document_of(postings)
    if not alive.all():
        held = alive[of_document]
        postings, of_document = postings[held], of_document[held]
    return posting(terms[term_of(postings)], codes[code_of(postings)], documents[of_document])


def worth_merging(sizes: Sequence[SegmentSize]) -> list[int]:
    """Return which segments to merge next, by their numbers; empty if no merge is needed. Segments of about the same
    number of documents are merged when there are FACTOR of them, so a document is copied a few times only. Those that
    fill a segment are merged at once: a search reads all segments, so there should be few."""
    tiers: dict[int, list[int]] = {}
    for number, size in enumerate(sizes):
        if size.alive < size.documents / 2:
            return [number]
        if _may_grow(size):
            tiers.setdefault(_tier(size.documents), []).append(number)
    filling = _filling([number for tier in tiers.values() for number in tier], sizes)
    if _share(_together([sizes[number] for number in filling])) >= FULL:
        return filling
    for _, numbers in sorted(tiers.items()):
        together = _together([sizes[number] for number in numbers])
        if len(numbers) >= FACTOR and _may_grow(together):
            return numbers
        if len(numbers) >= FACTOR and not _is_one_segment(together):
            return filling
    return []


def worth_merging_at_rest(sizes: Sequence[SegmentSize]) -> list[int]:
    """Return which segments to merge while nothing else happens, because each search reads all of them. None of those
    chosen is much larger than the smaller ones together, so a document is still copied only a few times."""
    order = sorted(range(len(sizes)), key=lambda number: sizes[number].alive)
    for first in range(len(order) - 1):
        chosen = [order[first]]
        for number in order[first + 1 :]:
            together = _together([sizes[each] for each in (*chosen, number)])
            if sizes[number].alive > AT_REST * (together.alive - sizes[number].alive):
                break
            if not _is_one_segment(together):
                break
            chosen.append(number)
        if len(chosen) > 1:
            return chosen
    return []


def _may_grow(size: SegmentSize) -> bool:
    """Tell whether another one of this size would fit into the same segment."""
    return size.documents <= MOST_DOCUMENTS // 2 and size.postings <= MOST_POSTINGS // 2


def _is_one_segment(size: SegmentSize) -> bool:
    return size.documents <= MOST_DOCUMENTS and size.postings <= MOST_POSTINGS


def _together(sizes: Sequence[SegmentSize]) -> SegmentSize:
    """Return the size of a segment with the documents of all that are alive."""
    alive = sum(size.alive for size in sizes)
    return SegmentSize(alive, alive, sum(size.postings for size in sizes))


def _tier(documents: int) -> int:
    return (max(documents, 1).bit_length() - 1) // (FACTOR.bit_length() - 1)


def _filling(numbers: Sequence[int], sizes: Sequence[SegmentSize]) -> list[int]:
    """Return segments that fill one: the largest, and smaller ones in the rest of it."""
    chosen: list[int] = []
    for number in sorted(numbers, key=lambda each: -_share(sizes[each])):
        if _is_one_segment(_together([sizes[each] for each in (*chosen, number)])):
            chosen.append(number)
    return chosen


def _share(size: SegmentSize) -> float:
    """Return which share of a segment it takes."""
    return max(size.alive / MOST_DOCUMENTS, size.postings / MOST_POSTINGS)
