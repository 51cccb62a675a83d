"""From ranked documents to hits: the best passage of each, its place in the source, and what is said of the document.

Runs on a reader thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from gnod.analysis.terms import Analyzer
from gnod.config.model import ContextConfig, contexts_for
from gnod.errors import LimitExceeded
from gnod.handlers.wire_types import copies_of, iso, location_of
from gnod.pipeline import anchors, lexical, related, several_passages
from gnod.pipeline.anchors import Wanted
from gnod.pipeline.code_passages import best_in_definition
from gnod.pipeline.expression import Expression
from gnod.pipeline.marks import Finder
from gnod.pipeline.passages import Passage, best_passage, best_passage_in, best_passage_of
from gnod.pipeline.query import Clause
from gnod.pipeline.ranked import RankedDocument, Span
from gnod.pipeline.vector import QueryVectors
from gnod.protocol import search as wire
from gnod.protocol.base import copied
from gnod.protocol.framing import MAX_MESSAGE_BYTES
from gnod.store import joined
from gnod.store.database import Connection
from gnod.store.documents import definitions, documents, shown, texts
from gnod.store.documents.documents import Document
from gnod.store.documents.filters import Filters
from gnod.types import format_uri, source_line

_NO_FILTERS = Filters()


class Marked(NamedTuple):
    """What is marked in passages: the words of an expression, and the analysers that find them."""

    expression: Expression
    analyzers: Sequence[Analyzer]


def marked(connection: Connection, clauses: Sequence[Clause]) -> Marked:
    analyzers = lexical.analyzers_of_index(connection)
    return Marked(lexical.expression_of(clauses, analyzers), analyzers)


def hits_of(
    connection: Connection,
    contexts: Sequence[ContextConfig],
    ranked: Sequence[RankedDocument],
    words: Marked,
    params: wire.FilterParams,
    vectors: QueryVectors | None = None,
    filters: Filters = _NO_FILTERS,
) -> list[wire.Hit]:
    """Return the hits in order, each with its best passage: inside the document's span, where it has one. Documents
    that left the index meanwhile are left out; those of indexes that are joined are read there. `vectors`: of the
    query, for further passages. `filters`: those of the search, for the copies. Raises LimitExceeded for whole texts
    that no answer can hold."""
    groups = joined.split(connection, [each.id for each in ranked])
    if len(groups) == 1:
        return list(_hits_of(groups[0][0], contexts, ranked, words, params, vectors, filters).values())
    by_id = {each.id: each for each in ranked}
    hits: dict[int, wire.Hit] = {}
    for of_it, ids in groups:
        hits |= _hits_of(of_it, contexts, [by_id[id_] for id_ in ids], words, params, vectors, filters)
    found = [hits[each.id] for each in ranked if each.id in hits]
    return [replace(hit, rank=rank) for rank, hit in enumerate(found, 1)]


def _hits_of(
    connection: Connection,
    contexts: Sequence[ContextConfig],
    ranked: Sequence[RankedDocument],
    words: Marked,
    params: wire.FilterParams,
    vectors: QueryVectors | None,
    filters: Filters,
) -> dict[int, wire.Hit]:
    count = params.passages if isinstance(params, wire.SearchParams) else 1
    by_id = documents.by_ids(connection, [each.id for each in ranked])
    also = copies_of(connection, by_id, filters, words.expression)
    known = shown.of(connection, by_id)
    analyzers = anchors.analyzers_of(by_id, words.analyzers)
    finders = {id_: Finder(each.text, analyzers[id_]) for id_, each in known.items() if each.text is not None}
    wanted = anchors.wanted(connection, words.expression, by_id, finders)
    hits: dict[int, wire.Hit] = {}
    room = MAX_MESSAGE_BYTES  # a thousand long texts would not fit, nor be sent
    for each in ranked:
        document = by_id.get(each.id)
        if document is None or not document.active:
            continue
        text = documents.markdown(connection, document.mirror_hash) if params.full else None
        room -= len(text or "")
        if room < 0:
            raise LimitExceeded("the whole texts of these documents are too long for one answer: lower the limit")
        of_document = known[each.id]
        # A definition that was asked for is the span.
        in_definition = of_document.is_code and "symbol" not in each.components
        passage = _passage(
            *(connection, document, each.span, wanted[each.id], analyzers[each.id], finders.get(each.id)),
            in_definition=in_definition,
        )
        passages: list[wire.HitPassage] | UnsetType = UNSET
        if count > 1:
            nearest = vectors if each.span else None
            given = (connection, document, passage, wanted[each.id].terms, analyzers[each.id])
            more = several_passages.beside(*given, count - 1, nearest)
            passages = [_shown_passage(one, document) for one in (passage, *more)]
        hits[each.id] = copied(
            wire.Hit,
            document,
            uri=format_uri(document.collection, document.path),
            source=document.source,
            modified=iso(document.mtime_ns / 1e9),
            rank=len(hits) + 1,
            score=each.score,
            line=source_line(document.line_map, passage.line),
            end_line=source_line(document.line_map, passage.end_line),
            snippet=passage.snippet,
            snippet_line=source_line(document.line_map, passage.snippet_line),
            marks=passage.marks,
            location=location_of(document, passage.line),
            definition=_definition(connection, document, passage.line) if of_document.is_code else None,
            tags=of_document.tags,
            context=contexts_for(contexts, document.collection, document.path),
            text=text,
            explain=dict(each.components) if params.explain else None,
            passages=passages,
            reasons=_reasons(each),
            **also.get(each.id, {}),
        )
    return hits


def _reasons(ranked: RankedDocument) -> list[wire.Reason] | UnsetType:
    components = ranked.components
    return [wire.Reason(kind=kind, number=components[kind]) for kind in related.KINDS if kind in components] or UNSET


def _definition(connection: Connection, document: Document, line: int) -> wire.Definition | None:
    """Return the definition that a line of the canonical text is in."""
    found = definitions.around(connection, document.id, line)
    if found is None:
        return None
    path = found.path.split(" > ") if found.path else []
    return copied(
        wire.Definition,
        found,
        path=path,
        label=".".join((*path, found.name)),
        line=source_line(document.line_map, found.line),
        end_line=source_line(document.line_map, found.end_line),
    )


def _shown_passage(passage: Passage, document: Document) -> wire.HitPassage:
    return copied(
        wire.HitPassage,
        passage,
        line=source_line(document.line_map, passage.line),
        end_line=source_line(document.line_map, passage.end_line),
        snippet_line=source_line(document.line_map, passage.snippet_line),
    )


def _passage(
    connection: Connection,
    document: Document,
    span: Span | None,
    wanted: Wanted,
    analyzers: Sequence[Analyzer],
    finder: Finder | None,
    *,
    in_definition: bool,
) -> Passage:
    """Return the best passage, with the lines of the whole text. Of a span without any of the words, its start.
    `finder`: of the whole text; None: it is long. `in_definition`: prefer the best definition."""
    if in_definition and (found := best_in_definition(connection, document, wanted.terms, analyzers, span)):
        return found
    if span is None:
        if finder is None:
            parts = texts.parts(connection, document.mirror_hash)
            return best_passage_of(parts, wanted.terms, analyzers, wanted.anchor)
        return best_passage_in(finder, wanted.terms, wanted.anchor)
    if finder is None:
        part = texts.stretch(connection, document.mirror_hash, span.start, span.end)
    else:
        part = finder.text[max(span.start, 0) : max(span.end, 0)]
    return best_passage(part, wanted.terms, analyzers).below(span.line - 1)
