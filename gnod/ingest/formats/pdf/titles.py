"""Finds the title of a PDF: the title in its properties if the first page also has it, else the largest text at the top
of the first page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median
from typing import Any, NamedTuple

from gnod.ingest.formats.pdf.page_text import PageText, read_text
from gnod.ingest.reading.result import ConversionFailed

# Programs write these as titles: names of files, and stamps of archives.
_NO_TITLE = re.compile(
    r"untitled|microsoft (?:word|powerpoint)|arxiv:|.*\.(?:docx?|pptx?|dvi|tex|e?ps|indd|pdf|qxd|html?)\Z", re.I
)
_STAMP = re.compile(
    r"arxiv:|https?://|www\.|doi\b|journal of|proceedings|contents lists|see discussions|appeared in|©", re.I
)
_EDGES = re.compile(r"\A[\s:.,;]+|[\s∗*†‡§¶✩⋆]+\Z|(?<=[a-z]{3})[1-9]\Z")  # marks of footnotes
_TOP = 0.6
_SAME_SIZE = 0.1
_LARGER = 1.08
# The largest distance to the next line of a title, as a share of its height.
_NEXT_LINE = 1.9
# The height of a letter as a share of its width, because fonts of pictures lack a height.
_HEIGHT = 2.4
_FEWEST_LETTERS = 4
_MAX_LINES = 6
_MAX_CHARACTERS = 250


class _SpanLine(NamedTuple):
    text: str
    size: float
    top: float


def title_of(document: Any, stated: str, *, has_text: bool) -> str | None:
    """Return the title of an open document. `stated`: the title in its properties. `has_text`: for the first page."""
    stated = " ".join(stated.split())
    stated = "" if _NO_TITLE.match(stated) else stated
    if not has_text:
        return stated or None
    try:
        page = read_text(document[0])
    except ConversionFailed:
        return stated or None
    lines = list(_lines(page))
    if _is_printed(stated, lines):
        return stated
    return _largest([line for line in lines if line.top < _TOP * page.height], lines) or stated or None


def _lines(page: PageText) -> Iterator[_SpanLine]:
    """Yield the horizontal lines of a page."""
    at = 0
    for text in page.text.split("\n"):
        boxes = page.boxes[4 * at : 4 * (at + len(text))]
        at += len(text) + 1
        places = [number for number, letter in enumerate(text) if letter.isalnum() and boxes[4 * number + 3]]
        if not places:
            continue
        tops, bottoms = [boxes[4 * n + 1] for n in places], [boxes[4 * n + 3] for n in places]
        width = boxes[4 * places[-1] + 2] - boxes[4 * places[0]]
        if len(places) < 3 or median(bottoms) - median(tops) < width:
            size = median(bottom - top for top, bottom in zip(tops, bottoms, strict=True))
            by_width = _HEIGHT * width / len(text)
            size = by_width if len(places) > _FEWEST_LETTERS and size > 2 * by_width else size
            yield _SpanLine(" ".join(text.split()), size, median(tops))


def _is_printed(stated: str, lines: list[_SpanLine]) -> bool:
    letters = _letters(stated)
    texts = [_letters(line.text) for line in lines]
    return len(letters) >= _FEWEST_LETTERS and any(
        "".join(texts[at : at + _MAX_LINES]).startswith(letters) for at in range(len(texts))
    )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _largest(top: list[_SpanLine], lines: list[_SpanLine]) -> str | None:
    """Return the first lines among `top` that are larger than most of the page; on a page in one size, the lines in
    capitals."""
    candidates = [line for line in _unstamped(top) if len(line.text) <= _MAX_CHARACTERS]
    size = max((line.size for line in candidates if _has_words(line)), default=0.0)
    is_larger = bool(lines) and size >= _LARGER * median(line.size for line in lines)
    found: list[_SpanLine] = []
    for line in candidates:
        fits = _is_of(line, size) if is_larger else line.text.isupper() and " " in line.text
        fits = fits and (_has_words(line) or bool(found))
        if found and not (fits and line.top - found[-1].top < _NEXT_LINE * found[0].size):
            break
        if fits:
            found.append(line)
    title = " ".join(_EDGES.sub("", line.text) for line in found)
    return title if title and len(found) <= _MAX_LINES and len(title) <= _MAX_CHARACTERS else None


def _has_words(line: _SpanLine) -> bool:
    return len(_letters(line.text)) >= _FEWEST_LETTERS


def _unstamped(lines: list[_SpanLine]) -> Iterator[_SpanLine]:
    """Yield the lines except those of stamps, which may have several lines in one size."""
    stamp: _SpanLine | None = None
    for line in lines:
        if _STAMP.search(line.text) or (
            stamp and _is_of(line, stamp.size) and line.top - stamp.top < _NEXT_LINE * stamp.size
        ):
            stamp = line
        else:
            stamp = None
            yield line


def _is_of(line: _SpanLine, size: float) -> bool:
    return abs(line.size - size) <= _SAME_SIZE * size
