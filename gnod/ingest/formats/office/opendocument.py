"""Converts OpenDocument files (LibreOffice): texts, sheets, slides and drawings.

odfpy has had no release since 2020 and builds a tree of the whole file. This module streams the parts instead.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from functools import partial
from xml.parsers import expat

import msgspec

from gnod.ingest.formats.office.blocks import Blocks, trimmed, without_blanks
from gnod.ingest.formats.office.package import Package, recognised, remark, with_properties
from gnod.ingest.formats.office.sheets import Sheet, from_sheets
from gnod.ingest.formats.office.xml_events import Attributes, XmlEvents
from gnod.ingest.formats.table import markdown_table
from gnod.ingest.reading.converter import Converter, FileContent, Test, password_protected
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.unpacking import UNREADABLE_MEMBER
from gnod.locations import Kind

_MIME = "application/vnd.oasis.opendocument."
_FLAT = re.compile(rb"<office:document\s[^<>]*office:mimetype=\"application/vnd\.oasis\.opendocument\.(\w+)\"")
_LOCATIONS: dict[str, Kind] = {"spreadsheet": "sheet", "presentation": "slide", "graphics": "page"}
_MOST_COLUMNS = 16_384
_MOST_ROWS = 1_048_576
# Deleted text, text generated from headings, numbers of notes, author and date of comments, forms, pictures.
_HIDDEN_ELEMENTS = """
    text:tracked-changes text:table-of-content text:alphabetical-index text:note-citation elements:creator elements:date
    meta:date-string meta:creator-initials office:forms office:binary-data
"""
_HIDDEN = frozenset(_HIDDEN_ELEMENTS.split())


class _Table:
    """The rows of a table so far. `pending`: empty rows, which count only if another row follows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[list[str]] = []
        self.row: list[str] = []
        self.cell: list[str] = []
        self.value = ""
        self.repeat_cell = 1
        self.repeat_row = 1
        self._pending = 0

    def end_cell(self) -> None:
        text = " ".join(self.cell) or self.value
        room = _MOST_COLUMNS - len(self.row)
        self.row += [text] * min(self.repeat_cell, room)
        self.cell = []

    def end_row(self) -> None:
        self.row = without_blanks(self.row)
        repeat = min(self.repeat_row, _MOST_ROWS - len(self.rows) - self._pending)
        if self.row:
            self.rows += [[]] * self._pending + [self.row] * repeat
            self._pending = 0
        else:
            self._pending += repeat
        self.row = []


class _OpenDocument(XmlEvents):
    """Collects the text of `content.xml`. `pages` and `sheets` have the parts of a presentation and of a workbook;
    `blocks` has everything else. `pictures`: the recognised text of pictures, by the name of the member."""

    def __init__(self, max_characters: int, pictures: Mapping[str, str]) -> None:
        super().__init__(
            {
                "style:style": self._style,
                "text:p": self._begin_paragraph,
                "text:h": self._begin_paragraph,
                "text:s": lambda found: self._write(" " * min(_number(found.get("text:c")), 100)),
                "text:tab": lambda _: self._write("\t"),
                "text:line-break": lambda _: self._write("\n"),
                "text:a": self._begin_link,
                "text:list": lambda _: self._items.append(False),
                "text:list-item": lambda _: self._begin_item(),
                "table:table": lambda found: self._tables.append(_Table(found.get("table:name", ""))),
                "table:table-row": self._begin_row,
                "table:table-cell": self._begin_cell,
                "table:covered-table-cell": lambda _: self._cover_cell(),
                "drawing:frame": self._begin_frame,
                "drawing:image": self._picture,
                "presentation:notes": lambda _: self._begin_notes(),
            },
            {
                "text:p": self._end_paragraph,
                "text:h": self._end_paragraph,
                "text:a": self._end_link,
                "text:list": self._end_list,
                "table:table": self._end_table,
                "table:table-row": lambda: self._table.end_row(),
                "table:table-cell": lambda: self._table.end_cell(),
                "drawing:frame": self._end_frame,
                "presentation:notes": self._end_notes,
                "drawing:page": self._end_page,
            },
            _HIDDEN,
        )
        self.blocks = Blocks(max_characters)
        self.sheets: list[Sheet] = []
        self.pages: list[str] = []
        self._pictures = pictures
        self._max_characters = max_characters
        self._paragraphs: list[list[str]] = []
        self._tables: list[_Table] = []
        self._items: list[bool] = []  # for each open list: whether its item already has a mark
        self._links: list[str] = []
        self._remarks: list[str] = []
        self._level = 0
        self._in_title = False
        self._beside_notes: list[Blocks] = []
        self._titles = {"Title"}

    def converted(self, kind: Kind | None) -> Converted:
        """Return the text, including tables that a damaged file leaves open. Raises ConversionFailed (too_long)."""
        while self._tables:
            self._end_table()
        if kind == "sheet":
            return from_sheets(self.sheets, self._max_characters, "ods")
        if kind is None:
            return Converted(markdown=self.blocks.markdown, converter="odt/1")
        pages = Parts(kind, self._max_characters)
        for number, text in enumerate([*self.pages, self.blocks.markdown], start=1):
            pages.add(text, number)
        return Converted(markdown=pages.markdown, converter="odp/1", locations=pages.locations)

    def _text_comes(self, text: str) -> None:
        if not self._hidden:
            self._write(text.replace("\n", " "))

    def _write(self, text: str) -> None:
        if self._paragraphs:
            self._paragraphs[-1].append(text)

    # ---- paragraphs

    def _style(self, found: Attributes) -> None:
        if found.get("style:parent-style-name") == "Title":
            self._titles.add(found.get("style:name", ""))

    def _begin_paragraph(self, found: Attributes) -> None:
        is_title = self._in_title or found.get("text:style-name") in self._titles
        self._level = min(_number(found["text:outline-level"]), 6) if "text:outline-level" in found else int(is_title)
        self._paragraphs.append([])

    def _end_paragraph(self) -> None:
        text = trimmed("".join(self._paragraphs.pop()))
        if self.inside["office:annotation"]:
            self._remarks += [remark("", text)] if text else []
            return
        level, self._level = self._level, 0
        if text:
            self._end_text(text, level)
        if not self._paragraphs and not self.inside["office:spreadsheet"]:
            for comment in self._taken_remarks():
                self._block(comment)

    def _end_text(self, text: str, level: int) -> None:
        if self.inside["text:note-body"] and self._paragraphs:
            self._write(f" ({text})")
        elif level and not self._tables:
            self.blocks.heading(text, level)
        else:
            self._block(text)

    def _block(self, text: str) -> None:
        if self._tables:
            self._tables[-1].cell.append(text)
        elif self._items:
            self.blocks.item(f"{'  ' if self._items[-1] else '- '}{text}", len(self._items) - 1)
            self._items[-1] = True
        else:
            self.blocks.paragraph(text)

    def _begin_item(self) -> None:
        if self._items:
            self._items[-1] = False

    def _end_list(self) -> None:
        self._items.pop()

    def _begin_link(self, found: Attributes) -> None:
        address = found.get("xlink:href", "")
        self._links.append(address if "://" in address else "")
        if self._links[-1]:
            self._write("[")

    def _end_link(self) -> None:
        if address := self._links.pop():
            self._write(f"]({address})")

    def _taken_remarks(self) -> list[str]:
        found, self._remarks = self._remarks, []
        return found

    # ---- tables

    @property
    def _table(self) -> _Table:
        """The innermost table; for rows and cells outside tables, a table whose content is not used."""
        return self._tables[-1] if self._tables else _Table("")

    def _begin_row(self, found: Attributes) -> None:
        self._table.repeat_row = _number(found.get("table:number-rows-repeated"))

    def _begin_cell(self, found: Attributes) -> None:
        table = self._table
        table.repeat_cell = _number(found.get("table:number-columns-repeated"))
        names = ("office:date-value", "office:time-value", "office:string-value", "office:value")
        table.value = next((found[name] for name in names if name in found), "")

    def _cover_cell(self) -> None:
        self._table.row.append("")
        self.hide()

    def _end_table(self) -> None:
        table = self._tables.pop()
        if self._tables:  # a table in a cell
            self._tables[-1].cell += [" ".join(row) for row in table.rows if row]
        elif self.inside["office:spreadsheet"]:
            self.sheets.append(Sheet(table.name, enumerate(table.rows, start=1), beside=self._taken_remarks().copy))
        elif text := markdown_table(table.rows, self._max_characters):
            self.blocks.paragraph(text)

    # ---- pictures and slides

    def _picture(self, found: Attributes) -> None:
        if text := self._pictures.get(found.get("xlink:href", "").removeprefix("./")):
            self._block(text)

    def _begin_frame(self, found: Attributes) -> None:
        self._in_title = found.get("presentation:class") == "title"

    def _end_frame(self) -> None:
        self._in_title = False

    def _begin_notes(self) -> None:
        self._beside_notes.append(self.blocks)
        self.blocks = Blocks(self._max_characters)

    def _end_notes(self) -> None:
        notes, self.blocks = self.blocks.markdown, self._beside_notes.pop()
        if notes:
            self.blocks.heading("Notes:", 3)
            self.blocks.paragraph(notes)

    def _end_page(self) -> None:
        self.pages.append(self.blocks.markdown)
        self.blocks = Blocks(self._max_characters)


def _number(text: str | None) -> int:
    """Return a positive number; 1 if there is none."""
    return max(1, int(text)) if text and text.isascii() and text.isdigit() and len(text) < 10 else 1


def _read(content: FileContent, kind: Kind | None) -> Converted:
    package = Package(content, "content.xml")
    if b"encryption-data" in package.data("META-INF/manifest.xml"):
        raise password_protected()
    document = _OpenDocument(content.max_characters, recognised(content))
    package.read(package.start, document)
    converted = document.converted(kind)
    if kind is None and (headers := _headers(package)):
        converted = msgspec.structs.replace(converted, markdown=f"{converted.markdown}\n\n{headers}")
    return package.finished(converted, "meta.xml")


def _headers(package: Package) -> str:
    """Return the headers and footers of a text without repetitions: they are the only paragraphs among its styles."""
    styles = _OpenDocument(package.content.max_characters, {})
    package.read("styles.xml", styles)
    return "\n\n".join(dict.fromkeys(styles.blocks.markdown.split("\n\n")))


def _read_flat(content: FileContent) -> Converted:
    """Read a file that is one XML text."""
    found = _FLAT.search(content.head)
    document = _OpenDocument(content.max_characters, {})
    try:
        for _ in document.read([content.data]):
            pass
    except expat.ExpatError as error:
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: its text cannot be read.") from error
    return with_properties(document.converted(_LOCATIONS.get(found[1].decode()) if found else None), content.data)


def _is(kind: str) -> Test:
    """Recognise a file by its member `mimetype`; templates have a suffix there."""

    def test(content: FileContent) -> bool:
        if not content.is_zip or not (content.zip_members or set()) >= {"mimetype", "content.xml"}:
            return False
        try:
            with zipfile.ZipFile(io.BytesIO(content.data)) as archive, archive.open("mimetype") as member:
                found = member.read(200).decode("utf-8", "replace").strip()
        except (*UNREADABLE_MEMBER, KeyError):
            return False
        return found in (_MIME + kind, f"{_MIME}{kind}-template", f"{_MIME}{kind}-master")

    return test


def _opendocument(label: str, kind: str, extensions: str) -> Converter:
    location = _LOCATIONS.get(kind)
    read = partial(_read, kind=location)
    return Converter(
        label=label,
        mime=_MIME + kind,
        extensions=extensions,
        signature=_is(kind),
        read=read,
        headings=True,
        images=True,
        location=location or "",
    )


FORMATS = (
    _opendocument("an OpenDocument text", "text", "odt ott odm"),
    _opendocument("an OpenDocument workbook", "spreadsheet", "ods ots"),
    _opendocument("an OpenDocument presentation", "presentation", "odp otp"),
    _opendocument("an OpenDocument drawing", "graphics", "odg otg"),
)
FLAT = Converter(
    label="a flat OpenDocument file",
    mime=_MIME + "text-flat-xml",
    shared_extensions="fodt fods fodp fodg",
    is_text=True,
    resembles=lambda content: bool(_FLAT.search(content.head)),
    read=_read_flat,
    headings=True,
    remark="sheets, slides and pages as above",
)
