"""Merge segments into one, without the documents that were removed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge as merged_lists
from itertools import groupby
from typing import NamedTuple

import numpy as np

from gnod.store.postings.segment import MOST_DOCUMENTS, Numbers, Segment, assemble, coded

FACTOR = 8
# At rest, a segment is merged with smaller ones that together have at least a quarter of its documents.
AT_REST = 4
# A merge takes about 25 bytes of memory for each posting: a document of a few pages has a thousand.
MOST_POSTINGS = 8_000_000


class Size(NamedTuple):
    """Of a segment: documents, how many of them are alive, and postings."""

    documents: int
    alive: int
    postings: int


class Kept(NamedTuple):
    """A segment, and which of its documents are kept (None: all)."""

    segment: Segment
    alive: Numbers | None

    @property
    def size(self) -> int:
        return len(self.segment) if self.alive is None else int(self.alive.sum())


def merge(kept: Sequence[Kept]) -> Segment:
    """Return one segment. No id is kept twice."""
    words = [word for word, _ in groupby(merged_lists(*(each.segment.terms() for each in kept)))]
    number = {word: at for at, word in enumerate(words)}
    ids, order = _documents(kept)
    renumbered = np.empty(len(order), np.int64)
    renumbered[order] = np.arange(len(order))
    table, codes = coded(np.concatenate([each.segment.counts for each in kept]))
    pieces: list[tuple[Numbers, Numbers, Numbers]] = []
    first_document = first_code = 0
    for each in kept:
        segment = each.segment
        terms = np.repeat(np.array([number[word] for word in segment.terms()], np.int32), segment.sizes)
        held = slice(None) if each.alive is None else each.alive[segment.documents]
        places = _places(each, renumbered[first_document : first_document + each.size])
        own_codes = codes[first_code : first_code + len(segment.counts)].astype(np.uint32)
        pieces.append((terms[held], places[segment.documents[held]], own_codes[segment.codes[held]]))
        del terms
        first_document += each.size
        first_code += len(segment.counts)
    sizes = np.sum([np.bincount(terms, minlength=len(words)) for terms, _, _ in pieces], axis=0)
    used = sizes > 0
    documents, of_postings = _sorted_by_term(pieces, sizes)
    return assemble(
        ids=ids[order],
        docids=_of_documents(kept, "docids")[order],
        collections=_of_documents(kept, "collections")[order],
        lengths=_of_documents(kept, "lengths")[order],
        words=[word for word, is_used in zip(words, used.tolist(), strict=True) if is_used],
        sizes=sizes[used],
        documents=documents,
        codes=of_postings,
        counts=table,
    )


def _documents(kept: Sequence[Kept]) -> tuple[Numbers, Numbers]:
    ids = _of_documents(kept, "ids")
    return ids, np.argsort(ids, kind="stable")


def _of_documents(kept: Sequence[Kept], name: str) -> Numbers:
    arrays = [each.segment.arrays[name] for each in kept]
    return np.concatenate(
        [array if each.alive is None else array[each.alive] for each, array in zip(kept, arrays, strict=True)]
    )


def _places(each: Kept, renumbered: Numbers) -> Numbers:
    """Return the new number of each document of a segment; of those that are not kept, any."""
    if each.alive is None:
        return renumbered.astype(np.uint16)
    places = np.zeros(len(each.segment), np.uint16)
    places[each.alive] = renumbered
    return places


def _sorted_by_term(pieces: Sequence[tuple[Numbers, Numbers, Numbers]], sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the documents and codes of all postings by term and document. Each piece is sorted, so mostly nothing
    needs to be compared."""
    free = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    documents = np.empty(int(sizes.sum()), np.uint16)
    codes = np.empty(len(documents), np.uint32)
    for terms, places, own_codes in sorted(pieces, key=lambda piece: int(piece[1].min(initial=MOST_DOCUMENTS - 1))):
        found = np.bincount(terms, minlength=len(sizes))
        before = np.concatenate(([0], np.cumsum(found)[:-1]))
        at = (free - before)[terms] + np.arange(len(terms))
        documents[at], codes[at] = places, own_codes
        free += found
    terms = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    if len(terms) and not _is_ascending(terms, documents):  # ids of different segments alternate
        order = np.argsort(terms.astype(np.int64) * MOST_DOCUMENTS + documents, kind="stable")
        documents, codes = documents[order], codes[order]
    return documents, codes


def _is_ascending(terms: Numbers, documents: Numbers) -> bool:
    return bool(((documents[1:] > documents[:-1]) | (terms[1:] > terms[:-1])).all())


def worth_merging(sizes: Sequence[Size]) -> list[int]:
    """Return which segments to merge next, by their numbers; none when all is well. Segments of about the same number
    of documents are merged when there are FACTOR of them, so a document is copied a few times only."""
    tiers: dict[int, list[int]] = {}
    for number, size in enumerate(sizes):
        if size.alive < size.documents / 2:
            return [number]
        if size.documents <= MOST_DOCUMENTS // 2 and size.postings <= MOST_POSTINGS // 2:
            tiers.setdefault(_tier(size.documents), []).append(number)
    for _, numbers in sorted(tiers.items()):
        if len(numbers) >= FACTOR:
            return _fitting(numbers, sizes)
    return []


def worth_merging_at_rest(sizes: Sequence[Size]) -> list[int]:
    """Return which segments to merge while nothing else happens: each search reads all of them. None of those chosen is
    much larger than the smaller ones together, so a document is still copied a few times only."""
    order = sorted(range(len(sizes)), key=lambda number: sizes[number].alive)
    for first in range(len(order) - 1):
        chosen = [order[first]]
        for number in order[first + 1 :]:
            together = [sizes[each] for each in (*chosen, number)]
            if sizes[number].alive > AT_REST * sum(size.alive for size in together[:-1]):
                break
            if not _is_one_segment(together):
                break
            chosen.append(number)
        if len(chosen) > 1:
            return chosen
    return []


def _is_one_segment(sizes: Sequence[Size]) -> bool:
    alive, postings = sum(size.alive for size in sizes), sum(size.postings for size in sizes)
    return alive <= MOST_DOCUMENTS and postings <= MOST_POSTINGS


def _tier(documents: int) -> int:
    return (max(documents, 1).bit_length() - 1) // (FACTOR.bit_length() - 1)


def _fitting(numbers: Sequence[int], sizes: Sequence[Size]) -> list[int]:
    chosen: list[int] = []
    for number in sorted(numbers, key=lambda each: sizes[each].alive):
        if not _is_one_segment([sizes[each] for each in (*chosen, number)]):
            break
        chosen.append(number)
    return chosen if len(chosen) > 1 else []
