"""From ranked documents to the hits of an answer: one place for every kind of search.

Knows neither how the documents were ranked nor which method asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnod.analysis.terms import Analyzer
from gnod.config.model import Config, contexts_for
from gnod.errors import LimitExceeded
from gnod.handlers.wire_types import entry
from gnod.pipeline import anchors, lexical
from gnod.pipeline.anchors import Wanted
from gnod.pipeline.expression import Expression
from gnod.pipeline.passages import Passage, best_passage, best_passage_of
from gnod.pipeline.query import Clause
from gnod.pipeline.ranked import RankedDocument, Span
from gnod.protocol.base import copied
from gnod.protocol.framing import MAX_MESSAGE_BYTES
from gnod.protocol.search import FilterParams, Hit
from gnod.store.database import Connection
from gnod.store.documents import documents, texts
from gnod.types import source_line


class Marked(NamedTuple):
    """What is marked in passages: the words of an expression, and the analysers that find them."""

    expression: Expression
    analyzers: Sequence[Analyzer]


def marked(connection: Connection, clauses: Sequence[Clause]) -> Marked:
    analyzers = lexical.analyzers_of_index(connection)
    return Marked(lexical.expression_of(clauses, analyzers), analyzers)


def hits_of(
    connection: Connection, config: Config, ranked: Sequence[RankedDocument], words: Marked, params: FilterParams
) -> list[Hit]:
    """Return the hits in order, each with its best passage: inside the document's span, where it has one. Documents
    that left the index meanwhile are left out. Raises LimitExceeded for whole texts that no answer can hold."""
    by_id = documents.by_ids(connection, [each.id for each in ranked])
    wanted = anchors.wanted(connection, words.expression, list(by_id))
    hits: list[Hit] = []
    room = MAX_MESSAGE_BYTES  # a thousand long texts would not fit, nor be sent
    for each in ranked:
        document = by_id.get(each.id)
        if document is None or not document.active:
            continue
        text = documents.markdown(connection, document.mirror_hash) if params.full else None
        room -= len(text or "")
        if room < 0:
            raise LimitExceeded("the whole texts of these documents are too long for one answer: lower the limit")
        passage = _passage(connection, document.mirror_hash, each.span, wanted[each.id], words.analyzers)
        hits.append(
            copied(
                Hit,
                entry(document),
                rank=len(hits) + 1,
                score=each.score,
                line=source_line(document.line_map, passage.line),
                end_line=source_line(document.line_map, passage.end_line),
                snippet=passage.snippet,
                snippet_line=source_line(document.line_map, passage.snippet_line),
                marks=passage.marks,
                tags=documents.tags_of(connection, document.id),
                context=contexts_for(config, document.collection, document.path),
                text=text,
                explain=dict(each.components) if params.explain else None,
            )
        )
    return hits


def _passage(
    connection: Connection, mirror_hash: str, span: Span | None, wanted: Wanted, analyzers: Sequence[Analyzer]
) -> Passage:
    """Return the best passage, with the lines of the whole text. Of a span without any of the words, its start."""
    if span is None:
        return best_passage_of(texts.parts(connection, mirror_hash), wanted.terms, analyzers, wanted.anchor)
    text = texts.stretch(connection, mirror_hash, span.start, span.end)
    return best_passage(text, wanted.terms, analyzers).below(span.line - 1)
