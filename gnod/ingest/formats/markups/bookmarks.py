"""Translates bookmarks that a browser exported. Folders become headings; each bookmark is a line with link and tags."""

from __future__ import annotations

import html
import re

import msgspec

from gnod.ingest.formats.markups.line_by_line import Translation, markup

_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*<!DOCTYPE NETSCAPE-Bookmark-file", re.I)
# Each alternative ends at the next mark, which bounds backtracking.
_PART = re.compile(
    r"<(?P<list>/?)DL\b|<H[1-6][^<>]*>(?P<folder>[^<]*)|<A\s(?P<attributes>[^<>]*)>(?P<title>[^<]*)|<DD>(?P<note>[^<]*)",
    re.I,
)
_ADDRESS = re.compile(r"\bHREF=\"(https?:[^\"]*)\"", re.I)
_TAGS = re.compile(r"\bTAGS=\"([^\"]+)\"", re.I)


def _translate(to: Translation) -> None:
    depth = 0
    for at, line in enumerate(to.source):
        parts: list[str] = []
        for found in _PART.finditer(line):
            if found["list"] is not None:
                depth = max(0, depth + (-1 if found["list"] else 1))
            elif found["folder"] is not None:
                parts.append(f"{'#' * min(depth + 1, 6)} {html.unescape(found['folder']).strip()}")
            elif found["title"] is not None:
                parts.append(_bookmark(found["title"], found["attributes"]))
            else:
                parts.append(html.unescape(found["note"]).strip())
        to.lines[at] = " ".join(part for part in parts if part)


def _bookmark(title: str, attributes: str) -> str:
    address, tags = _ADDRESS.search(attributes), _TAGS.search(attributes)
    title = html.unescape(title).strip()
    link = f"[{title}]({html.unescape(address[1])})" if address else title
    return f"- {link}" + (f" ({html.unescape(tags[1])})" if tags else "")


BOOKMARKS = msgspec.structs.replace(
    markup("bookmarks", "text/html", "", "bookmarks/1", _translate),
    signature=lambda content: bool(_FIRST.match(content.head)),
    remark="a web page that a browser exported",
)
