"""Choose the form in which a document is shown, and render one part of it as HTML. Rows of a table are not parsed as
Markdown."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Literal

import msgspec

from gnoctl.web.rendering import bases, code, embeds, markdown, parts, properties
from gnoctl.web.rendering.embeds import EmbeddedNote
from gnoctl.web.rendering.links import PageLinks, links_of
from gnoctl.web.rendering.parts import DocumentPart
from gnoctl.web.rendering.sanitising import Inserts, sanitised
from gnod.protocol.documents import DocumentEntry, DocumentText
from gnod.protocol.links import DocumentLink
from gnod.types import canonical_line, is_translated, source_line

if TYPE_CHECKING:
    from pygments.lexer import Lexer


Kind = Literal["markdown", "code", "text", "table", "notebook", "pages", "image"]

_MAX_OUTLINE = 20_000
_ROW_CHARACTERS = 90
_KINDS: dict[str, Kind] = {
    "text": "text",
    "table": "table",
    "ipynb": "notebook",
    "pdf": "pages",
    "image": "image",
    "code": "code",
    "xml": "code",
}
_MARKUP = re.compile(r"[*_`]+|!?\[([^\]]*)\]\([^)]*\)")
_DEFINITION = re.compile(r" {0,3}\[(\^?[^\[\]\n]{1,200})\]:")
_LABEL = re.compile(r"\[(\^?[^\[\]\n]{1,200})\]")
_MOST_DEFINED = 200
_NOTES = ("markdown", "ipynb")
_CONVERSATION = "application/x-conversation"
_BAR = re.compile(r"(?<!\\)\|")
_MAX_CELL = 2_000


class OutlineEntry(msgspec.Struct, frozen=True, kw_only=True):
    level: int
    title: str
    line: int


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """Lines `start` to `end` of a document.

    The other fields describe the whole document. `parts`: the first line of each part, and its estimated number of
    rows.
    """

    kind: Kind
    html: str
    start: int = msgspec.field(name="from")
    end: int = msgspec.field(name="to")
    parts: list[tuple[int, int]] = []
    outline: list[OutlineEntry] = []
    pages: int | None = None
    page_lines: list[int] | None = None


class Rendering:
    """Renders one complete `document` with its locations. `listed`: the documents of its collection, for a base."""

    def __init__(self, document: DocumentText, listed: Sequence[DocumentEntry] = ()) -> None:
        self.document = msgspec.structs.replace(document, text="")
        self._lines = document.text.removesuffix("\n").split("\n")
        self._lexer: Lexer | None = None
        self.kind = _kind(document.converter)
        if self.kind in ("code", "text"):
            self._lexer = code.lexer_of_file(document.path.rpartition("/")[2])
            self.kind = "code" if self._lexer else self.kind
        self.is_paged = self.kind in ("pages", "image")
        self._is_markdown = self.kind in ("markdown", "notebook", "pages", "image")
        is_note = document.converter.startswith(_NOTES)
        self._syntax: markdown.Syntax = (
            "notes" if is_note else "conversation" if document.mime == _CONVERSATION else "plain"
        )
        self.is_linked = self._is_markdown and "[" in document.text
        """Whether the document may have links to other documents."""
        is_base = document.path.lower().endswith(bases.EXTENSION)
        self._tables = bases.tables(document.text, listed, this=document.path) if is_base else None

    def lines_at(self, line: int) -> tuple[int, int]:
        """Return the first and the last line of the part that contains a line of the source."""
        part = self._part(line)
        return self._number(part.start), self._number(part.end - 1)

    def part_at(
        self,
        line: int,
        links: Sequence[DocumentLink] = (),
        embedded: Mapping[str, EmbeddedNote] | None = None,
        *,
        alone: bool = False,
        has_html: bool = True,
    ) -> Rendered:
        """Return the part that contains a line of the source. `links`: the document's links into the index; `embedded`:
        the notes that the part embeds, by the text of the embed. `alone`: without the fields that describe the whole
        document. `has_html`: false for a document that is shown as pages."""
        part = self._part(line)
        html = self._tables or self._html(part, self._links(links, embedded or {})) if has_html else ""
        rendered = Rendered(
            kind="markdown" if self._tables else self.kind,
            html=html,
            start=self._number(part.start),
            end=self._number(part.end - 1),
        )
        return rendered if alone else msgspec.structs.replace(rendered, **self._whole)

    @cached_property
    def _whole(self) -> dict[str, object]:
        pages = [(page, location.line) for location in self.document.locations if (page := location.location.page)]
        return {
            "parts": [(self._number(part.start), self._rows(part)) for part in self._parts],
            "outline": self._outline(),
            "pages": pages[-1][0] if pages else 1 if self.is_paged else None,
            "page_lines": _page_lines(pages) if pages else None,
        }

    def _rows(self, part: DocumentPart) -> int:
        """Return about how many rows a part takes on the screen."""
        lines = self._lines[part.start : part.end]
        return sum(1 + min(len(line), code.SHOWN_OF_LINE) // _ROW_CHARACTERS for line in lines)

    def _part(self, line: int) -> DocumentPart:
        wanted = min(max(canonical_line(self.document.line_map, line), 1), len(self._lines)) - 1
        return self._parts[bisect_right(self._parts, wanted, key=lambda part: part.start) - 1]

    def _links(self, links: Sequence[DocumentLink], embedded: Mapping[str, EmbeddedNote]) -> PageLinks:
        path = self.document.path
        return links_of(self.document.collection, path, links, embeds.boxes(embedded, path))

    @cached_property
    def _parts(self) -> list[DocumentPart]:
        if self._tables:
            return [DocumentPart(0, len(self._lines))]
        return list(parts.split(self._lines, markdown=self._is_markdown))

    def _html(self, part: DocumentPart, links: PageLinks) -> str:
        if self._is_markdown:
            inserts = Inserts()
            return inserts.inserted(sanitised(self._markdown(part, links, inserts), links))
        lines, numbers = self._lines[part.start : part.end], self._numbers(part.start, part.end)
        if self.kind == "table":
            has_head = part.start == 0
            head = self._lines[0] if len(self._lines) > 1 else None
            skip = 2 if has_head and head is not None else 0
            return _table(head, lines[skip:], numbers[skip:], numbers[0] if has_head else None)
        return code.numbered(self._coloured(part), numbers, self.kind)

    def _coloured(self, part: DocumentPart) -> list[str]:
        """Colours depend on the text above, so a text that is not too long is coloured from its beginning."""
        above = self._lines[: part.end]
        if self._lexer is not None and sum(map(len, above)) <= code.MAX_CHARACTERS:
            return code.coloured(above, self._lexer)[part.start :]
        return code.coloured(self._lines[part.start : part.end], self._lexer)

    def _markdown(self, part: DocumentPart, links: PageLinks, inserts: Inserts) -> str:
        """Render the text between two locations separately, below the name of the first location."""
        out, lead = [], part.lead
        start = part.start
        if start == 0 and (end := embeds.frontmatter_end(self._lines)):
            out.append(inserts.put(self._frontmatter(end, links)))
            start = min(end, part.end)
        for location in self.document.locations:
            at, where = location.line - 1, location.location
            if start <= at < part.end and (where.page or where.slide or where.cell):
                out.append(self._segment(start, at, lead, links, inserts))
                out.append(f'<p class="place" data-line="{location.line}">{where.label}</p>')
                start, lead = at, ()
        out.append(self._segment(start, part.end, lead, links, inserts))
        return "".join(out)

    def _frontmatter(self, end: int, links: PageLinks) -> str:
        if self.document.metadata:
            return properties.table(self.document.metadata, self._lines[:end], self._numbers(0, end), links)
        coloured = code.coloured(self._lines[:end], code.lexer_of_language("yaml"))
        return code.numbered(coloured, self._numbers(0, end), "code")

    def _segment(self, start: int, end: int, lead: Sequence[str], links: PageLinks, inserts: Inserts) -> str:
        text = "\n".join([*lead, *self._lines[start:end]])
        if markdown.is_too_much(text):
            return code.numbered(
                [code.plain(line) for line in self._lines[start:end]], self._numbers(start, end), "text"
            )
        defined = self._defined_elsewhere(text)

        def line_of(line: int) -> int:
            return self._number(min(start + max(line - len(lead), 0), max(end - 1, 0)))

        return markdown.render("\n".join([text, *defined]), line_of, links, inserts, self._syntax)

    def _defined_elsewhere(self, text: str) -> list[str]:
        """Return the definitions of footnotes and addresses that a part of a long document uses but does not
        contain."""
        if len(self._parts) == 1:
            return []
        here = {match[1] for line in text.split("\n") if (match := _DEFINITION.match(line))}
        wanted = [
            label for label in dict.fromkeys(_LABEL.findall(text)) if label in self._definitions and label not in here
        ]
        return ["", *(self._definitions[label] for label in wanted[:_MOST_DEFINED])] if wanted else []

    @cached_property
    def _definitions(self) -> dict[str, str]:
        return {match[1]: line for line in reversed(self._lines) if (match := _DEFINITION.match(line))}

    def _outline(self) -> list[OutlineEntry]:
        if not self._is_markdown:
            return []
        found = [
            OutlineEntry(level=level, title=_MARKUP.sub(r"\1", title), line=self._number(line))
            for line, level, title in islice(parts.headings(self._lines), _MAX_OUTLINE)
        ]
        return found or [
            OutlineEntry(level=1, title=location.location.label, line=location.line)
            for location in self.document.locations[:_MAX_OUTLINE]
            if not location.location.page
        ]

    def _number(self, line: int) -> int:
        """Return the line of the source, from 1, for a line of the text, from 0."""
        return source_line(self.document.line_map, line + 1)

    def _numbers(self, start: int, end: int) -> list[int]:
        return [self._number(line) for line in range(start, end)]


def _kind(converter: str) -> Kind:
    return "code" if is_translated(converter) else _KINDS.get(converter.partition("/")[0], "markdown")


def _page_lines(starts: Sequence[tuple[int, int]]) -> list[int]:
    """Return the first line of each page. A page without text gets the line of the next page."""
    lines: list[int] = []
    for page, line in starts:
        lines += [line] * (page - len(lines))
    return lines


def _table(head: str | None, rows: Sequence[str], numbers: Sequence[int], head_line: int | None = None) -> str:
    """Return rows of Markdown, one per line, with their line numbers, under the `head`, which has a number unless it is
    repeated."""
    body = "".join(_row(row, "td", number) for row, number in zip(rows, numbers, strict=True))
    top = "" if head is None else f"<thead>{_row(head, 'th', head_line)}</thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _row(row: str, tag: str, number: int | None = None) -> str:
    line = "" if number is None else f' data-line="{number}"'
    cells = _BAR.split(row.strip().removeprefix("|").removesuffix("|"))
    return f"<tr{line}>{''.join(f'<{tag}>{_text(cell)}</{tag}>' for cell in cells)}</tr>"


def _text(cell: str) -> str:
    cell = cell.strip().replace("\\|", "|")
    return escape(cell if len(cell) <= _MAX_CELL else cell[:_MAX_CELL] + "…")
