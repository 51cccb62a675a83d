"""The one type of a ranked document, from the retrievers to the hits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Span(NamedTuple):
    """A range of characters of the canonical text, and the lines that hold it (from 1)."""

    start: int
    end: int
    line: int
    end_line: int


class Held(NamedTuple):
    """A vector of a document."""

    document_id: int
    vector_id: int


class RankedDocument(NamedTuple):
    """`score`: larger is better; in [0, 1] in results. `span`: the best part by vector; None: not known, as of a
    document that only keywords found. `components`: what the score is made of, by name. `unplaced`: the best vectors,
    if their span was not looked up yet (`gnod.search.meaning.candidate_documents.placed`). `is_loose`: as in
    `gnod.search.ranking.trust`."""

    id: int
    score: float
    span: Span | None
    components: Mapping[str, float]
    unplaced: tuple[Held, ...] = ()
    is_loose: bool = False
