"""Writes workbooks of all formats: a table for each sheet, row by row, with the displayed values of cells."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gnod.ingest.formats.office.number_format import date_of, general, number_format
from gnod.ingest.formats.table import numbered_table
from gnod.ingest.reading.converter import password_protected
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.versions import versioned

# Programs generate these names, also for copies (`Sheet1 (2)`). They do not describe a sheet.
_NO_NAME = re.compile(
    r"(?:(?:Work)?sheet|(?:(?:Work)?sheet|Chart|Tabelle|Diagramm|Feuil|Graph|Hoja|Foglio|Planilha|Plan|Folha|Blad|Ark"
    r"|Arkusz|List|Munka|Munkalap|Sayfa|Taulukko|Лист|Аркуш|Φύλλο|シート|工作表|시트) ?\d{1,3})(?: ?\(\d+\)|_\d+)?",
    re.I,
)
# Fonts, sizes and fields in the text of a header: `&"Arial,Bold"&12Costs &P`, or `&[Page]`.
_HEADER_CODE = re.compile(r'&(?:"[^"]*"|\[[^\]]*\]|\d+|K(?:[0-9A-F]{6}|\d\d[+-]\d{3})|[A-Z])', re.I)
_HEADER_PARTS = re.compile(r"&[LCR]")
_PAGE_NUMBER = re.compile(r"&(?:P|\[Page\])", re.I)
_DIGITS = re.compile(r"\d*\.?\d+")
_SHEET_NAME = re.compile(r"=?(?:'(?P<quoted>(?:[^']|'')+)'|(?P<plain>[^\s'(!]+))!")
_CONSTANT = re.compile(r'-?[\d.]+%?|"[^"]+"')


class Sheet(NamedTuple):
    """`rows`: displayed cells, with row numbers. `beside`: further text of the sheet, read after the rows."""

    name: str
    rows: Iterable[tuple[int, list[str]]]
    is_hidden: bool = False
    beside: Callable[[], Iterable[str]] = tuple


class Cells:
    """Formats the values of cells. `codes`: format codes by style number."""

    def __init__(self, codes: Sequence[str], from_1904: bool) -> None:
        self._from_1904 = from_1904
        self._formats = {
            str(at): number_format(code, from_1904) for at, code in enumerate(codes) if code not in ("", "General", "@")
        }

    def shown(self, value: float | str, style: str) -> str:
        """Return a value as its cell shows it, without commas between thousands. Details that the format hides follow:
        the other digits of a number, and a date in ISO 8601."""
        found = self._formats.get(style)
        text = found.shown(value).strip() if found else general(value).strip()
        if isinstance(value, str) or not found or not text:
            return text
        if found.is_date:
            more = self._iso(value) if found.is_day else ""
        else:
            more = "" if _shows_all(text, value) else _whole(value, is_percent="%" in text)
        return f"{text} ({more})" if more and more not in text else text

    def _iso(self, value: float) -> str:
        date = date_of(value, from_1904=self._from_1904)
        return date.date().isoformat() if date else ""

    def iso(self, value: str, style: str) -> str:
        """Return an ISO 8601 date of the file as its cell shows it."""
        try:
            date = dt.datetime.fromisoformat(value).replace(tzinfo=None)
        except ValueError:
            return value
        base = dt.datetime(1904, 1, 1) if self._from_1904 else dt.datetime(1899, 12, 30)
        return self.shown((date - base) / dt.timedelta(days=1), style) if style in self._formats else value


def _shows_all(text: str, value: float) -> bool:
    """Tell whether a text contains all digits of a number."""
    digits = _DIGITS.search(text)
    if not digits or "E" in text:
        return False
    shown = float(digits[0]) / (100 if "%" in text else 1)
    return math.isclose(shown, abs(value), rel_tol=1e-13)


def _whole(value: float, *, is_percent: bool) -> str:
    return f"{general(value * 100)}%" if is_percent else general(value)


def from_sheets(sheets: Iterable[Sheet], max_characters: int, extension: str) -> Converted:
    """Write a table for each sheet below the name of the sheet. Raises ConversionFailed."""
    parts = Parts("sheet", max_characters)
    try:
        for sheet in sheets:
            table, places = numbered_table(sheet.rows, parts.left)
            heading = _heading(sheet)
            above = f"{heading}\n\n" if heading else ""
            below = "\n\n".join(filter(None, sheet.beside()))
            if table:
                start = above.count("\n")
                rows = [(line + start, row) for line, row in places]
                parts.add(above + table, sheet.name, rows)
                parts.add(below, sheet.name)
            elif below:
                parts.add(above + below, sheet.name)
    except (MemoryError, ConversionFailed):
        raise
    except Exception as error:  # xlrd raises any exception for a damaged file
        raise unreadable(error, f".{extension} file") from error
    return Converted(markdown=parts.markdown, converter=versioned(extension), locations=parts.locations)


def unreadable(error: Exception, label: str) -> ConversionFailed:
    """Return the error for an exception of a library."""
    if "encrypted" in str(error).lower():
        return password_protected()
    return ConversionFailed("corrupt", f"The {label} is damaged: its sheets cannot be read.")


def definition(name: str, value: str, sheet: str, is_first: bool) -> str:
    """Return a defined name that refers to cells of the sheet; on the first sheet, also a constant with its value."""
    if name.startswith("_") or "#REF!" in value:
        return ""
    found = _SHEET_NAME.match(value)
    if found:
        owner = (found["quoted"] or found["plain"]).replace("''", "'")
        return name if owner == sheet else ""
    return f"{name} = {value}" if is_first and _CONSTANT.fullmatch(value) else ""


def header_text(text: str) -> str:
    """Return the text of a header or footer, without page numbers ("Page 1 of 9")."""
    return " ".join(filter(None, map(_part_of_header, _HEADER_PARTS.split(text.replace("&&", "\0")))))


def _part_of_header(text: str) -> str:
    words = _HEADER_CODE.sub(" ", text).replace("\0", "&").split()
    return "" if len(words) <= 2 and _PAGE_NUMBER.search(text) else " ".join(words)


def _heading(sheet: Sheet) -> str:
    if sheet.is_hidden:
        return f"## {sheet.name} (hidden)"
    return "" if _NO_NAME.fullmatch(sheet.name) else f"## {sheet.name}"
