"""Find the headings and code fences of a text, in the markup that it is written in. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$", re.MULTILINE)
_ATX = re.compile(r"^ {0,3}(?P<mark>#{1,6})[ \t]+(?P<text>.*)$", re.MULTILINE)
_ASCIIDOC = re.compile(r"^(?P<mark>={1,6})[ \t]+(?P<text>\S.*)$", re.MULTILINE)
_ORG = re.compile(r"^(?P<mark>\*{1,6})[ \t]+(?P<text>\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<text>[^\s=].*)\n(?P<mark>={3,})$", re.MULTILINE)
_RST_UNDERLINED = re.compile(r"^(?P<text>\S.*)\n(?P<mark>([=\-~^\"'`*+#])\3{2,})$", re.MULTILINE)

# Every passage below has it in what is embedded.
MAX_CHARACTERS = 1000

_MARKUP_OF_MIME = {"text/x-rst": "rst", "text/x-asciidoc": "asciidoc", "text/x-org": "org"}


class Heading(NamedTuple):
    """`start` is where its line starts; level 1 is the highest."""

    start: int
    level: int
    text: str


class Outline(NamedTuple):
    """Headings in order, outside fences; fences as ranges from opening to closing line."""

    headings: list[Heading]
    fences: list[tuple[int, int]]


def outline(text: str, markup: str = "markdown", start: int = 0) -> Outline:
    """Return the outline of a canonical text; headings before `start` (the frontmatter) do not count."""
    if markup == "plain":
        return Outline([], [])
    if markup == "rst":
        return Outline(_underlined_by_first_use(text), [])
    fences, open_fence = _fences(text)
    headings = [h for h in _marked(text, markup, open_fence) if h.start >= start]
    starts = [fence[0] for fence in fences]
    return Outline([h for h in headings if not _in_fence(h.start, starts, fences)], fences)


def markup_of(mime: str, converter: str) -> str:
    """Return markdown, rst, asciidoc, org or plain. What was converted, was converted to Markdown.

    >>> markup_of("application/pdf", "markitdown/0.1.8"), markup_of("text/x-python", "code/1")
    ('markdown', 'plain')
    """
    if mime in _MARKUP_OF_MIME:
        return _MARKUP_OF_MIME[mime]
    return "plain" if converter.partition("/")[0] in ("text", "code") else "markdown"


def title_heading(headings: list[Heading]) -> str | None:
    """Return the text of the first heading of the highest level present."""
    named = [heading for heading in headings if heading.text]
    return min(named, key=lambda heading: heading.level).text if named else None


def _marked(text: str, markup: str, end: int) -> list[Heading]:
    pattern = {"asciidoc": _ASCIIDOC, "org": _ORG}.get(markup, _ATX)
    closing = "#" if pattern is _ATX else ""
    found = [
        Heading(m.start(), len(m["mark"]), m["text"].rstrip(closing).strip()[:MAX_CHARACTERS])
        for m in pattern.finditer(text, 0, end)
    ]
    if markup == "markdown":
        found += [Heading(m.start(), 1, m["text"].strip()[:MAX_CHARACTERS]) for m in _UNDERLINED.finditer(text, 0, end)]
        found.sort()
    return found


def _underlined_by_first_use(text: str) -> list[Heading]:
    """reStructuredText gives its underline characters levels in the order in which they first appear."""
    levels: dict[str, int] = {}
    headings = []
    for match in _RST_UNDERLINED.finditer(text):
        if len(match["mark"]) >= len(match["text"].rstrip()) and not _is_rule(match["text"]):
            level = levels.setdefault(match["mark"][0], len(levels) + 1)
            headings.append(Heading(match.start(), level, match["text"].strip()[:MAX_CHARACTERS]))
    return headings


def _is_rule(line: str) -> bool:
    return not any(c.isalnum() for c in line)


def _fences(text: str) -> tuple[list[tuple[int, int]], int]:
    """Return the closed fences, and where one opens that never closes (else the text's end): after it, nothing is
    a heading."""
    fences = []
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            if "`" not in match[2]:
                opened = match
        elif match[1].startswith(opened[1]) and not match[2].strip():
            fences.append((opened.start(), min(match.end() + 1, len(text))))
            opened = None
    return fences, opened.start() if opened else len(text)


def _in_fence(place: int, starts: list[int], fences: list[tuple[int, int]]) -> bool:
    before = bisect_right(starts, place) - 1
    return before >= 0 and place < fences[before][1]
