"""Read and write segments. A segment is a file with the terms of some documents and their frequencies. It never
changes. Must not depend on the database or scores.

The number of documents is limited, so that their numbers have 16 bits and all their scores fit in the cache of a
processor. Data of documents is in memory, as numbers of the smallest type that fits. Terms and postings are read piece
by piece when they are needed. They are not mapped into memory, so the memory of a process does not grow with what it
reads, and a truncated file causes an error instead of a crash of the daemon.
"""

from __future__ import annotations

import os
import zlib
from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from weakref import finalize

import msgspec
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
COLUMNS = 3  # filepath, title, body
TITLE = 1
# The arrays that have one value for each document, by its number.
OF_DOCUMENTS = ("ids", "docids", "collections", "stemmers", "lengths", "titles")
# A posting is one number, which sorts postings by term, code and document.
_DOCUMENT_BITS, _CODE_BITS = 16, 24
MOST_DOCUMENTS = 1 << _DOCUMENT_BITS
_ALIGNMENT = 8
_MAGIC = b"gnodpost"
# One of this many terms is in memory.
_BLOCK = 64
# A term never contains white space.
_SEPARATOR = b" "
_IN_MEMORY = (*OF_DOCUMENTS, "counts")
_CHUNK = 1 << 20


class Damaged(Exception):
    """The files differ from what was written."""


class File:
    """A segment's file, which is written once. It stays open as long as this object exists, and may be deleted in the
    meantime. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finalize(self, os.close, self._descriptor)

    def read(self, start: int, size: int) -> bytes:
        """Raises Damaged if the file is shorter or cannot be read."""
        try:
            data = os.pread(self._descriptor, size, start) if size >= 0 else b""
        except OSError as error:
            raise Damaged(f"{self.name}: {error}") from error
        if len(data) != size:
            raise Damaged(f"{self.name}: truncated")
        return data

    def checksum(self) -> int:
        """Return the checksum of the file's current content."""
        checksum = start = 0
        while data := os.pread(self._descriptor, _CHUNK, start):
            checksum = zlib.crc32(data, checksum)
            start += len(data)
        return checksum


class Contents(NamedTuple):
    """`ids`, `docids` (from `ordered_docid`), `collections`, `stemmers` (from `stemmer_number`), `lengths` and `titles`
    (in terms) have one value for each document. Documents are numbered in the order of their ids. `words`: the sorted
    terms. `postings`: sorted numbers from `posting`. A code is a row in `counts`, which has the frequency of a term in
    each column."""

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
    """The frequencies of a term in each column, one row for each code. Caches results for all rows: computing them
    takes up to 90 µs, and a query needs them for each of its phrases."""

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


class _Header(msgspec.Struct, frozen=True):
    """`arrays`: the types and lengths of the arrays, in the order of the file."""

    first_id: int
    postings: int
    arrays: dict[str, tuple[str, int]]


class Segment:
    """`docids`, `collections`, `stemmers`, `lengths` and `titles` are by document, as in `Contents`. A code is a row in
    `counts`, which has the frequency of a term in each column. `postings`: the number of postings."""

    def __init__(self, first_id: int, postings: int, arrays: Mapping[str, Numbers], texts: _Texts | None) -> None:
        self.postings = postings
        self.docids = arrays["docids"]
        self.collections = arrays["collections"]
        self.stemmers = arrays["stemmers"]
        self.lengths = arrays["lengths"]
        self.titles = arrays["titles"]
        self.counts = arrays["counts"].reshape(-1, COLUMNS)
        self._first_id = first_id
        self._ids = arrays["ids"]
        self._texts = texts
        self.table = CountTable(self.counts)

    @classmethod
    def of_documents(cls, arrays: Mapping[str, Numbers]) -> Segment:
        """Make a segment without postings. `arrays`: one for each of OF_DOCUMENTS."""
        return cls(0, 0, {**arrays, "counts": np.empty(0, np.int64)}, None)

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, chosen: Numbers | slice = slice(None)) -> NDArray[np.int64]:
        """Return the ids of documents, by their numbers or by a mask."""
        return self._ids[chosen].astype(np.int64) + self._first_id

    def numbers_of(self, ids: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
        """Return a mask of the sorted `ids` that are in this segment, and the numbers of these documents."""
        if not len(self._ids):
            return np.zeros(len(ids), bool), np.empty(0, np.intp)
        first, last = self._first_id, self._first_id + int(self._ids[-1])
        start, end = ids.searchsorted([first, last + 1]).tolist()
        is_here = np.zeros(len(ids), bool)
        within = (ids[start:end] - first).astype(self._ids.dtype)
        at = self._ids.searchsorted(within)
        is_found = is_here[start:end] = self._ids[at] == within
        return is_here, at[is_found]

    def record(self, term: bytes, *, is_prefix: bool = False) -> tuple[Numbers, Numbers]:
        """Return the postings of a term, or of all terms with this prefix: the numbers of documents, and a code for
        each. Raises Damaged and OSError."""
        if self._texts is None:
            return np.empty(0, np.uint16), np.empty(0, np.uint8)
        return self._texts.record(*self._texts.range(term, is_prefix=is_prefix))

    def terms(self) -> list[bytes]:
        return self._texts.all() if self._texts else []

    def frequencies_of_terms(self, alive: NDArray[np.bool_] | None = None) -> Numbers:
        """Return the number of documents with each term. `alive` restricts the documents."""
        if self._texts is None:
            return np.empty(0, np.int64)
        sizes = self._texts.sizes()
        if alive is None:
            return sizes
        terms = np.repeat(np.arange(len(sizes)), sizes)
        return np.bincount(terms[alive[self._texts.record(0, len(sizes))[0]]], minlength=len(sizes))

    def contents(self) -> Contents:
        """Return the complete contents of the segment."""
        postings = np.empty(0, np.uint64)
        if self._texts:
            sizes = self._texts.sizes()
            documents, codes = self._texts.record(0, len(sizes))
            postings = posting(np.repeat(np.arange(len(sizes)), sizes), codes, documents)
        of_documents = (self.ids(), self.docids, self.collections, self.stemmers, self.lengths, self.titles)
        return Contents(*of_documents, self.terms(), postings, self.counts)


class _Texts:
    """The terms of a segment, and their postings."""

    def __init__(self, arrays: Mapping[str, _Array]) -> None:
        self._documents = arrays["documents"]
        self._codes = arrays["codes"]
        self._terms = arrays["terms"]
        self._starts = arrays["starts"]
        self._blocks = arrays["blocks"].all().tolist()
        self._sample = arrays["sample"].all().tobytes().split()

    def all(self) -> list[bytes]:
        return self._terms.all().tobytes().split()

    def sizes(self) -> Numbers:
        """Return the number of postings of each term."""
        return np.diff(self._starts.all().astype(np.int64))

    def range(self, term: bytes, *, is_prefix: bool) -> tuple[int, int]:
        """Return the range of numbers of terms that equal this one, or that have it as a prefix."""
        first, is_here = self._place(term)
        return first, self._place(term + b"\xff")[0] if is_prefix else first + is_here

    def record(self, first: int, last: int) -> tuple[Numbers, Numbers]:
        """Return the postings of the terms with these numbers."""
        starts = self._starts.part(first, last + 1)
        start, end = int(starts[0]), int(starts[-1])
        return self._documents.part(start, end), self._codes.part(start, end)

    def _place(self, term: bytes) -> tuple[int, bool]:
        """Return the number of the first term that is not below `term`, and whether the two are equal."""
        block = bisect_left(self._sample, term)
        is_first = self._sample[block : block + 1] == [term]
        if is_first or not block:
            return block * _BLOCK, is_first
        words = self._terms.raw(*self._blocks[block - 1 : block + 1]).split()
        at = bisect_left(words, term)
        return (block - 1) * _BLOCK + at, words[at : at + 1] == [term]


class _Array:
    """An array in a file. Reading raises Damaged and OSError."""

    def __init__(self, file: File, at: int, kind: np.dtype[Any], length: int) -> None:
        self.length = length
        self.end = at + _rounded(kind.itemsize * length)
        self._file = file
        self._at = at
        self._kind = kind

    def all(self) -> Numbers:
        return self.part(0, self.length)

    def part(self, first: int, last: int) -> Numbers:
        return np.frombuffer(self.raw(first, last), self._kind)

    def raw(self, first: int, last: int) -> bytes:
        """Return the same range as `part`, as the bytes of the file."""
        size = self._kind.itemsize
        return self._file.read(self._at + first * size, (last - first) * size)


def write(path: Path, contents: Contents) -> int:
    """Write a new file. Returns its checksum."""
    checksum = 0
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for part in _encoded(contents):
                checksum = zlib.crc32(part, checksum)
                file.write(part)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return checksum


def _encoded(contents: Contents) -> list[bytes]:
    """Return the bytes of a segment's file, in parts."""
    first_id = int(contents.ids[0]) if len(contents.ids) else 0
    words = contents.words
    starts = np.cumsum([0, *np.bincount(term_of(contents.postings), minlength=len(words)).tolist()])
    ends = np.cumsum([0, *(len(word) + len(_SEPARATOR) for word in words)])
    arrays = {
        **{name: _small(getattr(contents, name)) for name in OF_DOCUMENTS},
        "ids": _small(contents.ids - first_id),  # relative to the first id
        "counts": _small(contents.counts.reshape(-1)),
        "blocks": _small(np.append(ends[:-1:_BLOCK], ends[-1])),
        "sample": _text(words[::_BLOCK]),
        "terms": _text(words),
        "starts": starts.astype(np.uint32),
        "documents": document_of(contents.postings),
        "codes": _small(code_of(contents.postings)),
    }
    described = {name: (array.dtype.str, len(array)) for name, array in arrays.items()}
    header = msgspec.json.encode(_Header(first_id, len(contents.postings), described))
    parts = [_MAGIC, len(header).to_bytes(8, "little"), _padded(header)]
    return parts + [_padded(array.tobytes()) for array in arrays.values()]


def opened(file: File) -> Segment:
    """Return the segment in a file. Raises Damaged and OSError."""
    magic = file.read(0, 16)
    if magic[:8] != _MAGIC:
        raise Damaged(f"{file.name}: no segment")
    size = int.from_bytes(magic[8:], "little")
    try:
        header = msgspec.json.decode(file.read(16, min(size, 1 << 16)), type=_Header)
        arrays: dict[str, _Array] = {}
        at = 16 + _rounded(size)
        for name, (kind, length) in header.arrays.items():
            arrays[name] = _Array(file, at, np.dtype(kind), length)
            at = arrays[name].end
        in_memory = {name: arrays[name].all() for name in _IN_MEMORY}
        return Segment(header.first_id, header.postings, in_memory, _Texts(arrays))
    except (ValueError, KeyError, TypeError, msgspec.MsgspecError) as error:
        raise Damaged(f"{file.name}: {type(error).__name__}: {error}") from error


def posting(terms: Numbers, codes: Numbers, documents: Numbers) -> NDArray[np.uint64]:
    """Pack each posting into one number."""
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
    """Return the value of the eight hexadecimal digits of a docid, which sorts like the text."""
    return int(docid[1:], 16)


def tokens(stream: str) -> list[bytes]:
    """Return the terms of a stream as FTS5 stores them (tokenizer `ascii`)."""
    return stream.encode(errors="surrogatepass").lower().split()


def _small(numbers: Numbers) -> Numbers:
    """Return non-negative numbers in the smallest type that fits."""
    return np.ascontiguousarray(numbers, np.min_scalar_type(int(numbers.max(initial=0))))


def _text(words: list[bytes]) -> Numbers:
    return np.frombuffer(b"".join(word + _SEPARATOR for word in words), np.uint8)


def _padded(data: bytes) -> bytes:
    return data + bytes(_rounded(len(data)) - len(data))


def _rounded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
