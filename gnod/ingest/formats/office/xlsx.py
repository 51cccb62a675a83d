"""Converts workbooks (xlsx): the displayed cells, notes, charts, text boxes, headers and defined names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from gnod.ingest.formats.office import drawings
from gnod.ingest.formats.office.number_format import LOCAL_DATES, number
from gnod.ingest.formats.office.package import Package, unescaped
from gnod.ingest.formats.office.sheets import Cells, Sheet, definition, from_sheets, header_text
from gnod.ingest.formats.office.xml_events import Attributes, XmlEvents
from gnod.ingest.reading.converter import Converter, FileContent, zip_with
from gnod.ingest.reading.result import Converted

_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_NUMBER = re.compile(r"[0-9]{1,9}")
_MOST_COLUMNS = 16_384
_HEADERS = ("x:oddHeader", "x:evenHeader", "x:firstHeader", "x:oddFooter", "x:evenFooter", "x:firstFooter")


def _read(content: FileContent) -> Converted:
    package = Package(content, "xl/workbook.xml")
    return package.finished(from_sheets(_Book(package).sheets(), content.max_characters, "xlsx"))


class _Book:
    """The shared data of the sheets."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._relations = package.relations(package.start)
        self._contents = package.elements(package.start, "x:workbookPr", "x:sheet", "x:definedName")
        strings = _Strings()
        for part in package.related(package.start, "sharedStrings"):
            package.read(part, strings)
        self._strings = strings.found
        from_1904 = any(found.get("date1904") in ("1", "true") for _, found, _ in self._contents)
        self._cells = Cells(list(_codes(package)), from_1904)

    def sheets(self) -> Iterator[Sheet]:
        sheets = [found for kind, found, _ in self._contents if kind == "x:sheet"]
        for at, sheet in enumerate(sheets):
            if found := self._relations.get(sheet.get("r:id", "")):
                name, events = sheet.get("name", ""), _Rows(self._strings, self._cells)
                beside = partial(self._beside, name, found.target, events, is_first=at == 0)
                is_hidden = sheet.get("state", "visible") != "visible"
                yield Sheet(name, self._rows(found.target, events), is_hidden, beside)

    def _rows(self, part: str, events: _Rows) -> Iterator[tuple[int, list[str]]]:
        for _ in self._package.stream(part, events):
            yield from events.taken()
        yield from events.taken(is_end=True)

    def _beside(self, sheet: str, part: str, events: _Rows, *, is_first: bool) -> Iterator[str]:
        yield from events.headers
        threads = self._remarks(part, "threadedComment")
        yield from threads.values()
        yield from (text for cell, text in self._remarks(part, "comments").items() if cell not in threads)
        for drawing in self._package.related(part, "drawing"):
            yield from drawings.lines(self._package, drawing)
            yield from drawings.beside(self._package, drawing)
        yield from drawings.pictures(self._package, part)
        for kind, found, texts in self._contents:
            if kind == "x:definedName" and found.get("hidden") not in ("1", "true"):
                yield definition(found.get("name", ""), "".join(texts), sheet, is_first)

    def _remarks(self, part: str, kind: str) -> dict[str, str]:
        found: defaultdict[str, str] = defaultdict(str)
        for cell, text in self._package.remarks(part, kind):
            found[cell] = f"{found[cell]}\n{text}".strip()
        return found


class _Strings(XmlEvents):
    """The texts that cells share. Phonetic readings of Japanese text are left out."""

    def __init__(self) -> None:
        super().__init__({"x:si": self._begin}, {}, ["x:rPh"], on_text={"x:t": self._add})
        self.found: list[str] = []

    def _begin(self, _: Attributes) -> None:
        self.found.append("")

    def _add(self, text: str) -> None:
        if self.found:
            self.found[-1] += unescaped(text)


def _codes(package: Package) -> Iterator[str]:
    from xlrd.formatting import std_format_strings  # type: ignore[import-untyped]

    formats = {str(number): code for number, code in {**std_format_strings, **LOCAL_DATES}.items()}
    are_cells = False
    for part in package.related(package.start, "styles"):
        for name, found, _ in package.elements(part, "x:numFmt", "x:cellXfs", "x:cellStyles", "x:dxfs", "x:xf"):
            if name == "x:numFmt":
                formats[found.get("numFmtId", "")] = found.get("formatCode", "")
            elif name != "x:xf":
                are_cells = name == "x:cellXfs"
            elif are_cells:
                yield formats.get(found.get("numFmtId", ""), "")


class _Rows(XmlEvents):
    """The rows of one sheet so far, and the headers and footers of its pages."""

    def __init__(self, strings: list[str], cells: Cells) -> None:
        texts = {"x:f": self._take_formula, "x:v": self._take_value, "x:t": self._add_text}
        super().__init__(
            {"x:row": self._begin_row, "x:c": self._begin_cell},
            {"x:c": self._end_cell},
            ["x:rPh", "x:extLst"],
            on_text=texts | dict.fromkeys(_HEADERS, self._add_header),
        )
        self.headers: list[str] = []
        self._strings = strings
        self._cells = cells
        self._rows: list[tuple[int, list[str]]] = []
        self._number = 0
        self._kind = self._style = self._formula = self._value = ""
        self._at = 0

    def taken(self, *, is_end: bool = False) -> list[tuple[int, list[str]]]:
        """Return the rows that are complete, with their numbers."""
        left = [] if is_end else self._rows[-1:]
        found, self._rows = self._rows[: len(self._rows) - len(left)], left
        return found

    def _begin_row(self, found: Attributes) -> None:
        self._number = int(found["r"]) if _NUMBER.fullmatch(found.get("r", "")) else self._number + 1
        self._rows.append((self._number, []))
        self._at = 0

    def _begin_cell(self, found: Attributes) -> None:
        self._kind = found.get("t", "n")
        self._style = found.get("s", "")
        self._formula = self._value = ""
        reference = _REFERENCE.fullmatch(found.get("r", ""))
        self._at = _column(reference[1]) if reference else self._at + 1

    def _take_formula(self, text: str) -> None:
        self._formula = text

    def _take_value(self, text: str) -> None:
        self._value = text

    def _add_text(self, text: str) -> None:
        self._value += unescaped(text)

    def _end_cell(self) -> None:
        text = self._shown()
        if text and self._rows and self._at <= _MOST_COLUMNS:
            _, row = self._rows[-1]
            row += [""] * (self._at - len(row))
            row[self._at - 1] = text

    def _shown(self) -> str:
        value = self._value
        match self._kind:
            case "s":
                at = int(value) if _NUMBER.fullmatch(value) else len(self._strings)
                return self._cells.shown(self._strings[at], self._style) if at < len(self._strings) else ""
            case "b":
                return "FALSE" if value == "0" else "TRUE"
            case "n" if (found := number(value)) is not None:
                return self._cells.shown(found, self._style)
            case "d":
                return self._cells.iso(value, self._style)
            case "str" | "inlineStr":
                return self._cells.shown(unescaped(value), self._style)
        # Programs that do not calculate omit the result.
        return value or (f"={self._formula}" if self._formula else "")

    def _add_header(self, written: str) -> None:
        if (text := header_text(written)) and text not in self.headers:
            self.headers.append(text)


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


XLSX = Converter(
    label="a workbook",
    mime="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    extensions="xlsx xlsm xltx xltm",
    signature=zip_with("xl/workbook.xml"),
    read=_read,
    headings=True,
    location="sheet",
    remark="displayed values, without commas between thousands, dates also as 2026-05-04; hidden sheets are read and"
    " marked; with notes, charts, headers and defined names",
)
