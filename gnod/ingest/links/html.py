"""Links of HTML, including HTML inside Markdown: `<a href>` and `<img src>`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gnod.ingest.links.targets import WrittenLink

_TAG = re.compile(
    r"<(?P<tag>a|img)\s(?:[^<>]{0,1000}?\s)?(?:href|src)\s*=\s*"
    r"(?:\"(?P<double>[^\"<>]{1,2000})\"|'(?P<single>[^'<>]{1,2000})'|(?P<bare>[^\s\"'<>=`]{1,2000}))[^<>]{0,1000}>",
    re.I,
)


def find(text: str) -> Iterator[WrittenLink]:
    if "<" not in text:
        return
    for match in _TAG.finditer(text):
        kind = "image" if match["tag"].lower() == "img" else "html"
        group = match.lastgroup or ""
        yield WrittenLink(*match.span(), kind, match[group], place=match.start(group))
