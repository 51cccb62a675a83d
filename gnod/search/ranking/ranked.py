"""The type of ranked documents, from the retrievers to the hits; and copies, of which results show one.

Files with the same bytes are one result: the best-ranked file, and among equals the one with the shortest path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gnod.store.connection import Connection
from gnod.store.tables import copies


class Span(NamedTuple):
    """A range of characters of the canonical text, and its lines (from 1)."""

    start: int
    end: int
    line: int
    end_line: int


class Held(NamedTuple):
    """A vector of a document."""

    document_id: int
    vector_id: int


class RankedDocument(NamedTuple):
    """`score`: larger is better; in [0, 1] in results. `span`: the best part by vector; None: unknown, for example if
    only keywords found the document. `components`: the parts of the score, by name. `unplaced`: the best vectors, if
    their span was not looked up yet (`gnod.search.meaning.candidate_documents.placed`). `is_loose`: as in
    `gnod.search.ranking.fusion`."""

    id: int
    score: float
    span: Span | None
    components: Mapping[str, float]
    unplaced: tuple[Held, ...] = ()
    is_loose: bool = False


def without_copies(connection: Connection, ranked: Sequence[RankedDocument]) -> list[RankedDocument]:
    """Return the documents, best first, each content once."""
    known = copies.among(connection, [each.id for each in ranked])
    if not known:
        return list(ranked)
    shown: dict[int | str, RankedDocument] = {}
    for each in ranked:
        copy = known.get(each.id)
        key = copy.source_hash if copy else each.id
        first = shown.setdefault(key, each)
        if copy and first is not each and first.score == each.score and copy.order < known[first.id].order:
            shown[key] = each  # it takes the place of the first copy
    return list(shown.values())


def representatives(connection: Connection, ids: Iterable[int]) -> dict[int, tuple[int, bool]]:
    """Choose the first document of each content, so that all rankings name the same copy. Return for each later copy
    the chosen document, and whether it has the same text."""
    ordered = list(dict.fromkeys(ids))
    known = copies.among(connection, ordered)
    first: dict[str, int] = {}
    found = {id_: first.setdefault(known[id_].source_hash, id_) for id_ in ordered if id_ in known}
    return {
        id_: (shown, known[id_].mirror_hash == known[shown].mirror_hash) for id_, shown in found.items() if id_ != shown
    }
