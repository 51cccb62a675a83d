"""Merge segments into one, without the documents that were removed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge as merged_lists
from itertools import groupby
from typing import NamedTuple

import numpy as np

from gnod.store.postings.segment import MOST_DOCUMENTS, Numbers, Segment, assemble, coded

FACTOR = 8


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
        terms = np.repeat(np.array([number[word] for word in segment.terms()], np.int64), segment.sizes)
        held = slice(None) if each.alive is None else each.alive[segment.documents]
        places = _places(each, renumbered[first_document : first_document + each.size])
        own_codes = codes[first_code : first_code + len(segment.counts)]
        pieces.append((terms[held], places[segment.documents[held]], own_codes[segment.codes[held]]))
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
        return renumbered
    places = np.zeros(len(each.segment), np.int64)
    places[each.alive] = renumbered
    return places


def _sorted_by_term(pieces: Sequence[tuple[Numbers, Numbers, Numbers]], sizes: Numbers) -> tuple[Numbers, Numbers]:
    """Return the documents and codes of all postings by term and document. Each piece is sorted, so mostly nothing
    needs to be compared."""
    free = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    documents = np.empty(int(sizes.sum()), np.uint16)
    codes = np.empty(len(documents), np.uint32)
    for terms, places, own_codes in sorted(pieces, key=lambda piece: int(piece[1].min(initial=MOST_DOCUMENTS))):
        found = np.bincount(terms, minlength=len(sizes))
        before = np.concatenate(([0], np.cumsum(found)[:-1]))
        at = (free - before)[terms] + np.arange(len(terms))
        documents[at], codes[at] = places, own_codes
        free += found
    terms = np.repeat(np.arange(len(sizes)), sizes)
    if len(terms) and not _is_ascending(terms, documents):  # ids of different segments alternate
        order = np.argsort(terms * MOST_DOCUMENTS + documents, kind="stable")
        documents, codes = documents[order], codes[order]
    return documents, codes


def _is_ascending(terms: Numbers, documents: Numbers) -> bool:
    return bool(((documents[1:] > documents[:-1]) | (terms[1:] > terms[:-1])).all())


def worth_merging(sizes: Sequence[int], alive: Sequence[int]) -> list[int]:
    """Return which segments to merge next, by their numbers of documents; none when all is well. Segments of about the
    same size are merged when there are FACTOR of them, so a document is copied a few times only."""
    tiers: dict[int, list[int]] = {}
    for number, (size, left) in enumerate(zip(sizes, alive, strict=True)):
        if left < size / 2:
            return [number]
        if size <= MOST_DOCUMENTS // 2:
            tiers.setdefault(_tier(size), []).append(number)
    for _, numbers in sorted(tiers.items()):
        if len(numbers) >= FACTOR:
            return _fitting(numbers, alive)
    return []


def _tier(size: int) -> int:
    return (max(size, 1).bit_length() - 1) // (FACTOR.bit_length() - 1)


def _fitting(numbers: Sequence[int], alive: Sequence[int]) -> list[int]:
    chosen: list[int] = []
    for number in sorted(numbers, key=lambda each: alive[each]):
        if sum(alive[each] for each in chosen) + alive[number] <= MOST_DOCUMENTS:
            chosen.append(number)
    return chosen if len(chosen) > 1 else []
