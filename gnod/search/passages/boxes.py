"""Find the words of a query on a page: make a box for each matched word from the boxes of the page's characters.

The characters come from the source, or from text recognition. Must not depend on files or formats.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnod.analysis.terms import Analyzer
from gnod.search.keyword.marks import TermVariant, find_marks, joined_ranges

# Limit the places of a frequent word in each block, because a page may have very many.
_BLOCK_CHARACTERS = 400
_HYPHEN = re.compile(r"(?<=\w)[-\u00ad\u2010]\n(?=\w)")
_LINE = re.compile(r"[^\n]+")

_NO_BOX = (0.0, 0.0, 0.0, 0.0)

Range = tuple[int, int]


class WordBox(NamedTuple):
    """A matched word, or its part on one line, in points from the upper left corner of the page."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def find_boxes(
    text: str, edges: Sequence[float], query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]
) -> list[WordBox]:
    """Return the boxes in the order of the text. `edges`: left, top, right and bottom of each character; all 0 without
    a box. A word is also found if a hyphen divides it at the end of a line."""
    found = set(_marked(text, query_terms, analyzers))
    joined, places = _joined(text)
    if len(joined) < len(text):
        found |= {(places[start], places[end - 1] + 1) for start, end in _marked(joined, query_terms, analyzers)}
    # In scripts without spaces, pairs of characters overlap.
    boxes = (_box(text, edges, line) for each in joined_ranges(found) for line in _lines(text, each))
    return [box for box in boxes if box]


def edges_of_lines(text: str, boxes: Sequence[Sequence[float]]) -> array[float]:
    """Return edges for `find_boxes` if only whole lines have boxes, as in recognised text. Each character gets its
    share of the width. `boxes`: one for each line that is not empty."""
    edges: array[float] = array("d")
    remaining = iter(boxes)
    for line in text.split("\n"):
        left, top, right, bottom = next(remaining, _NO_BOX) if line else _NO_BOX
        width = (right - left) / max(len(line), 1)
        for at in range(len(line)):
            edges.extend((left + at * width, top, left + (at + 1) * width, bottom))
        edges.extend(_NO_BOX)
    return edges[:-4]


def _marked(text: str, query_terms: Sequence[Sequence[TermVariant]], analyzers: Sequence[Analyzer]) -> Iterator[Range]:
    for start, end in _blocks(text):
        for mark in find_marks(text[start:end], query_terms, analyzers):
            yield start + mark.start, start + mark.end


def _blocks(text: str) -> Iterator[Range]:
    """Yield ranges of whole lines. They overlap by a line or two, in which a phrase may continue."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _BLOCK_CHARACTERS) + 1 or len(text)
        yield text.rfind("\n", 0, max(start - 1, 0)) + 1, text.find("\n", end) + 1 or len(text)
        start = end


def _joined(text: str) -> tuple[str, list[int]]:
    """Return the text with divided words joined, and the original position of each character."""
    pieces: list[str] = []
    places: list[int] = []
    start = 0
    for hyphen in [*_HYPHEN.finditer(text), None]:
        end = hyphen.start() if hyphen else len(text)
        pieces.append(text[start:end])
        places += range(start, end)
        start = hyphen.end() if hyphen else end
    return "".join(pieces), places


def _lines(text: str, within: Range) -> list[Range]:
    return [match.span() for match in _LINE.finditer(text, *within)]


def _box(text: str, edges: Sequence[float], within: Range) -> WordBox | None:
    start, end = within
    drawn = [box for at in range(start, end) if any(box := edges[4 * at : 4 * at + 4])]
    if not drawn:
        return None
    lefts, tops, rights, bottoms = zip(*drawn, strict=True)
    return WordBox(text[start:end].strip(), min(lefts), min(tops), max(rights), max(bottoms))
