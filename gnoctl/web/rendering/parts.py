"""Cut long texts into parts that are rendered one by one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# A part ends at the first good place after this many lines or characters, and at any place after twice as many.
PART_LINES = 400
PART_CHARACTERS = 40_000

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_SEPARATOR = re.compile(r"\|[\s:|-]+\|\Z")
_HEADING = re.compile(r" {0,3}(?P<mark>#{1,6})[ \t]+(?P<title>.*)")
_CLOSING = re.compile(r"(?:\A|[ \t])#+\Z")


class DocumentPart(NamedTuple):
    """Lines `start` to `end` (exclusive, from 0). `lead`: earlier lines that these lines need: an open fence, or the
    head of a table."""

    start: int
    end: int
    lead: tuple[str, ...] = ()


class _Fences:
    """Follows the fences of code in Markdown, line by line. `opening`: the line of the open one."""

    def __init__(self) -> None:
        self.opening: str | None = None
        self._mark = ""

    def take(self, line: str) -> bool:
        """Return whether the line is a part of a fence."""
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if self.opening is None:
            if match is None or (match["mark"][0] == "`" and "`" in match["info"]):
                return False
            self.opening, self._mark = line, match["mark"]
        elif match is not None and match["mark"].startswith(self._mark) and not match["info"].strip():
            self.opening = None
        return True


def split(lines: Sequence[str], *, markdown: bool) -> Iterator[DocumentPart]:
    """Yield the parts of a text. The result is always the same for the same text."""
    fences = _Fences()
    start, characters = 0, 0
    lead: tuple[str, ...] = ()
    for number, line in enumerate(lines):
        # Note the fence that is open before this line: a new part continues it.
        fullness = max((number - start) / PART_LINES, characters / PART_CHARACTERS)
        if fullness >= 1 and (fullness >= 2 or _is_good_end(lines, number, fences, markdown=markdown)):
            yield DocumentPart(start, number, lead)
            start, characters = number, 0
            lead = _lead(lines, number, fences) if markdown else ()
        characters += len(line) + 1
        if markdown:
            fences.take(line)
    if start < len(lines) or not lines:
        yield DocumentPart(start, len(lines), lead)


def headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the line of each heading, from 0, its level (1 is the highest), and its title."""
    fences = _Fences()
    for number, line in enumerate(lines):
        if not fences.take(line) and line.lstrip(" ").startswith("#") and (match := _HEADING.match(line)):
            yield number, len(match["mark"]), _CLOSING.sub("", match["title"].strip()).rstrip()


def _is_good_end(lines: Sequence[str], number: int, fences: _Fences, *, markdown: bool) -> bool:
    """Return whether a new block begins at a line."""
    if not markdown:
        return True
    return fences.opening is None and not lines[number - 1].strip() and not lines[number].startswith((" ", "\t"))


def _lead(lines: Sequence[str], number: int, fences: _Fences) -> tuple[str, ...]:
    if fences.opening is not None:
        return (fences.opening,)
    first = number
    while first > 0 and lines[first - 1].startswith("|"):
        first -= 1
    is_table = lines[number].startswith("|") and first + 1 < number and _SEPARATOR.match(lines[first + 1])
    return tuple(lines[first : first + 2]) if is_table else ()
