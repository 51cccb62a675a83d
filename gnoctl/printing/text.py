"""Make text from documents safe for a terminal, and make it fit. Pure.

A document may contain escape sequences that retitle, recolour or type into the terminal, and bidirectional overrides
that change how text reads. Each such character is replaced by exactly one visible character, so character offsets (the
marks of a snippet) stay correct.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ELLIPSIS = "…"

_REPLACEMENT = "\ufffd"
_UNSAFE: dict[int, str] = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),
    **dict.fromkeys((0x2028, 0x2029), " "),
    **dict.fromkeys(range(0x202A, 0x202F), _REPLACEMENT),
    **dict.fromkeys(range(0x2066, 0x206A), _REPLACEMENT),
}
_BLOCK = {code: char for code, char in _UNSAFE.items() if code not in (0x09, 0x0A)}
_LINE = {**_UNSAFE, 0x09: " ", 0x0A: " "}


def line(text: str) -> str:
    """Return `text` as one safe line of the same length; tabs and line ends become spaces.

    >>> line("a\\tb\\x1b[31m")
    'a b␛[31m'
    """
    return text.translate(_LINE)


def block(text: str) -> str:
    """Return `text` safe and of the same length, with its lines and tabs."""
    return text.translate(_BLOCK)


def escaped(json: str) -> str:
    """Return JSON without characters that control a terminal: JSON does not require escapes for DEL, C1 and
    bidirectional overrides."""
    return re.sub("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]", lambda match: f"\\u{ord(match[0]):04x}", json)


def is_safe(text: str) -> bool:
    return text.translate(_BLOCK) == text


def cells(text: str) -> int:
    """Return how many cells `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def clip(text: str, width: int) -> str:
    """Cut `text` at the end to `width` cells.

    >>> clip("日本語の文書", 7)
    '日本語…'
    """
    if cells(text) <= width:
        return text
    return text[: _fitting(text, width - 1)] + ELLIPSIS if width > 0 else ""


def clip_start(text: str, width: int) -> str:
    """Cut `text` at its beginning to `width` cells, for paths, whose end is more important."""
    if cells(text) <= width:
        return text
    turned = text[::-1]
    return ELLIPSIS + turned[: _fitting(turned, width - 1)][::-1] if width > 0 else ""


def pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * max(0, width - cells(text))
    return space + text if right else text + space


def pieces(text: str, start: int, end: int, marks: Iterable[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """Yield the parts of `text[start:end]`, each with a flag: whether it is in one of the ranges in `marks`.

    >>> list(pieces("a blue boat", 2, 9, [(7, 11), (0, 1)]))
    [('blue ', False), ('bo', True), ('', False)]
    """
    for mark_start, mark_end in sorted(marks):
        begin, stop = max(start, mark_start), min(end, mark_end)
        if begin < stop:
            yield text[start:begin], False
            yield text[begin:stop], True
            start = stop
    yield text[start:end], False


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Return the lines of `text`, each at most `width` cells wide, as ranges of it.

    Lines break at spaces if there are any, otherwise anywhere (Chinese and Japanese have none). The spaces at a break
    are left out; blank lines are dropped.
    """
    lines = []
    for match in re.finditer(r"[^\n]+", text):
        lines += _wrap_line(text, match.start(), match.end(), width)
    return lines


def _wrap_line(text: str, start: int, end: int, width: int) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    while True:
        while start < end and text[start].isspace():
            start += 1
        if start == end:
            return lines
        stop = start + max(1, _fitting(text[start:end], width))
        if stop < end and not text[stop].isspace():
            space = text.rfind(" ", start, stop)
            # A break that would leave most of the line empty is worse than one inside a word.
            if space - start > (stop - start) // 3:
                stop = space
        lines.append((start, start + len(text[start:stop].rstrip())))
        start = stop


def _fitting(text: str, width: int) -> int:
    """Return how many characters of `text` fit in `width` cells."""
    taken = 0
    for at, char in enumerate(text):
        taken += _cell(char)
        if taken > width:
            return at
    return len(text)


def _cell(char: str) -> int:
    if char < "\u0300":
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
