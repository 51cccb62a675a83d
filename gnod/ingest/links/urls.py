"""Addresses of the web in plain text: `https://…`, as GitHub recognises them (GFM 6.9)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gnod.ingest.links.targets import MAX_TARGET, WrittenLink

# A pattern that begins with a literal is much faster.
_REST = re.compile(rf"://[^\s<>\"`\0|\\^{{}}]{{1,{MAX_TARGET}}}")
_SCHEME = re.compile(r"(?<![A-Za-z0-9])(?:https?|ftp)\Z", re.I)
_TRAILING = "?!.,:*_~'\";”’»"
_PAIRS = {")": "(", "]": "["}


def find(text: str) -> Iterator[WrittenLink]:
    if "://" not in text:
        return
    for match in _REST.finditer(text):
        scheme = _SCHEME.search(text, max(match.start() - 5, 0), match.start())
        if scheme and (rest := _trimmed(match[0])) != "://":
            yield WrittenLink(scheme.start(), match.start() + len(rest), "url", scheme[0] + rest)


def _trimmed(url: str) -> str:
    """Leave out punctuation behind an address, and a bracket that is not opened in it."""
    end = len(url)
    while end:
        last = url[end - 1]
        opening = _PAIRS.get(last)
        if last not in _TRAILING and (opening is None or url.count(last, 0, end) <= url.count(opening, 0, end)):
            break
        end -= 1
    return url[:end]
