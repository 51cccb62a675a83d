"""Provide common functions for all syntaxes of links: hide parts of a text, and find web addresses. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from gnod.ingest.links.targets import MAX_TARGET, WrittenLink

HIDDEN = "\0"  # canonical text never contains it
# A pattern that begins with a literal is much faster.
_REST = re.compile(rf"://[^\s<>\"`\0|\\^{{}}]{{1,{MAX_TARGET}}}")
_SCHEME = re.compile(r"(?<![A-Za-z0-9])(?:https?|ftp)\Z", re.I)
_TRAILING = "?!.,:*_~'\";”’»"
_PAIRS = {")": "(", "]": "["}


def masked(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return the text with HIDDEN in these ranges. A range of whole lines keeps its last line end.

    >>> masked("ab `c` d", [(3, 6)]).replace(HIDDEN, "*")
    'ab *** d'
    """
    parts: list[str] = []
    at = 0
    for start, end in sorted(ranges):
        if end <= max(at, start):
            continue
        start = max(start, at)
        parts += [text[at:start], HIDDEN * (end - start - 1), "\n" if text[end - 1] == "\n" else HIDDEN]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def in_turn(text: str, *syntaxes: Callable[[str], Iterator[WrittenLink]]) -> Iterator[WrittenLink]:
    """Yield the links of several syntaxes. Each one searches only the text that the previous ones have left."""
    for syntax in syntaxes:
        found = list(syntax(text))
        yield from found
        text = masked(text, ((each.start, each.end) for each in found))


def addresses(text: str) -> Iterator[WrittenLink]:
    """Yield the addresses of a plain text, `https://…`, as GitHub recognises them (GFM 6.9)."""
    if "://" not in text:
        return
    for match in _REST.finditer(text):
        scheme = _SCHEME.search(text, max(match.start() - 5, 0), match.start())
        if scheme and (rest := _trimmed(match[0])) != "://":
            yield WrittenLink(scheme.start(), match.start() + len(rest), "url", scheme[0] + rest)


def _trimmed(url: str) -> str:
    """Remove punctuation after an address, and a closing bracket that is not opened in it."""
    end = len(url)
    while end:
        last = url[end - 1]
        opening = _PAIRS.get(last)
        if last not in _TRAILING and (opening is None or url.count(last, 0, end) <= url.count(opening, 0, end)):
            break
        end -= 1
    return url[:end]
