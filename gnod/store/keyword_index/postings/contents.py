"""What a segment holds: which terms occur in some documents, and how often, as arrays. Must not depend on files or
scores."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.store.tables.records import Terms

Numbers = NDArray[Any]
COLUMNS = 3  # filepath, title, body
TITLE = 1
# The arrays that have one value for each document, by its number.
OF_DOCUMENTS = ("ids", "docids", "collections", "stemmers", "lengths", "titles")
# A posting is one number, which sorts postings by term, code and document.
_DOCUMENT_BITS, _CODE_BITS = 16, 24
MOST_DOCUMENTS = 1 << _DOCUMENT_BITS
_LARGEST_COUNT = (1 << 21) - 1


class SegmentDocument(NamedTuple):
    """The part of a document that a segment stores."""

    id: int
    docid: str
    collection: int
    stemmer: int
    terms: Terms

    def terms_by_column(self) -> tuple[str, str, str]:
        return self.terms.filepath, self.terms.title, self.terms.body


class Contents(NamedTuple):
    """`ids`, `docids` (as `ordered_docid`), `collections`, `stemmers` (as `stemmer_number`), `lengths` and `titles` (in
    terms) by document: documents have numbers in a segment, in the order of their ids. `words`: the terms, sorted.
    `postings` (as `posting` makes them), sorted. A code is a row in `counts`, how often a term occurs in each
    column."""

    ids: Numbers
    docids: Numbers
    collections: Numbers
    stemmers: Numbers
    lengths: Numbers
    titles: Numbers
    words: list[bytes]
    postings: NDArray[np.uint64]
    counts: Numbers


class CountTable:
    """How often a term occurs in each column, one row for each code. Keeps what was computed of all rows."""

    def __init__(self, counts: Numbers) -> None:
        self._counts = counts
        self._weighed: dict[tuple[float, ...], NDArray[np.float64]] = {}

    def weighed(self, weights: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the sum of each row, with a weight for each column."""
        if weights not in self._weighed:
            self._weighed[weights] = self._counts @ np.array(weights)
        return self._weighed[weights]

    @cached_property
    def in_title(self) -> NDArray[np.bool_]:
        return self._counts[:, TITLE] > 0


def posting(terms: Numbers, codes: Numbers, documents: Numbers) -> NDArray[np.uint64]:
    """Return postings as numbers."""
    found = terms.astype(np.uint64)
    found <<= np.uint64(_CODE_BITS)
    found |= codes.astype(np.uint64)
    found <<= np.uint64(_DOCUMENT_BITS)
    found |= documents.astype(np.uint64)
    return found


def term_of(postings: Numbers) -> Numbers:
    return (postings >> np.uint64(_DOCUMENT_BITS + _CODE_BITS)).astype(np.int64)


def code_of(postings: Numbers) -> Numbers:
    return (postings >> np.uint64(_DOCUMENT_BITS)).astype(np.int64) & ((1 << _CODE_BITS) - 1)


def document_of(postings: Numbers) -> Numbers:
    return postings.astype(np.uint16)


def ordered_docid(docid: str) -> int:
    """Return a number that orders docids as text does: that of its eight hexadecimal digits."""
    return int(docid[1:], 16)


def tokens(stream: str) -> list[bytes]:
    """Return the terms of a stream as FTS5 stores them (tokenizer `ascii`)."""
    return stream.encode(errors="surrogatepass").lower().split()


def build(documents: Sequence[SegmentDocument]) -> Contents:
    """Return the contents of a segment of some documents, not more than MOST_DOCUMENTS, with different ids."""
    ordered = sorted(documents, key=lambda each: each.id)
    terms, lengths, words = _numbered([stream for each in ordered for stream in each.terms_by_column()])
    places, counts = _counted(terms * MOST_DOCUMENTS * COLUMNS + np.repeat(np.arange(len(lengths)), lengths))
    table, codes = coded(counts)
    postings = posting(places // MOST_DOCUMENTS, codes, places % MOST_DOCUMENTS)
    postings.sort(kind="stable")  # they are almost sorted
    return Contents(
        ids=np.array([each.id for each in ordered], np.int64),
        docids=np.array([ordered_docid(each.docid) for each in ordered], np.int64),
        collections=np.array([each.collection for each in ordered], np.int64),
        stemmers=np.array([each.stemmer for each in ordered], np.int64),
        lengths=lengths.reshape(-1, COLUMNS).sum(axis=1),
        titles=lengths.reshape(-1, COLUMNS)[:, TITLE],
        words=words,
        postings=postings,
        counts=table,
    )


def _numbered(streams: Sequence[str]) -> tuple[Numbers, Numbers, list[bytes]]:
    """Return the terms of all streams as their numbers among the sorted words, the lengths of the streams, and the
    words."""
    numbers: defaultdict[bytes, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    found, lengths = array("q"), array("q")
    for stream in streams:
        words = tokens(stream)
        lengths.append(len(words))
        found.extend(map(numbers.__getitem__, words))
    ordered = sorted(numbers)
    places = np.empty(len(ordered), np.int64)
    places[[numbers[word] for word in ordered]] = np.arange(len(ordered))
    return places[np.frombuffer(found, np.int64)], np.frombuffer(lengths, np.int64), ordered


def _counted(places: Numbers) -> tuple[Numbers, Numbers]:
    """Return the places of terms in documents, in order, of those in columns of documents; and how often each term
    occurs in each column."""
    places.sort()
    cells, repeated = _runs(places)
    in_documents, columns = _runs(cells // COLUMNS)
    counts = np.zeros((len(in_documents), COLUMNS), np.int64)
    counts[np.repeat(np.arange(len(in_documents)), columns), cells % COLUMNS] = repeated
    return in_documents, counts


def _runs(ordered: Numbers) -> tuple[Numbers, Numbers]:
    """Return the different values of an array in order, and how often each occurs."""
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[first], np.diff(first, append=len(ordered))


def coded(counts: Numbers) -> tuple[Numbers, Numbers]:
    """Return the different rows of counts, and for each row its number among them."""
    limited = np.minimum(counts.astype(np.int64), _LARGEST_COUNT)
    packed = limited[:, 0] << 42 | limited[:, 1] << 21 | limited[:, 2]
    different = np.unique(packed)
    codes = np.searchsorted(different, packed)
    table = np.stack([different >> 42, different >> 21 & _LARGEST_COUNT, different & _LARGEST_COUNT], axis=1)
    return table, codes
