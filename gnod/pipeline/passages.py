"""Find the passage of a document that answers a query best, and cut a snippet with the matched words marked.

Works on canonical text with plain substring searches, so that a long document costs milliseconds: the analyser checks
the words at every place where the start of a term occurs. A very long text comes in parts, and is read no further than
to a passage with every word.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import log
from typing import NamedTuple

from gnod.analysis.terms import WORD_REST, Analyzer, is_unspaced
from gnod.pipeline.folding import fold_in_place

WINDOW_CHARACTERS = 240
SNIPPET_CHARACTERS = 280
SNIPPET_LINES = 4
_MAX_PLACES = 50
_MAX_WORD_CHARACTERS = 64
_MAX_VARIANT_CHARACTERS = 128
_MAX_GAP = 3
_MAX_FRONTMATTER_CHARACTERS = 8192
_MAX_IN_WORD = 4

_SENTENCE_START = re.compile(r"(?:[.!?…。！？][\s\"')\]]+|[。！？]|\n)")
_LINE_ENDS = re.compile(r"\n+")
_FRONTMATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)
_FIRST_TEXT = re.compile(r"^(?!#|---|===|```|\s*$).+", re.MULTILINE)

# One variant of a query term: index terms in sequence. With ANY_ENDING, which no term of the index contains, a term
# matches all terms that begin with it.
TermVariant = tuple[str, ...]
ANY_ENDING = "*"


class Mark(NamedTuple):
    """A matched place; `term` is the number of the query term that matched."""

    start: int
    end: int
    term: int


class Passage(NamedTuple):
    """`line` to `end_line` (from 1) hold the matched words; `marks` are ranges inside `snippet`, which begins in
    `snippet_line`."""

    line: int
    end_line: int
    snippet: str
    snippet_line: int
    marks: list[tuple[int, int]]

    def below(self, lines: int) -> Passage:
        """Return the passage with the lines of a text that begins so many lines earlier."""
        return self._replace(
            line=self.line + lines, end_line=self.end_line + lines, snippet_line=self.snippet_line + lines
        )


def best_passage(text: str, query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]) -> Passage:
    """Return the passage with the most different words of the query, rare ones first; the start of the document when
    none occurs (a match in title or path only). `query_terms` has the variants of each word."""
    return best_passage_of([text], query_terms, analyzers)


def best_passage_of(
    parts: Iterable[str], query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]
) -> Passage:
    """Return the best passage of a text that comes in parts. A passage lies within one part; the first with every word
    of the query is the best."""
    opening: Passage | None = None
    found: dict[frozenset[int], Passage] = {}
    counts: Counter[int] = Counter()
    above = 0
    for part in parts:
        opening = opening or _opening(part)
        finder = _Finder(part, analyzers)
        promised = {number for number, word in enumerate(query_terms) if any(map(finder.may_have, word))}
        counts.update(promised)
        if promised and not any(promised <= words for words in found):
            words, passage = _passage(part, finder.marks(query_terms))
            if words:
                found.setdefault(words, passage.below(above))
            if len(words) == len(query_terms):
                break
        above += part.count("\n")
    if not found:
        return opening or _opening("")
    return found[max(found, key=lambda words: _worth(words, counts))]


def _passage(text: str, marks: list[Mark]) -> tuple[frozenset[int], Passage]:
    """Return the best passage of a text with these marks, and the query terms in it."""
    if not marks:
        return frozenset(), _opening(text)
    window = _best_window(marks)
    start, end = _snippet_range(text, window[0].start, window[-1].end)
    inside = [(m.start - start, m.end - start) for m in marks if start <= m.start and m.end <= end]
    passage = Passage(
        _line(text, window[0].start),
        _line(text, window[-1].end - 1),
        text[start:end],
        _line(text, start),
        _without_overlap(inside),
    )
    return frozenset(mark.term for mark in window), passage


def best_span(
    text: str, query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]
) -> tuple[int, int] | None:
    """Return the range from the first to the last word of the best passage; None when no word occurs."""
    marks = find_marks(text, query_terms, analyzers)
    if not marks:
        return None
    window = _best_window(marks)
    return window[0].start, window[-1].end


def find_marks(text: str, query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]) -> list[Mark]:
    """Return the places of the query terms in order. Of a very frequent one, the places near a rarer one are returned,
    or the first ones."""
    return _Finder(text, analyzers).marks(query_terms)


class _Finder:
    """Finds index terms in one text."""

    def __init__(self, text: str, analyzers: Sequence[Analyzer]) -> None:
        self._text = text
        self._folded = fold_in_place(text)
        self._analyzers = analyzers
        self._terms: dict[str, frozenset[str]] = {}
        self._counts: dict[str, int] = {}

    def marks(self, query_terms: Sequence[Sequence[TermVariant]]) -> list[Mark]:
        """See `find_marks`."""
        variants = [(variant, number) for number, word in enumerate(query_terms) for variant in word]
        marks: list[Mark] = []
        for variant, number in sorted(variants, key=lambda pair: (self.frequency(pair[0]), pair[1])):
            marks += [Mark(start, end, number) for start, end in self.find(variant, marks)]
        return sorted(set(marks))

    def may_have(self, variant: TermVariant) -> bool:
        return all(_needle(term) in self._folded for term in variant)

    def frequency(self, variant: TermVariant) -> int:
        """Return an upper bound of how often the variant occurs in the text."""
        return min(self._count(_needle(term)) for term in variant)

    def find(self, variant: TermVariant, near: Sequence[Mark]) -> list[tuple[int, int]]:
        """Return ranges; of a frequent variant only those within a window of the marks `near`, if there are any."""
        rarest = min(variant, key=lambda term: self._count(_needle(term)))
        if near and self._count(_needle(rarest)) > _MAX_PLACES:
            stretches = _stretches(sorted({mark.start for mark in near})[:_MAX_PLACES], WINDOW_CHARACTERS)
        else:
            stretches = [(0, len(self._text))]
        found = self._places(rarest, stretches)
        if len(variant) == 1:
            return found
        around = _stretches([start for start, _ in found], _MAX_VARIANT_CHARACTERS)
        return _chains([self._places(term, around) for term in variant])

    def _count(self, needle: str) -> int:
        if needle not in self._counts:
            self._counts[needle] = self._folded.count(needle)
        return self._counts[needle]

    def _places(self, term: str, stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        places = {place for low, high in stretches for place in islice(self._words(term, low, high), _MAX_PLACES)}
        return sorted(places)

    def _words(self, term: str, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Yield the words that have the term; in unspaced scripts, the places of the characters themselves."""
        needle, has_words = _needle(term), not is_unspaced(term)
        position = self._folded.find(needle, low, high)
        while position >= 0:
            end = position + len(needle)
            if not has_words:
                yield position, end
            else:
                start, end = _word_around(self._text, position, end)
                if _is_among(term, self._terms_of(self._text[start:end])):
                    yield start, end
            position = self._folded.find(needle, max(end, position + 1), high)

    def _terms_of(self, word: str) -> frozenset[str]:
        if word not in self._terms:
            self._terms[word] = frozenset(t for a in self._analyzers for t in " ".join(a.terms_of(word)).split())
        return self._terms[word]


def _is_among(term: str, terms: frozenset[str]) -> bool:
    if term.endswith(ANY_ENDING):
        return any(each.startswith(term.removesuffix(ANY_ENDING)) for each in terms)
    return term in terms


@lru_cache(4096)
def _needle(term: str) -> str:
    """Return what every word with that stem contains ("studi" is the stem of "study")."""
    if term.endswith(ANY_ENDING):
        return term.removesuffix(ANY_ENDING)
    return term[:-1] if len(term) > 3 and term.isalpha() and not is_unspaced(term) else term


def _stretches(places: Sequence[int], reach: int) -> list[tuple[int, int]]:
    """Return the ranges around sorted places, joined where they touch."""
    stretches: list[tuple[int, int]] = []
    for place in places:
        low, high = max(place - reach, 0), place + reach
        if stretches and low <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], high)
        else:
            stretches.append((low, high))
    return stretches


def _chains(places: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """Return the ranges in which the terms follow each other, with a joiner or two between them."""
    chains = places[0]
    for following in places[1:]:
        chains = [
            (start, max(end, next_end))
            for start, end in chains
            for next_start, next_end in following[bisect_left(following, (start, 0)) :][:_MAX_IN_WORD]
            if next_start <= end + _MAX_GAP and (next_end > end or next_start >= start)
        ]
    return sorted(set(chains))


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    first = max(start - _MAX_WORD_CHARACTERS, 0)
    while start > first and (text[start - 1].isalnum() or unicodedata.category(text[start - 1])[0] == "M"):
        start -= 1
    rest = WORD_REST.match(text, end, end + _MAX_WORD_CHARACTERS)
    end = rest.end() if rest else end
    return start, end


def _best_window(marks: list[Mark]) -> list[Mark]:
    """Return the marks of the best stretch of WINDOW_CHARACTERS: most different words, the rarer in this document
    the better; the earliest of equals, unless a later one is much closer together."""
    counts = Counter(mark.term for mark in marks)
    best, best_value = marks[:1], (0.0, 0)
    inside: Counter[int] = Counter()
    first = 0
    for last, mark in enumerate(marks):
        inside[mark.term] += 1
        # Shrink to what fits, and then to what is needed.
        while first < last and (marks[first].start < mark.end - WINDOW_CHARACTERS or inside[marks[first].term] > 1):
            inside[marks[first].term] -= 1
            first += 1
        score = _worth([word for word, n in inside.items() if n], counts)
        value = (score, marks[first].start - mark.end)
        if value[0] > best_value[0] or (
            value[0] == best_value[0] and value[1] > best_value[1] + WINDOW_CHARACTERS // 4
        ):
            best, best_value = marks[first : last + 1], value
    return best


def _worth(words: Iterable[int], counts: Counter[int]) -> float:
    """Return the value of these words in one place: the rarer they are, the higher."""
    return round(sum(1 / log(2 + counts[word]) for word in words), 9)


def _snippet_range(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen to SNIPPET_CHARACTERS: from the start of a sentence or line, to the end of a word."""
    room = max(SNIPPET_CHARACTERS - (end - start), 0)
    head = _FRONTMATTER.match(text, 0, _MAX_FRONTMATTER_CHARACTERS)
    floor = head.end() if head and head.end() <= start else 0
    low = max(start - room // 2, floor)
    starts = [m.end() for m in _SENTENCE_START.finditer(text, low, start)]
    begin = low if low == floor else starts[0] if starts else _next_word(text, low, start)
    stop = min(begin + max(SNIPPET_CHARACTERS, end - begin), len(text))
    if stop < len(text):
        space = max(text.rfind(" ", end, stop), text.rfind("\n", end, stop))
        stop = space if space > 0 else stop
    return _few_lines(text, begin, start, end, stop)


def _few_lines(text: str, begin: int, start: int, end: int, stop: int) -> tuple[int, int]:
    """Narrow begin and stop to one line before the match and SNIPPET_LINES in all, but always keep the match."""
    starts = [begin, *(m.end() for m in _LINE_ENDS.finditer(text, begin, start))]
    begin = starts[-2:][0]
    while begin < start and text[begin].isspace():
        begin += 1
    ends = [m.start() for m in _LINE_ENDS.finditer(text, begin, stop)]
    if len(ends) >= SNIPPET_LINES:
        stop = max(ends[SNIPPET_LINES - 1], end)
    return begin, max(begin + len(text[begin:stop].rstrip()), end)


def _next_word(text: str, low: int, high: int) -> int:
    space = text.find(" ", low, high)
    return low if space < 0 else space + 1


def _opening(text: str) -> Passage:
    head = _FRONTMATTER.match(text, 0, _MAX_FRONTMATTER_CHARACTERS)
    match = _FIRST_TEXT.search(text, head.end() if head else 0) or _FIRST_TEXT.search(text)
    start = match.start() if match else 0
    _, end = _snippet_range(text, start, start + 1) if text.strip() else (0, 0)
    line = _line(text, start)
    return Passage(line, max(_line(text, end - 1), line), text[start:end].rstrip(), line, [])


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, max(position, 0)) + 1


def _without_overlap(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(set(ranges)):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
