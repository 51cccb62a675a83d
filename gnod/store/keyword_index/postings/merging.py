"""Merge segments into one, without the documents that were removed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge as merged_lists
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.store.keyword_index.postings.contents import (
    MOST_DOCUMENTS,
    OF_DOCUMENTS,
    Contents,
    Numbers,
    code_of,
    coded,
    document_of,
    posting,
    term_of,
)
from gnod.store.keyword_index.postings.segment import Segment

# A segment is merged with smaller ones that together have at least this part of its documents.
LARGER = 2
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
        **{name: _of_documents(name, pieces, alive)[order] for name in OF_DOCUMENTS},
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
    """Return which segments to merge next, by their numbers; empty if no merge is needed. A search reads all segments,
    so there should be few. None of those chosen is much larger than the smaller ones together, so a document is copied
    only a few times. A segment that lost most of its documents is written again."""
    order = sorted(range(len(sizes)), key=lambda number: sizes[number].alive)
    for first, number in enumerate(order):
        chosen, alive, postings = [number], sizes[number].alive, sizes[number].postings
        for larger in order[first + 1 :]:
            size = sizes[larger]
            fits = alive + size.alive <= MOST_DOCUMENTS and postings + size.postings <= MOST_POSTINGS
            if not fits or size.alive > LARGER * alive:
                break
            chosen.append(larger)
            alive, postings = alive + size.alive, postings + size.postings
        if len(chosen) > 1 or sizes[number].alive < sizes[number].documents / 2:
            return chosen
    return []
