"""Find the headings and code fences of a text. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal, NamedTuple

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_ATX = re.compile(r"^ {0,3}(?P<mark>#{1,6})[ \t]+(?P<text>.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<text>[^\s=].*)\n(?P<mark>={3,})$", re.MULTILINE)

# Each chunk below is embedded with it.
MAX_CHARACTERS = 1000

Markup = Literal["markdown", "plain"]
"""Whether the text has headings and fences."""


class Heading(NamedTuple):
    """`start` is where its line starts; level 1 is the highest."""

    start: int
    level: int
    text: str


class Outline(NamedTuple):
    """Headings in order, outside fences; fences as ranges from opening to closing line. `end`: where a fence begins
    that is never closed, else the end of the text."""

    headings: list[Heading]
    fences: list[tuple[int, int]]
    end: int


def outline(text: str, markup: Markup = "markdown", start: int = 0) -> Outline:
    """Return the outline of a canonical text; headings before `start` (the frontmatter) do not count."""
    if markup == "plain":
        return Outline([], [], len(text))
    closed, end = _fences(text)
    headings = [h for h in _headings(text, end) if h.start >= start]
    starts = [fence[0] for fence in closed]
    return Outline([h for h in headings if not _in_fence(h.start, starts, closed)], closed, end)


def title_heading(headings: list[Heading]) -> str | None:
    """Return the text of the first heading of the highest level present."""
    named = [heading for heading in headings if heading.text]
    return min(named, key=lambda heading: heading.level).text if named else None


def _headings(text: str, end: int) -> list[Heading]:
    headings = [
        Heading(m.start(), len(m["mark"]), m["text"].rstrip("#").strip()[:MAX_CHARACTERS]) for m in _marked(text, end)
    ]
    if "\n===" in text:
        underlined = _UNDERLINED.finditer(text, 0, end)
        headings += [Heading(m.start(), 1, m["text"].strip()[:MAX_CHARACTERS]) for m in underlined]
    return sorted(headings)


def _marked(text: str, end: int) -> Iterator[re.Match[str]]:
    """Yield the headings with `#`. To look only at lines that have one is several times as fast."""
    at = text.find("#", 0, end)
    while at >= 0:
        if match := _ATX.match(text, text.rfind("\n", 0, at) + 1, end):
            yield match
        line_end = text.find("\n", at, end)
        at = text.find("#", line_end, end) if line_end >= 0 else -1


def _fences(text: str) -> tuple[list[tuple[int, int]], int]:
    """Return the closed fences, and the start of a fence that is never closed, or else the text's end. There are no
    headings after it."""
    if "```" not in text and "~~~" not in text:
        return [], len(text)
    closed = []
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            if "`" not in match[2]:
                opened = match
        elif match[1].startswith(opened[1]) and not match[2].strip():
            closed.append((opened.start(), min(match.end() + 1, len(text))))
            opened = None
    return closed, opened.start() if opened else len(text)


def _in_fence(place: int, starts: list[int], fences: list[tuple[int, int]]) -> bool:
    before = bisect_right(starts, place) - 1
    return before >= 0 and place < fences[before][1]
