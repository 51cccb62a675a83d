"""Cut a document into overlapping passages at its best boundaries. Pure.

At most 3,200 characters (800 tokens at 4 characters each) with 15 % overlap. A cut falls on the best boundary in
reach: heading > fence > blank line > sentence > line > space; never inside a code fence that fits into a chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

from gnod.ingest.outline import Heading, Outline

MAX_CHARACTERS = 3200
OVERLAP = 480
# A cut is looked for in the last part of a chunk only: a heading right at its start would leave a tiny chunk.
_REACH = MAX_CHARACTERS // 2

_BLANK = re.compile(r"\n\n")
_SENTENCE = re.compile(r"[.!?…]['\"”’)\]]*\s+|[。！？]+|[।॥]\s*")
_LINE = re.compile(r"\n")
_SPACE = re.compile(r"\s+")


class Passage(NamedTuple):
    """`text[start:end]`, its lines (from 1, inclusive) and the headings above it, joined by ` > `."""

    start: int
    end: int
    start_line: int
    end_line: int
    heading: str


def cut(text: str, outline: Outline) -> list[Passage]:
    """Return the passages of a canonical text in order; every character that is not white space is in one."""
    headings, fences = outline
    boundaries = _Boundaries(text, headings, fences)
    line_starts = [0, *(m.end() for m in _LINE.finditer(text))]
    passages = []
    for start, end in _spans(text, boundaries):
        first_line = bisect_right(line_starts, start)
        last_line = bisect_right(line_starts, end - 1)
        passages.append(Passage(start, end, first_line, last_line, ""))
    return _with_headings(passages, headings)


class _Boundaries:
    """The places where a cut may fall, best kind first."""

    def __init__(self, text: str, headings: list[Heading], fences: list[tuple[int, int]]) -> None:
        self._text = text
        self._headings = [heading.start for heading in headings]
        self._fences = [fence for fence in fences if fence[1] - fence[0] <= MAX_CHARACTERS]
        self._fence_starts = [start for start, _ in self._fences]
        self._fence_edges = sorted(edge for fence in fences for edge in fence)

    def best(self, low: int, high: int) -> int:
        """Return the last place of the best kind in (low, high]."""
        for places in (self._headings, self._fence_edges):
            at = bisect_right(places, high) - 1
            if at >= 0 and places[at] > low:
                return places[at]
        window = self._text[low:high]
        for pattern in (_BLANK, _SENTENCE, _LINE, _SPACE):
            found = [low + m.end() for m in pattern.finditer(window) if m.end() > 0]
            for place in reversed(found):
                if not self.inside_fence(place):
                    return place
        return self.before_fence(low, high)

    def is_heading(self, place: int) -> bool:
        at = bisect_left(self._headings, place)
        return at < len(self._headings) and self._headings[at] == place

    def inside_fence(self, place: int) -> bool:
        return self._fence_around(place) is not None

    def before_fence(self, low: int, high: int) -> int:
        fence = self._fence_around(high)
        return fence[0] if fence and fence[0] > low else _not_inside_character(self._text, high)

    def overlap_start(self, low: int, high: int) -> int:
        """Return the first good place in [low, high) to start the next passage, else `high`."""
        window = self._text[low:high]
        for pattern in (_BLANK, _SENTENCE, _LINE, _SPACE):
            for match in pattern.finditer(window):
                place = low + match.end()
                if place < high and not self.inside_fence(place):
                    return place
        return high

    def _fence_around(self, place: int) -> tuple[int, int] | None:
        at = bisect_left(self._fence_starts, place) - 1
        if at >= 0 and self._fences[at][0] < place < self._fences[at][1]:
            return self._fences[at]
        return None


def _spans(text: str, boundaries: _Boundaries) -> list[tuple[int, int]]:
    """Return the passages' ranges without the white space at their edges."""
    spans = []
    length = len(text)
    start = 0
    while start < length:
        end = length if length - start <= MAX_CHARACTERS else _cut_after(start, boundaries)
        if trimmed := _trim(text, start, end):
            spans.append(trimmed)
        if end >= length:
            break
        start = max(_next_start(start, end, boundaries), start + 1)
    return spans


def _cut_after(start: int, boundaries: _Boundaries) -> int:
    limit = start + MAX_CHARACTERS
    place = boundaries.best(start + MAX_CHARACTERS - _REACH, limit)
    if boundaries.inside_fence(place):
        place = boundaries.before_fence(start, place)
    return place


def _next_start(start: int, end: int, boundaries: _Boundaries) -> int:
    # A heading opens a new topic: what stands before it would only blur it.
    if boundaries.is_heading(end):
        return end
    return boundaries.overlap_start(max(end - OVERLAP, start + 1), end)


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    # Indentation belongs to code and lists: only whole blank lines go at the start.
    lead = len(piece) - len(piece.lstrip())
    line_start = piece.rfind("\n", 0, lead) + 1
    return start + line_start, start + len(piece.rstrip())


def _not_inside_character(text: str, place: int) -> int:
    """Step back from between a base character and its marks or joiners (at most 64 characters)."""
    for back in range(place, max(place - 64, 1), -1):
        if back >= len(text) or (not _CONTINUES.match(text[back]) and text[back - 1] != "\u200d"):
            return back
    return place


_CONTINUES = re.compile("[\u0300-\u036f\u200d\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")


def _with_headings(passages: list[Passage], headings: list[Heading]) -> list[Passage]:
    nowhere: tuple[Heading, ...] = ()
    paths = list(accumulate(headings, _open_heading, initial=nowhere))
    starts = [heading.start for heading in headings]
    above = [paths[bisect_right(starts, passage.start)] for passage in passages]
    return [
        passage._replace(heading=" > ".join(heading.text for heading in path if heading.text))
        for passage, path in zip(passages, above, strict=True)
    ]


def _open_heading(path: tuple[Heading, ...], heading: Heading) -> tuple[Heading, ...]:
    return (*(h for h in path if h.level < heading.level), heading)
