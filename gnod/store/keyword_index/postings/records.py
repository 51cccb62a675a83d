"""The postings of each term in a segment, as they are in its file: a record of 16-bit units. Must not depend on terms
or scores.

Most postings of a term have one of a few codes (how often the term occurs in each column). So a record has *runs* of
the documents with the same code, ascending: the number of runs, their codes, their sizes less 1, and the documents of
all. A term with few postings has a code and a document for each.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
# A posting is one number, which sorts postings by term, code and document.
DOCUMENT_BITS, CODE_BITS = 16, 24
_TERM = DOCUMENT_BITS + CODE_BITS
MOST_DOCUMENTS = 1 << DOCUMENT_BITS
# A term with this many postings or fewer has no runs.
_SINGLE = 3


class PostingRecord:
    """The postings of a term. `documents`: if the file is damaged, any."""

    __slots__ = ("_codes", "_sizes", "documents")

    def __init__(self, units: Numbers) -> None:
        self._sizes: Numbers | None = None
        if len(units) <= 2 * _SINGLE:
            self.documents, self._codes = units[1::2], units[::2]
        else:
            runs = int(units[0])
            self._codes = units[1 : 1 + runs]
            self._sizes = units[1 + runs : 1 + 2 * runs].astype(np.intp) + 1
            self.documents = units[1 + 2 * runs :]

    def of_postings(self, by_code: Numbers) -> Numbers:
        """Return what each posting has, where `by_code` has it for each code."""
        of_runs = by_code.take(self._codes)
        return of_runs if self._sizes is None else of_runs.repeat(self._sizes)


def posting(terms: Numbers, codes: Numbers, documents: Numbers) -> NDArray[np.uint64]:
    """Return postings as numbers."""
    found = terms.astype(np.uint64)
    found <<= np.uint64(CODE_BITS)
    found |= codes.astype(np.uint64)
    found <<= np.uint64(DOCUMENT_BITS)
    found |= documents.astype(np.uint64)
    return found


def term_of(postings: Numbers) -> Numbers:
    return (postings >> np.uint64(_TERM)).astype(np.int64)


def code_of(postings: Numbers) -> Numbers:
    return (postings >> np.uint64(DOCUMENT_BITS)).astype(np.int64) & ((1 << CODE_BITS) - 1)


def document_of(postings: Numbers) -> Numbers:
    return postings.astype(np.uint16)


def encode(postings: Numbers, terms: int, codes: int) -> tuple[Numbers, Numbers]:
    """Return where the records of `terms` start (and where the last ends), and the units of all, of sorted postings.
    `codes`: how many there are."""
    kind = np.uint16 if codes < MOST_DOCUMENTS else np.uint32
    heads = np.flatnonzero(np.diff(postings >> np.uint64(DOCUMENT_BITS), prepend=np.uint64(1 << 63)))
    of_term, of_code = term_of(postings[heads]), code_of(postings[heads])
    sizes = np.diff(heads, append=len(postings))
    runs = np.bincount(of_term, minlength=terms)
    total = np.bincount(of_term, sizes, minlength=terms).astype(np.int64)
    has_runs = total > _SINGLE
    in_runs = has_runs[of_term]
    starts = np.concatenate(([0], np.cumsum(np.where(has_runs, 1 + 2 * runs + total, 2 * total))))
    units = np.zeros(starts[-1], kind)
    is_document = np.ones(len(units), bool)

    at = starts[:-1][has_runs]
    units[at], is_document[at] = runs[has_runs], False
    at = (starts[of_term] + 1 + _numbered(runs))[in_runs]
    units[at], is_document[at] = of_code[in_runs], False
    at += runs[of_term[in_runs]]
    units[at], is_document[at] = sizes[in_runs] - 1, False

    singles = np.where(has_runs, 0, total)
    at = np.repeat(starts[:-1], singles) + 2 * _numbered(singles)
    units[at], is_document[at] = code_of(postings[np.repeat(~in_runs, sizes)]), False
    units[is_document] = document_of(postings)
    return starts, units


class Records:
    """The records of terms that follow each other."""

    def __init__(self, starts: Numbers, units: Numbers) -> None:
        self._bounds = starts.astype(np.int64)
        self._units = units

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def each(self) -> list[PostingRecord]:
        return [PostingRecord(self._units[start:end]) for start, end in pairwise(self._bounds.tolist())]

    @cached_property
    def _runs(self) -> NDArray[np.int64]:
        """Return how many runs each record has; 0 where each posting has a code."""
        runs = np.zeros(len(self), np.int64)
        has_runs = np.diff(self._bounds) > 2 * _SINGLE
        runs[has_runs] = self._units[self._bounds[:-1][has_runs]]
        return runs

    def sizes(self) -> NDArray[np.int64]:
        """Return how many postings each term has."""
        lengths = np.diff(self._bounds)
        sizes: NDArray[np.int64] = np.where(self._runs > 0, lengths - 1 - 2 * self._runs, lengths // 2)
        return sizes

    def postings(self) -> NDArray[np.uint64]:
        """Return all postings: those without runs, sorted, and the others, sorted."""
        starts, runs, units = self._bounds[:-1], self._runs, self._units
        is_document = np.ones(len(units), bool)
        singles = np.where(runs > 0, 0, self.sizes())
        of_term = np.repeat(np.arange(len(self)), singles)
        at = starts[of_term] + 2 * _numbered(singles)
        is_document[at] = is_document[at + 1] = False
        without_runs = posting(of_term, units[at], units[at + 1])

        is_document[starts[runs > 0]] = False
        of_term = np.repeat(np.arange(len(self)), runs)
        at = starts[of_term] + 1 + _numbered(runs)
        at_sizes = at + runs[of_term]
        is_document[at] = is_document[at_sizes] = False
        heads = posting(of_term, units[at], np.zeros(len(at), np.uint64))
        with_runs = np.repeat(heads, units[at_sizes].astype(np.int64) + 1)
        with_runs |= units[is_document].astype(np.uint64)
        return np.concatenate((without_runs, with_runs))


def _numbered(sizes: Numbers) -> NDArray[np.int64]:
    """Return the number of each member in its group, of groups of these sizes that follow each other."""
    numbers: NDArray[np.int64] = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return numbers
