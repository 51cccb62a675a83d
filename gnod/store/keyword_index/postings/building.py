"""Build and merge segments in any process. This takes most of the time and memory. Must not depend on the database or
versions."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import merge as merged_lists
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.store.keyword_index.postings import segment
from gnod.store.keyword_index.postings.segment import (
    COLUMNS,
    MOST_DOCUMENTS,
    OF_DOCUMENTS,
    TITLE,
    Contents,
    File,
    Numbers,
    Segment,
    code_of,
    document_of,
    ordered_docid,
    posting,
    term_of,
    tokens,
)
from gnod.store.tables.records import Terms

# Returns the terms of a language, path, title, text and MIME type.
Analyse = Callable[[str | None, str, str, str, str], Terms]
_CHARACTERS_OF_A_POSTING = 4
_LARGEST_COUNT = (1 << 21) - 1


class Text(msgspec.Struct, frozen=True, array_like=True):
    """A document whose terms are unknown."""

    language: str | None
    path: str
    title: str
    markdown: str
    mime: str


class SegmentInput(msgspec.Struct, frozen=True, array_like=True):
    """A document. It has either a text or terms."""

    id: int
    docid: str
    collection: int
    stemmer: int
    terms: Terms | None
    text: Text | None = None

    @property
    def characters(self) -> int:
        return len(self.terms.body) if self.terms else len(self.text.markdown) if self.text else 0


class Build(msgspec.Struct, frozen=True, tag="build"):
    """A request to make a segment of some documents, in a new file."""

    path: str
    documents: list[SegmentInput]

    @property
    def characters(self) -> int:
        return sum(document.characters for document in self.documents)


class Merge(msgspec.Struct, frozen=True, tag="merge"):
    """A request to merge several segments into one, in a new file. `pieces`: their files, and the numbers of the
    documents to leave out. `postings`: their total number of postings."""

    path: str
    pieces: list[tuple[str, list[int]]]
    postings: int

    @property
    def characters(self) -> int:
        """Return the approximate length of texts that would take the same time to build."""
        return self.postings * _CHARACTERS_OF_A_POSTING


Request = Build | Merge
Perform = Callable[[Request], int]
"""Make a segment's file. Returns its checksum."""


def perform(request: Request, analyse: Analyse) -> int:
    """Make a segment's file in this process. Returns its checksum. Raises OSError; for damaged files also Damaged,
    ValueError or IndexError."""
    if isinstance(request, Build):
        contents = build(request.documents, analyse)
    else:
        contents = merge([_kept(Path(path), removed) for path, removed in request.pieces])
    return segment.write(Path(request.path), contents)


def build(documents: Sequence[SegmentInput], analyse: Analyse) -> Contents:
    """Return the contents of a segment of at most MOST_DOCUMENTS documents with different ids."""
    ordered = sorted(documents, key=lambda document: document.id)
    terms, lengths, words = _numbered([stream for document in ordered for stream in _streams(document, analyse)])
    places, counts = _counted(terms * MOST_DOCUMENTS * COLUMNS + np.repeat(np.arange(len(lengths)), lengths))
    table, codes = _coded(counts)
    postings = posting(places // MOST_DOCUMENTS, codes, places % MOST_DOCUMENTS)
    postings.sort(kind="stable")  # they are almost sorted
    return Contents(
        ids=np.array([document.id for document in ordered], np.int64),
        docids=np.array([ordered_docid(document.docid) for document in ordered], np.int64),
        collections=np.array([document.collection for document in ordered], np.int64),
        stemmers=np.array([document.stemmer for document in ordered], np.int64),
        lengths=lengths.reshape(-1, COLUMNS).sum(axis=1),
        titles=lengths.reshape(-1, COLUMNS)[:, TITLE],
        words=words,
        postings=postings,
        counts=table,
    )


def _streams(document: SegmentInput, analyse: Analyse) -> tuple[str, ...]:
    """Return the terms of each column."""
    terms, text = document.terms, document.text
    if terms is None:
        terms = analyse(*msgspec.structs.astuple(text)) if text else Terms("", "", "")
    return msgspec.structs.astuple(terms)


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
    """Return the sorted places of terms in documents, and how often each term occurs in each column. `places` are those
    of terms in columns."""
    places.sort()
    cells, repeated = _runs(places)
    in_documents, columns = _runs(cells // COLUMNS)
    counts = np.zeros((len(in_documents), COLUMNS), np.int64)
    counts[np.repeat(np.arange(len(in_documents)), columns), cells % COLUMNS] = repeated
    return in_documents, counts


def _runs(ordered: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct values of a sorted array, and how often each occurs."""
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[first], np.diff(first, append=len(ordered))


def _coded(counts: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct rows of counts, and for each row its number among them."""
    limited = np.minimum(counts.astype(np.int64), _LARGEST_COUNT)
    packed = limited[:, 0] << 42 | limited[:, 1] << 21 | limited[:, 2]
    different = np.unique(packed)
    codes = np.searchsorted(different, packed)
    table = np.stack([different >> 42, different >> 21 & _LARGEST_COUNT, different & _LARGEST_COUNT], axis=1)
    return table, codes


def _kept(path: Path, removed: Sequence[int]) -> tuple[Segment, NDArray[np.bool_]]:
    """Return a segment, and a mask of the documents to keep."""
    found = segment.opened(File(path))
    alive = np.ones(len(found), bool)
    alive[removed] = False
    return found, alive


def merge(kept: Sequence[tuple[Segment, NDArray[np.bool_]]]) -> Contents:
    """Merge the kept documents of several segments, and return the contents. No id may be kept twice. Raises Damaged
    and OSError."""
    pieces = [piece.contents() for piece, _ in kept]
    alive = [mask for _, mask in kept]
    words = [word for word, _ in groupby(merged_lists(*(piece.words for piece in pieces)))]
    number = {word: at for at, word in enumerate(words)}
    order = np.argsort(_of_documents("ids", pieces, alive), kind="stable")
    renumbered = np.empty(len(order), np.uint16)
    renumbered[order] = np.arange(len(order))
    table, codes = _coded(np.concatenate([piece.counts for piece in pieces]))
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
    """Return the postings of documents that are alive, with new numbers of terms, codes and documents."""
    of_document = document_of(postings)
    if not alive.all():
        held = alive[of_document]
        postings, of_document = postings[held], of_document[held]
    return posting(terms[term_of(postings)], codes[code_of(postings)], documents[of_document])
