"""Find the place in a document that answers a query best, and cut a snippet with the matched words marked.

Works on canonical text with plain substring searches, so that a long document costs milliseconds: every place where
the start of a term stands is looked at, and the analyser decides whether the word there is the term.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log
from typing import NamedTuple

from gnod.analysis.terms import Analyzer, is_unspaced

WINDOW_CHARACTERS = 240
SNIPPET_CHARACTERS = 280
_MAX_PLACES_PER_TERM = 1000
_MAX_WORD_CHARACTERS = 128

_SENTENCE_START = re.compile(r"(?:[.!?…。！？][\s\"')\]]+|[。！？]|\n)")
_FRONTMATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)
_FIRST_TEXT = re.compile(r"^(?!#|---|===|```|\s*$).+", re.MULTILINE)
_FOLDED = {
    code: base
    for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000))
    if len(decomposed := unicodedata.normalize("NFD", chr(code))) > 1
    and not unicodedata.combining(base := decomposed[0])
}


class Mark(NamedTuple):
    """A matched word; `term` is the one it stands for."""

    start: int
    end: int
    term: str


class Passage(NamedTuple):
    """`line` to `end_line` (from 1) hold the matched words; `marks` are ranges inside `snippet`."""

    line: int
    end_line: int
    snippet: str
    marks: list[tuple[int, int]]


def best_passage(text: str, terms: Iterable[str], analyzers: Sequence[Analyzer]) -> Passage:
    """Return the passage with the most different terms, rare ones first; the document's start when none stands in
    the text (a match in title or path only)."""
    marks = find_marks(text, terms, analyzers)
    if not marks:
        return _opening(text)
    window = _best_window(marks)
    start, end = _snippet_range(text, window[0].start, window[-1].end)
    inside = [(m.start - start, m.end - start) for m in marks if start <= m.start and m.end <= end]
    return Passage(
        _line(text, window[0].start),
        _line(text, window[-1].end - 1),
        text[start:end],
        _without_overlap(inside),
    )


def find_marks(text: str, terms: Iterable[str], analyzers: Sequence[Analyzer]) -> list[Mark]:
    """Return the words of `text` that the terms match, in order; of many places of one term only the first."""
    folded = _fold_in_place(text)
    known: dict[str, frozenset[str]] = {}
    marks = set()
    for term in dict.fromkeys(terms):
        for start, end in _candidates(text, folded, term):
            word = text[start:end]
            if word not in known:
                known[word] = frozenset(
                    t for analyzer in analyzers for t in " ".join(analyzer.terms_of(word)).split()
                )
            if term in known[word] or is_unspaced(term):
                marks.add(Mark(start, end, term))
    return sorted(marks)


def _candidates(text: str, folded: str, term: str) -> Iterator[tuple[int, int]]:
    """Yield the words in which the start of the term stands; for unspaced scripts, the place itself."""
    unspaced = is_unspaced(term)
    # Stems end otherwise than their words: "studi" is the stem of "study".
    needle = term if unspaced or len(term) < 4 or not term.isalpha() else term[:-1]
    position = folded.find(needle)
    for _ in range(_MAX_PLACES_PER_TERM):
        if position < 0:
            return
        if unspaced:
            yield position, position + len(term)
            position = folded.find(needle, position + len(term))
        else:
            start, end = _word_around(text, position, position + len(needle))
            yield start, end
            position = folded.find(needle, max(end, position + 1))


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    first = max(start - _MAX_WORD_CHARACTERS, 0)
    while start > first and _in_word(text[start - 1]):
        start -= 1
    last = min(end + _MAX_WORD_CHARACTERS, len(text))
    while end < last and _in_word(text[end]):
        end += 1
    return start, end


def _in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _best_window(marks: list[Mark]) -> list[Mark]:
    """Return the marks of the best stretch of WINDOW_CHARACTERS: most different terms, the rarer in this document
    the better; the earliest of equals."""
    counts = Counter(mark.term for mark in marks)
    weights = {term: 1 / log(2 + n) for term, n in counts.items()}
    best, best_score = marks[:1], 0.0
    inside: Counter[str] = Counter()
    first = 0
    for last, mark in enumerate(marks):
        inside[mark.term] += 1
        while marks[first].start < mark.end - WINDOW_CHARACTERS and first < last:
            inside[marks[first].term] -= 1
            first += 1
        score = sum(weights[term] for term, n in inside.items() if n)
        if score > best_score + 1e-9:
            best, best_score = marks[first : last + 1], score
    return best


def _snippet_range(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen to SNIPPET_CHARACTERS: from the start of a sentence or line, to the end of a word."""
    room = max(SNIPPET_CHARACTERS - (end - start), 0)
    low = max(start - room // 2, 0)
    starts = [m.end() for m in _SENTENCE_START.finditer(text, low, start)]
    begin = starts[0] if starts else (low if low == 0 else _next_word(text, low, start))
    stop = min(begin + max(SNIPPET_CHARACTERS, end - begin), len(text))
    if stop < len(text):
        space = max(text.rfind(" ", end, stop), text.rfind("\n", end, stop))
        stop = space if space > 0 else stop
    while begin < start and text[begin].isspace():
        begin += 1
    return begin, max(begin + len(text[begin:stop].rstrip()), end)


def _next_word(text: str, low: int, high: int) -> int:
    space = text.find(" ", low, high)
    return low if space < 0 else space + 1


def _opening(text: str) -> Passage:
    head = _FRONTMATTER.match(text, 0, 8192)
    match = _FIRST_TEXT.search(text, head.end() if head else 0) or _FIRST_TEXT.search(text)
    start = match.start() if match else 0
    _, end = _snippet_range(text, start, start + 1) if text.strip() else (0, 0)
    line = _line(text, start)
    return Passage(line, max(_line(text, end - 1), line), text[start:end].rstrip(), [])


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


def _fold_in_place(text: str) -> str:
    """Lower-case and without diacritics, every character at its place."""
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" becomes two characters
        lowered = "".join(c if len(lower := c.lower()) != 1 else lower for c in text)
    return lowered if lowered.isascii() else lowered.translate(_FOLDED)
