"""OpenDocument files (LibreOffice): texts, sheets, slides and drawings.

odfpy has had no release since 2020 and builds a tree of the whole file. This reads its XML once, in expat: without a
tree, whatever the depth, and without entities.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from xml.parsers import expat

import msgspec

from gnod.ingest.formats.office import embedded
from gnod.ingest.formats.office.openxml import member_text
from gnod.ingest.formats.office.sheets import Sheet, from_sheets
from gnod.ingest.formats.table import markdown_table
from gnod.ingest.reading.converter import Converter, FileContent, Test, password_protected
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted, too_long
from gnod.ingest.reading.unpacking import check_unpacked, unpack
from gnod.locations import Kind

_MIME = "application/vnd.oasis.opendocument."
_SMALL_MEMBER = 64 * 1024
_PROPERTY = re.compile(r"<(dc:title|dc:creator|meta:initial-creator|meta:creation-date)>([^<]+)<")
_FLAT = re.compile(rb"<office:document\s[^<>]*office:mimetype=\"application/vnd\.oasis\.opendocument\.(\w+)\"")
_LOCATIONS: dict[str, Kind] = {"spreadsheet": "sheet", "presentation": "slide", "graphics": "page"}
_MOST_COLUMNS = 16_384
_MOST_ROWS = 1_048_576
# Deleted text, text generated from headings, numbers of notes, comments, forms, pictures.
_HIDDEN = frozenset(
    [
        "text:tracked-changes",
        "text:table-of-content",
        "text:alphabetical-index",
        "text:note-citation",
        "office:annotation",
        "office:forms",
        "office:binary-data",
        "table:covered-table-cell",
    ]
)
_NAMESPACE = re.compile(r".*[:/](\w+)(?::1\.0|/1\.1/?)?\Z")
Attributes = dict[str, str]


@cache
def _short(name: str) -> str:
    """Return `text:p` for the name that expat gives: the address of the namespace, a space, and `p`."""
    namespace, _, local = name.rpartition(" ")
    found = _NAMESPACE.match(namespace)
    return f"{found[1] if found else ''}:{local}"


class _Table:
    """The rows of a table so far. `pending`: empty rows, which count only if another row follows."""

    def __init__(self) -> None:
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
        while self.row and not self.row[-1]:
            self.row.pop()
        repeat = min(self.repeat_row, _MOST_ROWS - len(self.rows) - self._pending)
        if self.row:
            self.rows += [[]] * self._pending + [self.row] * repeat
            self._pending = 0
        else:
            self._pending += repeat
        self.row = []


class _OpenDocumentReader:
    """Collects the text of `content.xml`. `pages` and `sheets` have the parts of a presentation and of a workbook;
    `text` is what lies outside of them. `pictures`: what was recognised in pictures, by the name of the member."""

    def __init__(self, max_characters: int, pictures: Mapping[str, str]) -> None:
        self._pictures = pictures
        self.sheets: list[Sheet] = []
        self.pages: list[str] = []
        self._out: list[str] = []
        self._paragraphs: list[list[str]] = []
        self._tables: list[_Table] = []
        self._items: list[bool] = []  # for each open list, whether its item already has a mark
        self._links: list[str] = []
        self._hidden = 0
        self._notes = 0
        self._level = 0
        self._in_title = False
        self._is_workbook = False
        self._after_item = False
        self._before_notes = 0
        self._titles = {"Title"}
        self._left = self._max_characters = max_characters
        self._on_start: dict[str, Callable[[Attributes], None]] = {
            "office:spreadsheet": self._begin_workbook,
            "style:style": self._style,
            "text:p": self._begin_paragraph,
            "text:h": self._begin_paragraph,
            "text:s": lambda found: self._characters(" " * min(_number(found.get("text:c")), 100)),
            "text:tab": lambda _: self._characters("\t"),
            "text:line-break": lambda _: self._write("\n"),
            "text:a": self._begin_link,
            "text:list": lambda _: self._items.append(False),
            "text:list-item": lambda _: self._begin_item(),
            "text:note-body": lambda _: self._change_notes(1),
            "table:table": self._begin_table,
            "table:table-row": self._begin_row,
            "table:table-cell": self._begin_cell,
            "drawing:frame": self._begin_frame,
            "drawing:image": self._picture,
            "presentation:notes": lambda _: self._begin_notes(),
        }
        self._on_end: dict[str, Callable[[], None]] = {
            "text:p": self._end_paragraph,
            "text:h": self._end_paragraph,
            "text:a": self._end_link,
            "text:list": self._end_list,
            "text:note-body": lambda: self._change_notes(-1),
            "table:table": self._end_table,
            "table:table-row": self._end_row,
            "table:table-cell": self._end_cell,
            "drawing:frame": self._end_frame,
            "presentation:notes": self._end_notes,
            "drawing:page": self._end_page,
        }

    def read(self, xml: bytes) -> None:
        """Raises expat.ExpatError, and ConversionFailed (too_long, corrupt)."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse_entities
        parser.Parse(xml, True)

    @property
    def text(self) -> str:
        return "".join(self._out).strip("\n")

    def _start(self, name: str, attributes: Attributes) -> None:
        name = _short(name)
        if self._hidden or name in _HIDDEN:
            self._hidden += 1
            if name == "table:covered-table-cell" and self._hidden == 1 and self._tables:
                self._tables[-1].row.append("")
        elif begin := self._on_start.get(name):
            begin({_short(key): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif end := self._on_end.get(_short(name)):
            end()

    def _characters(self, text: str) -> None:
        if not self._hidden:
            self._write(text.replace("\n", " "))

    def _write(self, text: str) -> None:
        if self._paragraphs:
            self._left -= len(text)
            if self._left < 0:
                raise too_long(self._max_characters)
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
        lines = (" ".join(line.split()) for line in "".join(self._paragraphs.pop()).split("\n"))
        text = "\n".join(line for line in lines if line)
        level, self._level = self._level, 0
        if not text:
            return
        if self._notes and self._paragraphs:
            self._paragraphs[-1].append(f" ({text})")
        elif self._tables:
            self._tables[-1].cell.append(text)
        elif level:
            self._block(f"{'#' * level} {' '.join(text.split())}")
        else:
            self._block(text)

    def _block(self, text: str) -> None:
        is_item = bool(self._items) and not text.startswith("#")
        if is_item:
            margin = "  " * (min(len(self._items), 20) - 1)
            text = f"{margin}{'  ' if self._items[-1] else '- '}{text}"
            self._items[-1] = True
        self._out += ["\n" if is_item and self._after_item else "\n\n", text]
        self._after_item = is_item

    def _begin_item(self) -> None:
        if self._items:
            self._items[-1] = False

    def _end_list(self) -> None:
        if self._items:
            self._items.pop()

    def _begin_link(self, found: Attributes) -> None:
        address = found.get("xlink:href", "")
        self._links.append(address if "://" in address else "")
        if self._links[-1]:
            self._write("[")

    def _end_link(self) -> None:
        if self._links and (address := self._links.pop()):
            self._write(f"]({address})")

    def _change_notes(self, by: int) -> None:
        self._notes += by

    # ---- tables

    def _begin_workbook(self, _: Attributes) -> None:
        self._is_workbook = True

    def _begin_table(self, found: Attributes) -> None:
        self._tables.append(_Table())
        if self._is_workbook and len(self._tables) == 1:
            self.sheets.append((found.get("table:name", ""), self._tables[-1].rows))

    def _begin_row(self, found: Attributes) -> None:
        if self._tables:
            self._tables[-1].repeat_row = _number(found.get("table:number-rows-repeated"))

    def _begin_cell(self, found: Attributes) -> None:
        if not self._tables:
            return
        table = self._tables[-1]
        table.repeat_cell = _number(found.get("table:number-columns-repeated"))
        names = ("office:date-value", "office:time-value", "office:string-value", "office:value")
        table.value = next((found[name] for name in names if name in found), "")

    def _end_cell(self) -> None:
        if self._tables:
            self._tables[-1].end_cell()

    def _end_row(self) -> None:
        if self._tables:
            self._tables[-1].end_row()

    def _end_table(self) -> None:
        table = self._tables.pop()
        if self._tables:  # this is a table in a cell
            self._tables[-1].cell += [" ".join(row) for row in table.rows if row]
        elif not self._is_workbook and (text := markdown_table(table.rows, self._max_characters).markdown):
            self._out += ["\n\n", text]
            self._after_item = False

    # ---- pictures and slides

    def _picture(self, found: Attributes) -> None:
        text = self._pictures.get(found.get("xlink:href", "").removeprefix("./"))
        if not text:
            return
        self._left -= len(text)
        if self._left < 0:
            raise too_long(self._max_characters)
        if self._tables:
            self._tables[-1].cell.append(text)
        else:
            self._block(text)

    def _begin_frame(self, found: Attributes) -> None:
        self._in_title = found.get("presentation:class") == "title"

    def _end_frame(self) -> None:
        self._in_title = False

    def _begin_notes(self) -> None:
        self._before_notes = len(self._out)
        self._block("### Notes:")

    def _end_notes(self) -> None:
        if len(self._out) == self._before_notes + 2:  # they have only their heading
            del self._out[self._before_notes :]

    def _end_page(self) -> None:
        self.pages.append(self.text)
        self._out.clear()


def _refuse_entities(*_: object) -> None:
    raise ConversionFailed("corrupt", "The file is not a proper OpenDocument file: it declares entities.")


def _number(text: str | None) -> int:
    """Return a positive number; 1 if there is none."""
    return max(1, int(text)) if text and text.isascii() and text.isdigit() and len(text) < 10 else 1


def _read(content: FileContent, kind: Kind | None) -> Converted:
    members = {member.filename: member for member in check_unpacked(content)}
    if "encryption-data" in member_text(content.data, "META-INF/manifest.xml"):
        raise password_protected()
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        xml = unpack(archive, members["content.xml"], content)
    return _with_properties(_text(xml, kind, content), member_text(content.data, "meta.xml", _SMALL_MEMBER))


def _read_flat(content: FileContent) -> Converted:
    """Read a file in which everything is one XML text."""
    found = _FLAT.search(content.head)
    kind = _LOCATIONS.get(found[1].decode()) if found else None
    properties = content.data[:_SMALL_MEMBER].decode("utf-8", "replace")
    return _with_properties(_text(content.data, kind, content), properties)


def _text(xml: bytes, kind: Kind | None, content: FileContent) -> Converted:
    reader = _OpenDocumentReader(content.max_characters, embedded.texts(content))
    try:
        reader.read(xml)
    except expat.ExpatError as error:
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: its text cannot be read.") from error
    return _assembled(reader, kind, content.max_characters)


def _assembled(reader: _OpenDocumentReader, kind: Kind | None, max_characters: int) -> Converted:
    if kind is None:
        return Converted(markdown=reader.text, converter="odt/1")
    if kind == "sheet":
        return from_sheets(reader.sheets, max_characters, "ods")
    pages = Parts(kind, max_characters)
    for number, text in enumerate(reader.pages, start=1):
        pages.add(text, number)
    return Converted(markdown=pages.markdown, converter="odp/1", locations=pages.locations)


def _with_properties(converted: Converted, text: str) -> Converted:
    found = {name: " ".join(html.unescape(value).split()) for name, value in _PROPERTY.findall(text)}
    named = {"author": found.get("meta:initial-creator") or found.get("dc:creator")}
    named["date"] = found.get("meta:creation-date")
    metadata: dict[str, object] = {key: value for key, value in named.items() if value}
    return msgspec.structs.replace(converted, title=found.get("dc:title") or None, metadata=metadata)


def _is(kind: str) -> Test:
    """Recognise a file by its member `mimetype`, which templates have with a suffix."""

    def test(content: FileContent) -> bool:
        if not content.is_zip or not (content.zip_members or set()) >= {"mimetype", "content.xml"}:
            return False
        found = member_text(content.data, "mimetype", 200).strip()
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
