"""Extract the links of a document and the names of places in it: choose the syntax by the format, and find the lines.

Modules of rare syntaxes are imported when they are needed, because most workers never use them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from io import StringIO
from itertools import accumulate, islice
from operator import itemgetter

from gnod.ingest.links import markdown, properties
from gnod.ingest.links.finding import addresses
from gnod.ingest.links.targets import LinkTarget, WrittenLink, target_of
from gnod.ingest.text.frontmatter import Frontmatter
from gnod.ingest.text.outline import Outline
from gnod.store.link_names import label_key
from gnod.store.tables.records import Link
from gnod.types import LineMap, canonical_line, source_line

MOST_LINKS = 200_000

SOURCES = frozenset({"text/org", "text/x-rst", "text/asciidoc"})
MARKDOWN = "text/markdown"
_IN_MARKDOWN = frozenset({MARKDOWN, "application/x-ipynb+json"})
_WITHOUT_LINKS = ("text/x-", "application/json", "application/yaml", "application/toml", "text/csv", "text/tab-")


def extract(
    text: str, source: str | None, *, mime: str, path: str, head: Frontmatter, structure: Outline, lost: LineMap
) -> tuple[list[Link], list[str]]:
    """Return the links of a document, and the names of places in it (see `link_names`). `text`: the canonical text;
    `source`: the text from which it was translated line by line, with the line map `lost`."""
    if source is not None and mime in SOURCES:
        found, labels = found_in_source(source, mime)
        return _located_in_source(text, _links(found, path), source, lost), labels
    return _located(text, _links(found_in_text(text, mime, head, structure), path), lost), []


def found_in_source(source: str, mime: str) -> tuple[Iterator[WrittenLink], list[str]]:
    if mime == "text/org":
        from gnod.ingest.links import org

        return org.find(source), [label_key("id", each) for each in org.ids(source)]
    if mime == "text/x-rst":
        from gnod.ingest.links import rst

        return rst.find(source), [label_key("ref", each) for each in rst.labels(source)]
    from gnod.ingest.links import asciidoc

    return asciidoc.find(source), []


def found_in_text(text: str, mime: str, head: Frontmatter, structure: Outline) -> Iterator[WrittenLink]:
    if mime in _IN_MARKDOWN:
        yield from properties.find(text, head.metadata, head.body_start)
        yield from markdown.find(text, [(0, head.body_start), *markdown.fenced(text, structure)])
    elif mime == "text/html":
        yield from markdown.find(text, markdown.fenced(text, structure), wiki=False)
    elif not mime.startswith(_WITHOUT_LINKS):
        yield from addresses(text)


def _links(found: Iterator[WrittenLink], path: str) -> list[tuple[WrittenLink, LinkTarget]]:
    """Return the links with their targets, sorted by position."""
    links = [(each, target) for each in islice(found, MOST_LINKS) if (target := target_of(each, path))]
    return sorted(links, key=itemgetter(0))


def _located(text: str, links: list[tuple[WrittenLink, LinkTarget]], lost: LineMap) -> list[Link]:
    located = []
    line, at = 1, 0
    for found, target in links:
        line += text.count("\n", at, found.start)
        at = found.start
        located.append(_link(found, target, source_line(lost, line), found.start, found.end))
    return located


def _located_in_source(
    text: str, links: list[tuple[WrittenLink, LinkTarget]], source: str, lost: LineMap
) -> list[Link]:
    """Return the links with the ranges of their lines in the canonical text; empty if it lacks the line."""
    if not links:
        return []
    source_starts, starts = _line_starts(source), _line_starts(text)
    located = []
    for found, target in links:
        of_source = bisect_right(source_starts, found.start)
        line = min(canonical_line(lost, of_source), len(starts) - 1)
        is_kept = source_line(lost, line) == of_source
        start = starts[line - 1]
        located.append(_link(found, target, of_source, start, starts[line] - 1 if is_kept else start))
    return located


def _link(found: WrittenLink, target: LinkTarget, line: int, start: int, end: int) -> Link:
    return Link(found.kind, found.target, target.key, target.reach, target.fragment, line, start, end)


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(map(len, StringIO(text, newline="\n")))]
