"""From ranked documents to the hits of an answer: one place for every kind of search.

Knows neither how the documents were ranked nor which method asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnod.analysis.terms import Analyzer
from gnod.config.model import Config, contexts_for
from gnod.errors import LimitExceeded
from gnod.pipeline import lexical
from gnod.pipeline.passages import Passage, Spelling, best_passage, best_passage_of
from gnod.protocol.framing import MAX_MESSAGE_BYTES
from gnod.protocol.params import FilterParams
from gnod.protocol.results import Hit
from gnod.server.handlers.shapes import iso
from gnod.store import documents, texts
from gnod.store.database import Connection
from gnod.types import format_uri, source_line


class Span(NamedTuple):
    """A part of the canonical text: `text[start:end]`, which begins in `line` (from 1)."""

    start: int
    end: int
    line: int


class Found(NamedTuple):
    """A ranked document. Its passage is looked for inside `chunk`, or everywhere; `explain` is what its score is made
    of."""

    document_id: int
    score: float
    explain: dict[str, float]
    chunk: Span | None = None


class Words(NamedTuple):
    """What is marked in a passage: the spellings of each word of the query, as best_passage takes them."""

    sought: Sequence[Sequence[Spelling]] = ()
    analyzers: Sequence[Analyzer] = ()


def words_of(connection: Connection, query: str) -> Words:
    """Return the words of a query that is a text like any other: quotation marks mean nothing in it, and no query is
    refused."""
    analyzers = lexical.analyzers_of_index(connection)
    return Words(lexical.sought(query, analyzers), analyzers)


def hits_of(
    connection: Connection, config: Config, found: Sequence[Found], words: Words, params: FilterParams
) -> list[Hit]:
    """Return the hits in the order of `found`, each with its best passage, as `params` wants them. What has left the
    index since it was found is left out. Raises LimitExceeded for whole texts that no answer holds."""
    by_id = documents.by_ids(connection, [each.document_id for each in found])
    hits: list[Hit] = []
    room = MAX_MESSAGE_BYTES  # a thousand long texts would not fit, nor be sent
    for each in found:
        document = by_id.get(each.document_id)
        if document is None or not document.active:
            continue
        text = documents.markdown(connection, document.mirror_hash) if params.full else None
        room -= len(text or "")
        if room < 0:
            raise LimitExceeded("the whole texts of these documents are too long for one answer: lower the limit")
        passage = _passage(connection, document.mirror_hash, each.chunk, words)
        hits.append(
            Hit(
                rank=len(hits) + 1,
                score=each.score,
                docid=document.docid,
                uri=format_uri(document.collection, document.path),
                collection=document.collection,
                path=document.path,
                source=document.source,
                title=document.title,
                line=source_line(document.line_map, passage.line),
                end_line=source_line(document.line_map, passage.end_line),
                snippet=passage.snippet,
                snippet_line=source_line(document.line_map, passage.snippet_line),
                marks=passage.marks,
                language=document.language,
                mime=document.mime,
                modified=iso(document.mtime_ns / 1e9),
                tags=documents.tags_of(connection, document.id),
                context=contexts_for(config, document.collection, document.path),
                text=text,
                explain=each.explain if params.explain else None,
            )
        )
    return hits


def _passage(connection: Connection, mirror_hash: str, chunk: Span | None, words: Words) -> Passage:
    """Return the best passage, with the lines of the whole text. Of a chunk without any of the words, its opening."""
    if chunk is None:
        return best_passage_of(texts.parts(connection, mirror_hash), words.sought, words.analyzers)
    text = texts.stretch(connection, mirror_hash, chunk.start, chunk.end)
    return best_passage(text, words.sought, words.analyzers).below(chunk.line - 1)
