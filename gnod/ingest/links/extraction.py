"""The links of a document, and what others may call it: chooses the syntax by the format, and finds the lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gnod.ingest.frontmatter import Metadata
from gnod.ingest.links import asciidoc, markdown, org, properties, rst, urls
from gnod.ingest.links.masking import masked
from gnod.ingest.links.targets import Found, target_of
from gnod.store.documents.link_names import label_key
from gnod.store.documents.records import Link
from gnod.types import LineMap, canonical_line

MOST_LINKS = 200_000

_LINE = re.compile(r"\n")
_SOURCES = {"text/org": org.find, "text/x-rst": rst.find, "text/asciidoc": asciidoc.find}
_MARKDOWN = frozenset({"text/markdown", "application/x-ipynb+json"})
_WITHOUT_LINKS = ("text/x-", "application/json", "application/yaml", "application/toml", "text/csv", "text/tab-")


class Extracted(NamedTuple):
    """`aliases` and `labels`: names of the document and of places in it, see `link_names`."""

    links: list[Link]
    aliases: list[str]
    labels: list[str]


def extract(
    text: str, source: str | None, *, mime: str, path: str, metadata: Metadata, body_start: int, lost: LineMap
) -> Extracted:
    """Return the links of a document. `text` is canonical; `source`: what it was translated from, line by line, with
    `lost` as its line map."""
    aliases = properties.names(metadata) if mime in _MARKDOWN else []
    if source is not None and mime in _SOURCES:
        links = _located_in_source(text, _links(_SOURCES[mime](source), path), source, lost)
        labels = [label_key("ref", each) for each in rst.labels(source)] if mime == "text/x-rst" else []
        if mime == "text/org":
            aliases = org.aliases(source)
            labels = [label_key("id", each) for each in org.ids(source)]
        return Extracted(links, aliases, labels)
    found = _found(text, mime, metadata, body_start)
    return Extracted(_located(text, _links(found, path)), aliases, [])


def _found(text: str, mime: str, metadata: Metadata, body_start: int) -> Iterator[Found]:
    if mime in _MARKDOWN:
        yield from properties.find(text, metadata, body_start)
        yield from markdown.find(masked(text, [(0, body_start)]))
    elif mime == "text/html":
        yield from markdown.find(text, wiki=False)
    elif not mime.startswith(_WITHOUT_LINKS):
        yield from urls.find(text)


def _links(found: Iterator[Found], path: str) -> list[tuple[Found, Link]]:
    """Return the links in the order of their places, each with its line still to be found."""
    links = []
    for each in islice(found, MOST_LINKS):
        if target := target_of(each, path):
            link = Link(each.kind, each.target, target.key, target.reach, target.fragment, 0, each.start, each.end)
            links.append((each, link))
    return sorted(links, key=lambda pair: pair[0][:2])


def _located(text: str, links: list[tuple[Found, Link]]) -> list[Link]:
    if not links:
        return []
    starts = _line_starts(text)
    return [_at(link, bisect_right(starts, found.start), found.start, found.end) for found, link in links]


def _located_in_source(text: str, links: list[tuple[Found, Link]], source: str, lost: LineMap) -> list[Link]:
    """Return the links with the lines of the canonical text, of which each is a place as a whole."""
    if not links:
        return []
    source_starts, starts = _line_starts(source), _line_starts(text)
    located = []
    for found, link in links:
        line = min(canonical_line(lost, bisect_right(source_starts, found.start)), len(starts) - 1)
        located.append(_at(link, line, starts[line - 1], starts[line] - 1))
    return located


def _at(link: Link, line: int, start: int, end: int) -> Link:
    return Link(link.kind, link.target, link.key, link.reach, link.fragment, line, start, end)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in _LINE.finditer(text))]
