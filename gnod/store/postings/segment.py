"""A segment: which terms occur in some documents, and how often, as arrays. Never changed. Knows no database and no
scores.

Documents have numbers in a segment, in the order of their ids. A segment has so few that a number has 16 bits and the
scores of all its documents fit into the cache of a processor.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.store.documents.records import Terms

MOST_DOCUMENTS = 1 << 16
COLUMNS = 3  # filepath, title, body
Numbers = NDArray[Any]
_ALIGNMENT = 8
_MAGIC = b"gnodpost"
# Every so many terms are kept as objects, and the numbers of so many terms that were asked for.
_SAMPLED = 64
_MOST_KNOWN = 1024
_LARGEST_COUNT = (1 << 21) - 1
_DTYPES: dict[str, np.dtype[Any]] = {
    "ids": np.dtype(np.int64),
    "docids": np.dtype(np.uint64),
    "collections": np.dtype(np.int32),
    "lengths": np.dtype(np.uint32),
    "ends_of_terms": np.dtype(np.uint32),
    "starts": np.dtype(np.uint32),
    "documents": np.dtype(np.uint16),
    "codes": np.dtype(np.uint32),
    "counts": np.dtype(np.uint32),
    "terms": np.dtype(np.uint8),
}


class Document(NamedTuple):
    """What a segment holds of a document."""

    id: int
    docid: str
    collection: int
    terms: Terms

    def terms_by_column(self) -> tuple[str, str, str]:
        return self.terms.filepath, self.terms.title, self.terms.body


class Segment:
    """`ids`, `docids` (as `ordered_docid`), `collections` and `lengths` (in terms) by document; `ends_of_terms` in
    `terms`, which are sorted; `starts`: the first posting of each term, and the end of the last. Of each posting,
    ascending by term and document: in `documents` the number of the document, and in `codes` its row in `counts`, how
    often the term occurs in each column."""

    def __init__(self, arrays: Mapping[str, Numbers], text: bytes) -> None:
        self.arrays = arrays
        self.ids = arrays["ids"]
        self.docids = arrays["docids"]
        self.collections = arrays["collections"]
        self.lengths = arrays["lengths"]
        self.documents = arrays["documents"]
        self.codes = arrays["codes"]
        self.counts = arrays["counts"].reshape(-1, COLUMNS)
        self.text = text
        self._starts = arrays["starts"]
        self._ends = arrays["ends_of_terms"]
        self._weighted: dict[tuple[float, ...], NDArray[np.float64]] = {}
        self._known: dict[bytes, int] = {}
        self._norm: tuple[float, NDArray[np.float64]] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def term(self, number: int) -> bytes:
        return self.text[int(self._ends[number - 1]) if number else 0 : int(self._ends[number])]

    def terms(self) -> list[bytes]:
        ends = self._ends.tolist()
        return [self.text[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def place(self, term: bytes) -> slice:
        """Return where the postings of a term are."""
        at = self._first(term)
        is_here = at < len(self._ends) and self.term(at) == term
        return slice(int(self._starts[at]), int(self._starts[at + is_here]))

    def place_of_prefix(self, prefix: bytes) -> slice:
        """Return where the postings of all terms are that begin so: they are beside each other."""
        return slice(int(self._starts[self._first(prefix)]), int(self._starts[self._first(prefix + b"\xff")]))

    def frequencies(self, place: slice, weights: tuple[float, ...]) -> NDArray[np.float64]:
        """Return how often the terms of postings occur, with a weight for each column."""
        if weights not in self._weighted:
            self._weighted[weights] = self.counts @ np.array(weights)
        return self._weighted[weights].take(self.codes[place])

    def norm(self, mean: float, k1: float, b: float) -> NDArray[np.float64]:
        """Return BM25's norm of the documents' lengths, where `mean` is the mean length."""
        known = self._norm
        if known is None or known[0] != mean:
            known = self._norm = mean, k1 * (1 - b + b / mean * self.lengths)
        return known[1]

    def numbers_of(self, ids: Numbers) -> tuple[Numbers, Numbers]:
        """Return which of these ids are here, and the numbers of those."""
        at = np.minimum(np.searchsorted(self.ids, ids), max(len(self.ids) - 1, 0))
        is_here = self.ids[at] == ids if len(self.ids) else np.zeros(len(ids), bool)
        return is_here, at[is_here]

    @cached_property
    def sizes(self) -> Numbers:
        """Return how many postings each term has."""
        return np.diff(self._starts.astype(np.int64))

    def frequencies_among(self, alive: NDArray[np.bool_]) -> Numbers:
        """Return in how many of some documents each term occurs."""
        before = np.concatenate(([0], np.cumsum(alive[self.documents])))
        return before[self._starts[1:]] - before[self._starts[:-1]]

    def _first(self, term: bytes) -> int:
        """Return the number of the first term that is not below `term`."""
        if term not in self._known:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            block = bisect_left(self._sample, term)
            among = range(max(block - 1, 0) * _SAMPLED, min(block * _SAMPLED, len(self._ends)))
            self._known[term] = among.start + bisect_left(among, term, key=self.term)
        return self._known[term]

    @cached_property
    def _sample(self) -> list[bytes]:
        """Return every so many terms."""
        return [self.term(number) for number in range(0, len(self._ends), _SAMPLED)]


def ordered_docid(docid: str) -> int:
    """Return a number that orders docids as text does: that of the eight characters after `#`."""
    return int.from_bytes(docid.encode()[1:9].ljust(8), "big")


def tokens(stream: str) -> list[bytes]:
    """Return the terms of a stream as FTS5 stores them (tokenizer `ascii`)."""
    return stream.encode(errors="surrogatepass").lower().split()


def build(documents: Sequence[Document]) -> Segment:
    """Return the segment of some documents, not more than MOST_DOCUMENTS, with different ids."""
    ordered = sorted(documents, key=lambda each: each.id)
    terms, lengths, words = _numbered([stream for each in ordered for stream in each.terms_by_column()])
    postings, counts = _counted(terms * MOST_DOCUMENTS * COLUMNS + np.repeat(np.arange(len(lengths)), lengths))
    table, codes = coded(counts)
    return assemble(
        ids=np.array([each.id for each in ordered], np.int64),
        docids=np.array([ordered_docid(each.docid) for each in ordered], np.uint64),
        collections=np.array([each.collection for each in ordered], np.int32),
        lengths=lengths.reshape(-1, COLUMNS).sum(axis=1),
        words=words,
        sizes=np.bincount(postings // MOST_DOCUMENTS, minlength=len(words)),
        documents=postings % MOST_DOCUMENTS,
        codes=codes,
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
    """Return the postings of terms in columns of documents, in order, and how often each term occurs in each column."""
    places.sort()
    cells, repeated = _runs(places)
    postings, columns = _runs(cells // COLUMNS)
    counts = np.zeros((len(postings), COLUMNS), np.int64)
    counts[np.repeat(np.arange(len(postings)), columns), cells % COLUMNS] = repeated
    return postings, counts


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


def assemble(
    *,
    ids: Numbers,
    docids: Numbers,
    collections: Numbers,
    lengths: Numbers,
    words: Sequence[bytes],
    sizes: Numbers,
    documents: Numbers,
    codes: Numbers,
    counts: Numbers,
) -> Segment:
    """Make a segment of arrays. `sizes`: the number of postings of each word."""
    smallest = np.min_scalar_type(max(len(counts) - 1, 0))
    arrays: dict[str, Numbers] = {
        "ids": ids,
        "docids": docids,
        "collections": collections,
        "lengths": lengths,
        "ends_of_terms": np.cumsum([len(word) for word in words], dtype=np.int64),
        "starts": np.concatenate(([0], np.cumsum(sizes))),
        "documents": documents,
        "counts": counts.reshape(-1),
    }
    typed = {name: np.ascontiguousarray(array, _DTYPES[name]) for name, array in arrays.items()}
    return Segment(typed | {"codes": np.ascontiguousarray(codes, smallest)}, b"".join(words))


def encode(segment: Segment) -> list[bytes]:
    """Return the contents of a segment's file, in parts."""
    arrays = {**segment.arrays, "terms": np.frombuffer(segment.text, np.uint8)}
    header = msgspec.json.encode({name: [array.dtype.str, len(array)] for name, array in arrays.items()})
    parts = [_MAGIC, len(header).to_bytes(8, "little"), _padded(header)]
    return parts + [_padded(array.tobytes()) for array in arrays.values()]


def decode(data: memoryview) -> Segment:
    """Return the segment of a file, whose arrays stay where they are. Raises ValueError when it is none."""
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        raise ValueError("no segment")
    size = int.from_bytes(data[8:16], "little")
    header = msgspec.json.decode(data[16 : 16 + size], type=dict[str, tuple[str, int]])
    at = 16 + _rounded(size)
    arrays: dict[str, Numbers] = {}
    for name, (kind, length) in header.items():
        arrays[name] = np.frombuffer(data, np.dtype(kind), length, at)
        at += _rounded(arrays[name].nbytes)
    if missing := _DTYPES.keys() - arrays.keys():
        raise ValueError(f"a segment without {sorted(missing)}")
    return Segment(arrays, arrays.pop("terms").tobytes())


def _padded(data: bytes) -> bytes:
    return data + bytes(_rounded(len(data)) - len(data))


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
