"""Build and merge segments, in any process: what takes most of the time and memory. Must not depend on the database or
versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from gnod.store.keyword_index.postings import files
from gnod.store.keyword_index.postings.contents import Numbers, SegmentDocument, build
from gnod.store.keyword_index.postings.files import File
from gnod.store.keyword_index.postings.merging import Kept, merge
from gnod.store.keyword_index.postings.segment import encode, opened
from gnod.store.tables.records import Terms

# Returns the terms of a language, path, title, text and MIME type.
Analyse = Callable[[str | None, str, str, str, str], Terms]

_CHARACTERS_OF_A_POSTING = 4


class Text(msgspec.Struct, frozen=True, array_like=True):
    """A document whose terms are not known."""

    language: str | None
    path: str
    title: str
    markdown: str
    mime: str


class SegmentInput(msgspec.Struct, frozen=True, array_like=True):
    """A document. It has a text or terms."""

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
    """Make the segment of some documents, in a new file."""

    path: str
    documents: list[SegmentInput]

    @property
    def characters(self) -> int:
        return sum(document.characters for document in self.documents)


class SegmentPiece(msgspec.Struct, frozen=True, array_like=True):
    """A segment's file, and the numbers of the documents that are left out."""

    path: str
    removed: list[int]


class Merge(msgspec.Struct, frozen=True, tag="merge"):
    """Make one segment of several, in a new file. `postings`: how many they have."""

    path: str
    pieces: list[SegmentPiece]
    postings: int

    @property
    def characters(self) -> int:
        """Return about how long the texts are that take as long to build."""
        return self.postings * _CHARACTERS_OF_A_POSTING


Request = Build | Merge
Perform = Callable[[Request], int]
"""Make a segment's file. Returns its checksum."""


def perform(request: Request, analyse: Analyse) -> int:
    """Make a segment's file, here. Returns its checksum. Raises OSError; and Damaged, ValueError or
    IndexError for damaged files."""
    if isinstance(request, Build):
        contents = build([_document(document, analyse) for document in request.documents])
    else:
        contents = merge([_kept(piece) for piece in request.pieces])
    return files.write(Path(request.path), encode(contents))


def _document(source: SegmentInput, analyse: Analyse) -> SegmentDocument:
    if source.terms is None:
        terms = analyse(*msgspec.structs.astuple(source.text)) if source.text else Terms("", "", "")
    else:
        terms = source.terms
    return SegmentDocument(source.id, source.docid, source.collection, source.stemmer, terms)


def _kept(piece: SegmentPiece) -> Kept:
    segment = opened(File(Path(piece.path)))
    alive: Numbers | None = None
    if piece.removed:
        alive = np.ones(len(segment), bool)
        alive[piece.removed] = False
    return Kept(segment, alive)
