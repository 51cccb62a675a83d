"""Split a document into overlapping passages at its best boundaries. Pure.

A passage has at most 3,200 characters (800 tokens of 4 characters), including up to 480 (15 %) from the previous text.
A cut is at the best kind of boundary in reach: heading > fence > blank line > sentence > line > space. It is never
inside a code fence that fits into a chunk. Among boundaries of one kind, the cut is at the one whose following
characters have the lowest hash (content-defined chunking: Muthitacharoen et al. 2001). So an edit moves only the cuts
around it, and nearly all passages keep their vectors.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from gnod.ingest.text.outline import Heading, Outline, paths

MAX_CHARACTERS = 3200
OVERLAP = 480
# The length of a passage without the overlap.
_FULL = MAX_CHARACTERS - OVERLAP
# A cut is in the last part of a passage and leaves at least this much text.
_REACH_FROM = _FULL // 2
_LEAST = _FULL // 4
# A section has up to two passages. Larger sections would give fewer chunks, but an edit would change more of them
# (docs/adr/0009-vectors-by-content.md has the figures).
_SECTION = int(1.6 * _FULL)
_MARGIN = int(0.4 * _FULL)
# This much text after a boundary is hashed. An edit in it moves the cut.
_HASHED = 32

_BLANK = re.compile(r"\n\n")
_SENTENCE = re.compile(r"[.!?…]['\"”’)\]]*\s+|[。！？]+|[।॥]\s*")
_LINE = re.compile(r"\n")
_SPACE = re.compile(r"\s+")
PROSE = (_BLANK, _SENTENCE, _LINE, _SPACE)
CODE = (_BLANK, _LINE, _SPACE)


class ChunkText(NamedTuple):
    """`text[start:end]`, its lines (from 1, inclusive), and the headings above it, joined by ` > `."""

    start: int
    end: int
    start_line: int
    end_line: int
    heading: str


def cut(text: str, outline: Outline) -> list[ChunkText]:
    """Return the passages of a canonical text in order; they cover everything except white space."""
    headings, fences, _ = outline
    edges = sorted(edge for fence in fences for edge in fence)
    boundaries = Boundaries(text, [[heading.start for heading in headings], edges], fences, PROSE)
    passages = placed(text, [(*span, "") for span in spans(text, 0, len(text), boundaries)])
    return _with_headings(passages, headings)


def placed(text: str, spans: Iterable[tuple[int, int, str]]) -> list[ChunkText]:
    """Return the passages for ranges with headings, and add their lines."""
    line_starts = [0, *(m.end() for m in _LINE.finditer(text))]
    return [
        ChunkText(start, end, bisect_right(line_starts, start), bisect_right(line_starts, end - 1), heading)
        for start, end, heading in spans
    ]


class Boundaries:
    """The possible cuts, with the best kind first: the cuts in `kinds`, starting with headings, and then the matches of
    `patterns`. No cut is inside a block that fits into a chunk."""

    def __init__(
        self,
        text: str,
        kinds: Sequence[Sequence[int]],
        blocks: Iterable[tuple[int, int]],
        patterns: Sequence[re.Pattern[str]],
    ) -> None:
        self._text = text
        self._patterns = patterns
        self._fences = [block for block in blocks if block[1] - block[0] <= MAX_CHARACTERS]
        self._fence_starts = [start for start, _ in self._fences]
        self._headings = array("I", kinds[0])
        self._kinds = [array("I", kind) for kind in kinds]
        self._given = len(kinds)
        self._orders: dict[int, array[int]] = {}

    def lowest(self, low: int, high: int) -> int | None:
        """Return the cut of the best kind in [low, high] with the lowest hash. Among equal hashes, take the one nearest
        to the middle. None if the range has no cut."""
        middle = (low + high) / 2
        for number in range(self._given + len(self._patterns)):
            places = self._places(number)
            first, beyond = bisect_left(places, low), bisect_right(places, high)
            if first < beyond:
                orders = self._orders_of(number)
                lowest = min(orders[first:beyond])
                # A repetitive text has millions of equal hashes, so find the nearest one on either side.
                split = bisect_left(places, middle, first, beyond)
                before, behind = orders[first:split], orders[split:beyond]
                before.reverse()
                nearest = [places[split - 1 - before.index(lowest)]] if lowest in before else []
                nearest += [places[split + behind.index(lowest)]] if lowest in behind else []
                return min(nearest, key=lambda at: abs(at - middle))
        return None

    def is_heading(self, place: int) -> bool:
        at = bisect_left(self._headings, place)
        return at < len(self._headings) and self._headings[at] == place

    def fence_around(self, place: int) -> tuple[int, int] | None:
        at = bisect_left(self._fence_starts, place) - 1
        if at >= 0 and self._fences[at][0] < place < self._fences[at][1]:
            return self._fences[at]
        return None

    def overlap_start(self, low: int, high: int) -> int:
        """Return the first boundary in [low, high) as the start of a passage that continues after `high`; `high` if the
        range has none."""
        for number in range(self._given, self._given + len(self._patterns)):
            places = self._places(number)
            at = bisect_right(places, low)
            if at < len(places) and places[at] < high:
                return places[at]
        return high

    def _places(self, number: int) -> array[int]:
        while len(self._kinds) <= number:
            pattern = self._patterns[len(self._kinds) - self._given]
            ends = (match.end() for match in pattern.finditer(self._text))
            self._kinds.append(array("I", (end for end in ends if not self.fence_around(end))))
        return self._kinds[number]

    def _orders_of(self, number: int) -> array[int]:
        """Return the hashes of all boundaries of a kind. They are computed once."""
        if number not in self._orders:
            text = self._text
            self._orders[number] = array(
                "I", (crc32(text[at : at + _HASHED].encode("utf-8", "surrogatepass")) for at in self._places(number))
            )
        return self._orders[number]


def spans(text: str, first: int, last: int, boundaries: Boundaries) -> list[tuple[int, int]]:
    """Return the ranges of the passages of `text[first:last]`, without the white space at their edges."""
    if last - first <= MAX_CHARACTERS:
        whole = _trim(text, first, last)
        return [whole] if whole else []
    found = []
    cuts = [first, *_cuts(text, first, last, boundaries), last]
    for start, end in pairwise(cuts):
        # A heading starts a new topic, so no overlap comes before it.
        if start > first and not boundaries.is_heading(start):
            before = max(start - OVERLAP, end - MAX_CHARACTERS, first)
            start = boundaries.overlap_start(before, start) if before < start else start
        if trimmed := _trim(text, start, end):
            found.append(trimmed)
    return found


def _cuts(text: str, first: int, last: int, boundaries: Boundaries) -> list[int]:
    """Return the cuts. Sections are cut by content first, so that an edit moves only cuts of its section. Then each
    section is cut from its start."""
    cuts: list[int] = []
    sections = [(first, last)]
    while sections:
        start, end = sections.pop()
        place = None
        if end - start > _SECTION:
            place = boundaries.lowest(start + _MARGIN, end - _MARGIN)
        if place is not None:
            sections += [(place, end), (start, place)]
            continue
        if start > first:
            cuts.append(start)
        cuts += _cuts_in_section(text, start, end, boundaries)
    return cuts


def _cuts_in_section(text: str, start: int, end: int, boundaries: Boundaries) -> list[int]:
    cuts = []
    while end - start > _FULL:
        high = min(start + _FULL, max(end - _LEAST, start + _LEAST))
        low = start + _REACH_FROM
        if end - start <= 2 * _FULL:
            low = max(start + _LEAST, end - _FULL)
        place = boundaries.lowest(min(low, high), high)
        if place is None:
            fence = boundaries.fence_around(high)
            if fence is None:
                place = max(_not_inside_character(text, high), start + 1)
            else:
                place = fence[0] if fence[0] > start else fence[1]
        if place >= end:
            break
        cuts.append(place)
        start = place
    return cuts


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    stripped = piece.strip()
    if not stripped:
        return None
    # Keep the indentation of code and lists: at the start, remove only whole blank lines.
    lead = len(piece) - len(piece.lstrip())
    line_start = piece.rfind("\n", 0, lead) + 1
    return start + line_start, start + len(piece.rstrip())


def _not_inside_character(text: str, place: int) -> int:
    """Move a place back, by at most 64 characters, so that it does not separate a character from marks or joiners."""
    for back in range(place, max(place - 64, 1), -1):
        if back >= len(text) or (not _CONTINUES.match(text[back]) and text[back - 1] != "\u200d"):
            return back
    return place


_CONTINUES = re.compile("[\u0300-\u036f\u200d\u20d0-\u20ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")


def _with_headings(passages: list[ChunkText], headings: list[Heading]) -> list[ChunkText]:
    above = ["", *(" > ".join(each.text for each in path if each.text) for path in paths(headings))]
    starts = [heading.start for heading in headings]
    return [passage._replace(heading=above[bisect_right(starts, passage.start)]) for passage in passages]
