"""`links.mentions`: find where other documents name a document without a link to it.

The candidates come from the full-text index. Their texts are read in order until the page is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gnod.errors import QuerySyntaxError
from gnod.handlers.wire_types import metadata
from gnod.ingest.links import properties
from gnod.ingest.links.mentions import NameFinder, names
from gnod.ingest.packages import stem
from gnod.protocol import links as wire
from gnod.search.keyword import expression, lexical
from gnod.search.passages.plain_text import plain
from gnod.search.query import references
from gnod.search.query.parsing import Clause
from gnod.store import link_names
from gnod.store.connection import Connection
from gnod.store.links import neighbours
from gnod.store.links.neighbours import MentionCandidate
from gnod.store.tables import documents, texts
from gnod.store.tables.documents import DocumentRow
from gnod.types import source_line

# The maximum number of texts without a mention that one request reads: a name may be in all texts, but only in links.
_MOST_FRUITLESS = 500
_AROUND = 160  # characters of the passage on each side


class _Mention(NamedTuple):
    """`line`: the line of the canonical text. `mark`: the place of the name in the passage."""

    document_id: int
    line: int
    name: str
    passage: str
    mark: tuple[int, int]


def mentions_of(connection: Connection, params: wire.LinksMentionsParams) -> wire.LinksMentionsResult:
    document = references.resolve(connection, params.ref).document
    known = _names(connection, document)
    end = params.offset + params.limit
    found, is_cut = _mentions(connection, document, known, end + 1)
    has_more = len(found) > end
    return wire.LinksMentionsResult(
        uri=document.uri,
        title=document.title,
        names=known,
        mentions=_shown(connection, found[params.offset : end]),
        total=None if has_more or is_cut else len(found),
        has_more=has_more,
        is_cut=is_cut,
    )


def _mentions(
    connection: Connection, document: DocumentRow, known: Sequence[str], limit: int
) -> tuple[list[_Mention], bool]:
    """Return the mentions, up to a limit, and whether texts that were not read may have more."""
    phrases = _expression(connection, known)
    if phrases is None:
        return [], False
    finder, fruitless = NameFinder(known), 0
    found: list[_Mention] = []
    candidates, is_cut = neighbours.candidates(connection, document.id, phrases)
    for candidate in candidates:
        before = len(found)
        found += islice(_in_text(connection, candidate, finder), limit - before)
        fruitless += len(found) == before
        if len(found) == limit:
            break
        if fruitless == _MOST_FRUITLESS:
            return found, True
    return found, is_cut


def _names(connection: Connection, document: DocumentRow) -> list[str]:
    """Return the names of a document, with their original spelling if it is known."""
    values = metadata(document)
    written = {link_names.key(name): name for name in properties.names(values)}
    id_ = link_names.key(str(values.get("id")))
    aliases = [written.get(name, name) for name in neighbours.aliases(connection, document.id) if name != id_]
    return names(document.title, stem(document.path), aliases)


def _expression(connection: Connection, known: Sequence[str]) -> str | None:
    """Return the full-text expression that finds texts with one of the names; None if no name can be searched."""
    analyzers = lexical.analyzers_of_index(connection)
    found: list[str] = []
    for name in known:
        try:
            (phrase,) = expression.build([Clause(name, is_phrase=True)], analyzers).required
        except (QuerySyntaxError, ValueError):
            continue
        found.append(phrase.expression)
    return " OR ".join(found) or None


def _in_text(connection: Connection, candidate: MentionCandidate, finder: NameFinder) -> Iterator[_Mention]:
    links = neighbours.links_in(connection, candidate.id)
    start = line = 0
    for text in texts.parts(connection, candidate.mirror_hash):
        here = [(max(first - start, 0), last - start) for first, last in links if start <= last <= start + len(text)]
        is_markdown = candidate.mime == "text/markdown"
        for found in finder.find(text, here, is_markdown=is_markdown):
            passage, mark = _passage(text, found.start, found.end, is_markdown=is_markdown)
            yield _Mention(candidate.id, line + text.count("\n", 0, found.start) + 1, found.name, passage, mark)
        start += len(text)
        line += text.count("\n")


def _passage(text: str, start: int, end: int, *, is_markdown: bool) -> tuple[str, tuple[int, int]]:
    """Return the line of a mention, or the part near it, without Markdown, and the position of the mention in it."""
    first = max(text.rfind("\n", 0, start) + 1, start - _AROUND)
    stop = text.find("\n", end)
    last = min(stop if stop >= 0 else len(text), end + _AROUND)
    passage, mark = text[first:last], (start - first, end - first)
    if is_markdown:
        passage, [mark] = plain(text, first, last, [(start, end)])
    lead = len(passage) - len(passage.lstrip())
    return passage.strip(), (mark[0] - lead, mark[1] - lead)


def _shown(connection: Connection, found: Sequence[_Mention]) -> list[wire.Mention]:
    by_id = documents.by_ids(connection, list({mention.document_id for mention in found}))
    return [
        wire.Mention(
            uri=by_id[mention.document_id].uri,
            title=by_id[mention.document_id].title,
            line=source_line(by_id[mention.document_id].line_map, mention.line),
            passage=mention.passage,
            name=mention.name,
            marks=[mention.mark],
        )
        for mention in found
    ]
