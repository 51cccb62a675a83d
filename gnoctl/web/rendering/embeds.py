"""Notes that are embedded in others: find the lines that an embed means, and draw the box that shows them. Reads
nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from gnoctl.web.rendering import bases, code, markdown, parts
from gnoctl.web.rendering.links import PageLinks, links_of, uri_of
from gnoctl.web.rendering.sanitising import Inserts, sanitised
from gnod.protocol.documents import DocumentEntry, DocumentText
from gnod.protocol.links import DocumentLink
from gnod.types import canonical_line, source_line

_MOST_LINES = 200  # of an embedded note
_FRONTMATTER_LINES = 100
_EXTENSIONS = (".md", ".markdown", bases.EXTENSION)
_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d{1,9}[.)])\s")


class EmbeddedNote(NamedTuple):
    """An embedded note. `links`: the links in it; `embeds`: the notes that it embeds itself, by the text of the embed;
    `listed`: the documents of its collection, for a base."""

    link: DocumentLink
    document: DocumentText
    links: Sequence[DocumentLink] = ()
    embeds: Mapping[str, EmbeddedNote] = {}
    listed: Sequence[DocumentEntry] = ()


def is_embedded(link: DocumentLink) -> bool:
    """Return whether a link is an embed that a box can show."""
    return link.kind == "embed" and link.to is not None and link.to.lower().endswith(_EXTENSIONS)


def shown_lines(document: DocumentText, link: DocumentLink) -> tuple[int, int]:
    """Return the first and the last line of the source that an embed shows."""
    start, end, _ = _section(_lines(document), document, link)
    return source_line(document.line_map, start + 1), source_line(document.line_map, max(end, 1))


def boxes(embeds: Mapping[str, EmbeddedNote], this: str) -> dict[str, str]:
    """Return the boxes of embedded notes as safe HTML. `this`: the path of the document that embeds them."""
    return {target: _box(note, this) for target, note in embeds.items()}


def _box(note: EmbeddedNote, this: str) -> str:
    document, link = note.document, note.link
    place = link.fragment.strip("#")
    if not link.has_place:
        return f'<p class="embed">{escape(document.title)} has no {escape(place)}.</p>'
    lines = _lines(document)
    start, end, is_cut = _section(lines, document, link)
    links = links_of(document.collection, document.path, note.links, boxes(note.embeds, document.path))
    content = _base(note, this) if document.path.lower().endswith(bases.EXTENSION) else None
    if content is None:
        content = _rendered(lines[start:end], links)
    address = escape(links.address(uri_of(link) or "") or "")
    title = escape(" › ".join([document.title, *filter(None, place.split("#"))]))
    more = f'<p class="more-of"><a href="{address}">The note goes on …</a></p>' if is_cut else ""
    head = f'<p class="embed-title"><a href="{address}">{title}</a></p>'
    return f'<div class="embed" dir="auto">{head}{content}{more}</div>'


def _rendered(lines: Sequence[str], links: PageLinks) -> str:
    text = "\n".join(lines)
    if markdown.is_too_much(text):
        plain = "\n".join(map(code.plain, lines))
        return f"<pre><code>{plain}</code></pre>"
    inserts = Inserts()
    return inserts.inserted(sanitised(markdown.render(text, lambda _: 0, links, inserts), links, is_embedded=True))


def _base(note: EmbeddedNote, this: str) -> str | None:
    return bases.tables(note.document.text, note.listed, this=this, view=note.link.fragment.strip("#"))


def _lines(document: DocumentText) -> list[str]:
    return document.text.removesuffix("\n").split("\n")


def _section(lines: Sequence[str], document: DocumentText, link: DocumentLink) -> tuple[int, int, bool]:
    """Return the first line that an embed shows and the end, from 0, and whether the note continues."""
    if not link.fragment or link.to_line is None:
        start, end = frontmatter_end(lines), len(lines)
    else:
        at = min(canonical_line(document.line_map, link.to_line), len(lines)) - 1
        is_block = link.fragment.strip("#").rpartition("#")[2].startswith("^")
        start, end = _block(lines, at) if is_block else _below_heading(lines, at)
    stop, characters = start, 0
    while stop < min(end, start + _MOST_LINES) and characters < parts.PART_CHARACTERS:
        characters += len(lines[stop])
        stop += 1
    return start, stop, stop < end


def _below_heading(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return the range of a heading with the text below it."""
    levels = {line: level for line, level, _ in parts.headings(lines) if line >= at}
    own = levels.pop(at, 0)
    return at, next((line for line, level in levels.items() if level <= own), len(lines))


def _block(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Return the paragraph or list item whose name is in a line. A name on its own line belongs to the block above."""
    if lines[at].lstrip().startswith("^"):
        at = next((number for number in range(at - 1, -1, -1) if lines[number].strip()), at)
    start = at
    while start > 0 and lines[start - 1].strip() and not _ITEM.match(lines[start]):
        start -= 1
    item = _ITEM.match(lines[start])
    if item is None:
        return start, at + 1
    inner = len(item["indent"]) + 1
    end = next((n for n in range(at + 1, len(lines)) if len(lines[n]) - len(lines[n].lstrip()) < inner), len(lines))
    return start, end


def frontmatter_end(lines: Sequence[str]) -> int:
    """Return the number of lines of the frontmatter."""
    mark = lines[0].rstrip()
    if mark not in ("---", "+++"):
        return 0
    return next((at + 1 for at, line in enumerate(lines[1:_FRONTMATTER_LINES], 1) if line.rstrip() == mark), 0)
