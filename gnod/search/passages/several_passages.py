"""More of one document than its best passage: others that answer the query nearly as well, and all its matches.

If the best passage is the nearest by vector, the others lie in the next nearest pieces; otherwise the words decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gnod.search.keyword.marks import TermFinder, TermVariant
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.passages.best_passage import FURTHER, ShownPassage, best_passage, further_passages, overlap
from gnod.store.connection import Connection
from gnod.store.tables.documents import DocumentRow
from gnod.store.vectors import embedded_pieces

# To count more in each of many documents takes too long.
MOST_MATCHES = 1000
_MOST_WORDS = 500
_MARKUP = re.compile(r"[\s|*_`]+")


class DocumentMatches(NamedTuple):
    """The line of each match, in order; `is_exact`: there are no more. `words`: what matched, as in
    `DocumentMatchesResult`."""

    lines: Sequence[int]
    is_exact: bool
    words: Sequence[str]


def matches_in(
    finder: TermFinder, query_terms: Sequence[Sequence[TermVariant]], most: int = MOST_MATCHES
) -> DocumentMatches:
    """Return the first `most` matches in a text."""
    text, places = finder.text, finder.every_place(query_terms, most + 1)
    lines, line, at = [], 1, 0
    for start, _ in places[:most]:
        line, at = line + text.count("\n", at, start), start
        lines.append(line)
    words = {word.lower(): word for place in places[:most] if (word := _word(text, *place))}
    return DocumentMatches(lines, len(places) <= most, [*words.values()][:_MOST_WORDS])


def _word(text: str, start: int, end: int) -> str:
    """Return a match without markup, with an asterisk on each side where its word goes on."""
    before = "*" if start and text[start - 1].isalnum() else ""
    after = "*" if text[end : end + 1].isalnum() else ""
    return before + _MARKUP.sub(" ", text[start:end]).strip() + after


def beside(
    connection: Connection,
    document: DocumentRow,
    finder: TermFinder,
    best: ShownPassage,
    query_terms: Sequence[Sequence[TermVariant]],
    count: int,
    vectors: QueryVectors | None = None,
) -> list[ShownPassage]:
    """Return up to `count` further passages of the text, best first. `vectors` of the query: the nearest pieces
    decide."""
    if vectors is None:
        return further_passages(finder, [best], query_terms, count)
    found: list[ShownPassage] = []
    for part in _nearest(connection, document, vectors):
        if len(found) == count:
            break
        passage = best_passage(finder, query_terms, within=part)
        if passage.snippet and not any(overlap(passage, each) for each in (best, *found)):
            found.append(passage)
    return found


def _nearest(connection: Connection, document: DocumentRow, vectors: QueryVectors) -> list[tuple[int, int]]:
    """Return the ranges of the pieces that are nearly as near to the query as the nearest, best first."""
    uri = vectors.served.get(document.collection)
    query = vectors.row(0).get(uri) if uri else None
    if query is None:
        return []
    pieces = [(each, each.vector) for each in embedded_pieces.of_document(connection, document.mirror_hash, uri)]
    embedded = [(each, vector) for each, vector in pieces if vector is not None]
    if not embedded:
        return []
    cosines = np.stack([vector for _, vector in embedded]) @ query
    order = np.argsort(-cosines, kind="stable").tolist()
    enough = FURTHER * float(cosines[order[0]])
    return [(embedded[n][0].start, embedded[n][0].end) for n in order if float(cosines[n]) >= enough]
