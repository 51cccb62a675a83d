"""Find the passage of a document that answers a query best, with the matched words marked.

A very long text is read in parts, up to the first passage with every word. `gnod.search.keyword.marks` finds the words,
and `gnod.search.passages.snippets` cuts the text around them.

A document may also have further passages that answer the query nearly as well, and a list of all its matches. If the
best passage is the nearest by vector, the others are in the next nearest pieces; otherwise the words decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gnod.analysis.markup import head_end
from gnod.analysis.terms import Analyzer
from gnod.search.keyword.marks import Mark, TermFinder, TermVariant, best_window, joined_ranges, worth_of
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.passages import snippets
from gnod.search.passages.plain_text import plain
from gnod.store.connection import Connection
from gnod.store.tables.documents import DocumentRow
from gnod.store.vectors import vector_rows

# A further passage of a document must be worth at least this share of its best one.
FURTHER = 0.5
# A count of more matches would take too long for many documents.
MOST_MATCHES = 1000
_MOST_WORDS = 500
_MARKUP = re.compile(r"[\s|*_`]+")


class ShownPassage(NamedTuple):
    """`line`, `end_line` (from 1): the lines of the matched words. `marks`: ranges inside `snippet`. `snippet_line`,
    `start`: where the snippet begins in its source, `text`. `heading`: the headings above `line`, joined by ` > `.
    `words`: the numbers of the query words that decided the choice."""

    line: int
    end_line: int
    snippet: str
    snippet_line: int
    marks: list[tuple[int, int]]
    heading: str = ""
    words: frozenset[int] = frozenset()
    text: str = ""
    start: int = 0

    def as_written(self) -> ShownPassage:
        """Return the passage without its source text."""
        return self._replace(text="", start=0)

    def as_read(self) -> ShownPassage:
        """Return the passage as a reader sees it, if it is from Markdown. A snippet of markup alone does not change."""
        marks = [(self.start + start, self.start + end) for start, end in self.marks]
        shown, marks = plain(self.text, self.start, self.start + len(self.snippet), marks)
        if not (snippet := shown.strip()):
            return self.as_written()
        lead = shown.index(snippet)
        return self.as_written()._replace(
            snippet=snippet,
            snippet_line=self.snippet_line + shown.count("\n", 0, lead),
            marks=[(start - lead, end - lead) for start, end in marks],
        )

    @property
    def line_end(self) -> int:
        """Return the end of `line` in the text."""
        return self.start + len("\n".join(self.snippet.split("\n")[: self.line - self.snippet_line + 1]))

    def below(self, lines: int) -> ShownPassage:
        """Return the passage with its line numbers increased by this many lines."""
        return self._replace(
            line=self.line + lines, end_line=self.end_line + lines, snippet_line=self.snippet_line + lines
        )


class DocumentMatches(NamedTuple):
    """The line of each match, in order. `is_exact`: there are no more. `words`: the matched words, as in
    `DocumentMatchesResult`."""

    lines: Sequence[int]
    is_exact: bool
    words: Sequence[str]


def best_passage(
    finder: TermFinder,
    query_terms: Sequence[Sequence[TermVariant]],
    within: tuple[int, int] | None = None,
) -> ShownPassage:
    """Return the passage with most different words of the query; rare words count more. Returns the start of the
    document if no word occurs (a match only in title or path). `query_terms`: the variants of each word. `within`: only
    passages in this range."""
    text, finder = finder.text, finder.for_words(query_terms)
    window = finder.window(query_terms, within)
    if not window:
        return _opening(text, within)
    if window[0].start < (head := head_end(text)):
        window = _below(text, head, within[1] if within else len(text), finder, query_terms, window)
    start, end = snippets.around(text, window[0].start, max(mark.end for mark in window), within)
    return _shown(text, window, finder.marks(query_terms, within=(start, end)), start, end)


def best_passage_of(
    parts: Iterable[str],
    query_terms: Sequence[Sequence[TermVariant]],
    analyzers: Sequence[Analyzer],
) -> ShownPassage:
    """Do as `best_passage`, for a text in parts. A passage is within one part. The first passage with every word of the
    query is the best."""
    first: str | None = None
    found: dict[frozenset[int], ShownPassage] = {}
    counts: Counter[int] = Counter()
    shortest_first = [sorted(word, key=lambda variant: len(variant[0])) for word in query_terms]
    above = 0
    for part in parts:
        first = part if first is None else first
        finder = TermFinder(part, analyzers)
        promised = {number for number, word in enumerate(shortest_first) if any([*map(finder.may_have, word)])}
        counts.update(promised)
        if promised and not any(promised <= words for words in found):
            passage = best_passage(finder, query_terms)
            if passage.words:
                found.setdefault(passage.words, passage.below(above))
            if _has_all(passage.words, query_terms):
                break
        above += part.count("\n")
    if not found:
        return _opening(first or "")
    return found[max(found, key=lambda words: worth_of(words, counts))]


def _has_all(words: Iterable[int], query_terms: Sequence[Sequence[TermVariant]]) -> bool:
    return sum(word >= 0 for word in words) == len(query_terms)


def _below(
    text: str,
    head: int,
    end: int,
    finder: TermFinder,
    query_terms: Sequence[Sequence[TermVariant]],
    window: list[Mark],
) -> list[Mark]:
    """Return the best stretch below the front matter if it has the same words, else the given stretch."""
    found = TermFinder(text[head:end], finder.analyzers).window(query_terms)
    if not {mark.term for mark in found} >= {mark.term for mark in window}:
        return window
    return [Mark(head + mark.start, head + mark.end, mark.term) for mark in found]


def _shown(text: str, window: Sequence[Mark], marks: Sequence[Mark], start: int, end: int) -> ShownPassage:
    """Return the passage from `start` to `end`, with its marks."""
    first = window[0].start
    line = _line(text, first)
    inside = [(mark.start - start, mark.end - start) for mark in marks if start <= mark.start and mark.end <= end]
    return ShownPassage(
        line,
        line + text.count("\n", first, max(mark.end for mark in window) - 1),
        text[start:end],
        line - text.count("\n", start, first),
        joined_ranges(inside, touching=False),
        words=frozenset(mark.term for mark in window),
        text=text,
        start=start,
    )


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
    """Return a match without markup, with an asterisk on each side where its word continues."""
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
    """Return up to `count` further passages of the text, best first. With the query's `vectors`, the nearest pieces
    decide."""
    if vectors is None:
        return _further(finder, [best], query_terms, count)
    found: list[ShownPassage] = []
    for part in _nearest(connection, document, vectors):
        if len(found) == count:
            break
        passage = best_passage(finder, query_terms, within=part)
        if passage.snippet and not any(_overlap(passage, each) for each in (best, *found)):
            found.append(passage)
    return found


def _nearest(connection: Connection, document: DocumentRow, vectors: QueryVectors) -> list[tuple[int, int]]:
    """Return the ranges of the pieces that are nearly as near to the query as the nearest piece, best first."""
    uri = vectors.served.get(document.collection)
    query = vectors.row(0).get(uri) if uri else None
    if query is None:
        return []
    pieces = [(each, each.vector) for each in vector_rows.pieces_of(connection, document.mirror_hash, uri)]
    embedded = [(each, vector) for each, vector in pieces if vector is not None]
    if not embedded:
        return []
    cosines = np.stack([vector for _, vector in embedded]) @ query
    order = np.argsort(-cosines, kind="stable").tolist()
    enough = FURTHER * float(cosines[order[0]])
    return [(embedded[n][0].start, embedded[n][0].end) for n in order if float(cosines[n]) >= enough]


def _further(
    finder: TermFinder, taken: Sequence[ShownPassage], query_terms: Sequence[Sequence[TermVariant]], count: int
) -> list[ShownPassage]:
    """Return up to `count` more passages of the whole text, best first, that do not overlap those `taken`. The words of
    each are worth at least FURTHER times those of the best."""
    text, marks = finder.text, finder.marks(query_terms)
    counts = Counter(mark.term for mark in marks)
    ranges = [_range_of(text, each) for each in taken]
    best = [worth_of({mark.term for mark in marks if _lies_in(mark, each)}, counts) for each in ranges]
    enough = FURTHER * max(best, default=0)
    found: list[ShownPassage] = []
    left = [mark for mark in marks if not any(_lies_in(mark, each) for each in ranges)]
    while left and len(found) < count:
        window = best_window(left)
        if worth_of({mark.term for mark in window}, counts) < enough:
            break
        start, end = snippets.around(text, window[0].start, max(mark.end for mark in window))
        if not any(start < high and low < end for low, high in ranges):
            found.append(_shown(text, window, marks, start, end))
            ranges.append((start, end))
        left = [mark for mark in left if mark not in window and not (start <= mark.start and mark.end <= end)]
    return found


def _overlap(one: ShownPassage, other: ShownPassage) -> bool:
    """Return whether two passages of a text have a line in common."""
    first, second = (
        range(each.snippet_line, each.snippet_line + each.snippet.count("\n") + 1) for each in (one, other)
    )
    return first.start < second.stop and second.start < first.stop


def _range_of(text: str, passage: ShownPassage) -> tuple[int, int]:
    """Return the range of the snippet in the text."""
    start = 0
    for _ in range(passage.snippet_line - 1):
        start = text.find("\n", start) + 1
    start = max(text.find(passage.snippet, start), 0)
    return start, start + len(passage.snippet)


def _lies_in(mark: Mark, within: tuple[int, int]) -> bool:
    return within[0] <= mark.start and mark.end <= within[1]


def best_span(
    text: str, query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]
) -> tuple[int, int] | None:
    """Return the range from the first to the last word of the best passage; None if no word occurs."""
    window = TermFinder(text, analyzers).window(query_terms)
    return (window[0].start, max(mark.end for mark in window)) if window else None


def _opening(text: str, within: tuple[int, int] | None = None) -> ShownPassage:
    start, end = snippets.opening(text, *(within or ()))
    line = _line(text, start)
    return ShownPassage(line, max(_line(text, end - 1), line), text[start:end], line, [], text=text, start=start)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, max(position, 0)) + 1
