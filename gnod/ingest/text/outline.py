"""Find the headings and code fences of a text. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from gnod.analysis.markup import head_end, without_closing

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_MARKED = re.compile(r"^(?P<line> {0,3}(?P<mark>#{1,6})[ \t]+(?P<text>.*))$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<line>(?P<text>[^\s=].*)\n(?P<mark>={3,}))$", re.MULTILINE)

# These may precede a title: comments, tags, pictures, links and badges, properties, MyST labels, imports.
_ANY_LINK = r"!?\[[^\[\]\n]{0,1000}\]\([^()\n]{0,2000}\)"
_NOT_PROSE = re.compile(
    rf"<!--(?s:.){{0,4000}}?-->|<[^<>]{{1,2000}}>|!?\[\[[^\[\]\n]{{1,1000}}\]\]|\[{_ANY_LINK}\]\([^()\n]{{0,2000}}\)|{_ANY_LINK}"
    r"|(?<!\S)#[^\s#]\S*|^[^:\n]{1,100}::[ ][^\n]*|^\([\w-]{1,100}\)=$|^import [^\n]*",
    re.MULTILINE,
)
_LONGEST_HEAD = 20_000
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MARKS = re.compile(r"(\*\*|__|`)(\S.*?)\1")
# The maximum for a heading, because each chunk below a heading is embedded with it.
MAX_CHARACTERS = 1000

Markup = Literal["markdown", "plain"]
"""The markup decides whether the text has headings and fences."""


class Heading(NamedTuple):
    """`start`: the start of its line. `level`: 1 is the highest."""

    start: int
    level: int
    text: str


class Outline(NamedTuple):
    """The headings outside fences, in order, and the fences as ranges from opening to closing line. `end`: the start of
    an unclosed fence, or the end of the text."""

    headings: list[Heading]
    fences: list[tuple[int, int]]
    end: int


def outline(text: str, markup: Markup = "markdown", start: int = 0) -> Outline:
    """Return the outline of a canonical text, without headings before `start` (in the frontmatter)."""
    if markup == "plain":
        return Outline([], [], len(text))
    closed, end = _fences(text)
    starts = [fence[0] for fence in closed]
    found = (_heading(match) for match in _matches(text, end))
    headings = [each for each in found if each.start >= start and not _in_fence(each.start, starts, closed)]
    return Outline(headings, closed, end)


def title_heading(text: str, headings: list[Heading], start: int = 0) -> str | None:
    """Return the only heading of level 1, if no prose precedes it after `start`. Several such headings are sections."""
    highest = [heading for heading in headings if heading.level == 1 and heading.text]
    if len(highest) != 1 or highest[0].start - start > _LONGEST_HEAD:
        return None
    above = _NOT_PROSE.sub("", text[start : highest[0].start])
    return None if any(map(str.isalnum, above)) else highest[0].text


def plain(heading: str) -> str:
    """Return the displayed text of a heading, without the markup of links and emphasis."""
    return _MARKS.sub(r"\2", _LINK.sub(r"\1", heading))


def paths(headings: Iterable[Heading]) -> Iterator[tuple[Heading, ...]]:
    """Yield the path of each heading: the headings above it, from the highest level, and the heading itself."""
    path: tuple[Heading, ...] = ()
    for heading in headings:
        path = (*(above for above in path if above.level < heading.level), heading)
        yield path


def headings_above(text: str, at: int) -> list[str]:
    """Return the displayed texts of the headings above a place, from the highest level. Includes the heading at the
    place."""
    line_end = text.find("\n", at)
    above = outline(text[:line_end] if line_end >= 0 else text, start=head_end(text)).headings
    *_, path = ((), *paths(above))
    return [plain(each.text) for each in path]


def _heading(match: re.Match[str]) -> Heading:
    is_underlined = match["mark"][0] == "="
    text = match["text"].strip() if is_underlined else without_closing(match["text"])
    return Heading(match.start("line"), 1 if is_underlined else len(match["mark"]), text[:MAX_CHARACTERS])


def _matches(text: str, end: int) -> list[re.Match[str]]:
    """Return the matches of headings, in order."""
    underlined = _UNDERLINED.finditer(text, 0, end) if "===" in text else ()
    return sorted([*_MARKED.finditer(text, 0, end), *underlined], key=lambda match: match.start("line"))


def _fences(text: str) -> tuple[list[tuple[int, int]], int]:
    """Return the closed fences, and the start of an unclosed fence or else the end of the text. No headings follow that
    place."""
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
