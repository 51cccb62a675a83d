"""Converts workbooks of Excel 97 to 2003 and earlier (xls). xlrd reads the cells; this module reads the records that
xlrd skips: text boxes, titles of charts, headers and footers."""

from __future__ import annotations

import os
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from gnod.ingest.formats.office.blocks import without_blanks
from gnod.ingest.formats.office.number_format import LOCAL_DATES, number_format
from gnod.ingest.formats.office.ole import Streams, decrypted
from gnod.ingest.formats.office.package import remark
from gnod.ingest.formats.office.sheets import Cells, Sheet, definition, from_sheets, header_text, unreadable
from gnod.ingest.reading.converter import Converter, FileContent, ole_with, starts_with
from gnod.ingest.reading.result import Converted

if TYPE_CHECKING:
    import xlrd  # type: ignore[import-untyped]

_VERSIONS = (b"\x00\x05", b"\x00\x06")
_BOF, _CHART, _LABELS = 0x809, b"\x20\0", (0x04, 0x204)
_HEADER, _FOOTER, _CONTINUE, _BOUND_SHEET, _TEXT_OBJECT, _SERIES_TEXT = 0x14, 0x15, 0x3C, 0x85, 0x1B6, 0x100D
_OBJECTS, _UNKNOWN = (0x1C, 0x5D, _TEXT_OBJECT), 0xFFFF
_FILE_PASS, _FIRST_RECORDS = 0x2F, 20


def _read(content: FileContent) -> Converted:
    streams = Streams(content) if _is_ole_workbook(content) else None
    data = streams.read("Workbook", "Book") if streams else content.data
    if streams and any(kind == _FILE_PASS for _, kind, _ in islice(_records(data), _FIRST_RECORDS)):
        plain = msgspec.structs.replace(content, data=decrypted(content))
        data = Streams(plain).read("Workbook", "Book")
    book = _OldBook(_with_known_version(data), content)
    converted = from_sheets(book.sheets(), content.max_characters, "xls")
    if book.unread:
        damaged = f"The file is damaged: {', '.join(book.unread)} cannot be read."
        converted = msgspec.structs.replace(converted, left_out={"corrupt": damaged})
    return streams.finished(converted) if streams else converted


def _with_known_version(data: bytes) -> bytes:
    """Return a workbook with a version that xlrd knows: some programs write others, with records of version 5."""
    is_odd = data.startswith(b"\x09\x08") and data[4:6] not in _VERSIONS
    return data[:4] + _VERSIONS[0] + data[6:] if is_odd else data


def _opened(data: bytes, content: FileContent, *, with_formats: bool) -> xlrd.Book:
    import xlrd

    with open(os.devnull, "w") as silence:  # noqa: PTH123 - xlrd prints warnings
        try:
            return xlrd.open_workbook(file_contents=data, logfile=silence, on_demand=True, formatting_info=with_formats)
        except MemoryError:
            raise
        except Exception as error:  # xlrd raises any exception for a damaged file
            raise unreadable(error, content.label) from error


class _OldBook:
    """The workbook as xlrd reads it. `unread`: names of the parts that cannot be read."""

    def __init__(self, data: bytes, content: FileContent) -> None:
        self.unread: list[str] = []
        self._data = data
        self._content = content
        self._book = book = _opened(data, content, with_formats=True)
        formats = {key: format_.format_str for key, format_ in book.format_map.items()} | LOCAL_DATES
        codes = [formats.get(xf.format_key, "") for xf in book.xf_list]
        self._cells = Cells(codes, book.datemode == 1)
        self._texts = _texts_beside(data, has_flags=book.biff_version >= 80)

    def sheets(self) -> Iterator[Sheet]:
        for at, name in enumerate(self._book.sheet_names()):
            sheet = self._sheet(at)
            if sheet is None:
                self.unread.append(f"the sheet {name[:100]}")
                continue
            beside = partial(self._beside, sheet, self._texts.pop(name, {}), is_first=at == 0)
            yield Sheet(name, self._rows(sheet), sheet.visibility > 0, beside)
        yield from (Sheet(name, (), False, partial(iter, texts)) for name, texts in self._texts.items())

    @cached_property
    def _plain(self) -> xlrd.Book:
        return _opened(_without_objects(self._data), self._content, with_formats=False)

    def _sheet(self, at: int) -> Any:
        """Return a sheet; if that fails, try again without the records that xlrd does not need for cells."""
        for is_first in (True, False):
            try:
                return (self._book if is_first else self._plain).sheet_by_index(at)
            except MemoryError:
                raise
            except Exception:  # as above
                continue
        return None

    def _rows(self, sheet: Any) -> Iterator[tuple[int, list[str]]]:
        for at in range(sheet.nrows):
            yield at + 1, without_blanks([self._shown(cell) for cell in sheet.row(at)])

    def _shown(self, cell: Any) -> str:
        import xlrd

        match cell.ctype:
            case 1:
                return self._cells.shown(str(cell.value), str(cell.xf_index))
            case 3 if cell.xf_index is None:
                return number_format(LOCAL_DATES[14], self._book.datemode == 1).shown(float(cell.value))
            case 2 | 3:
                return self._cells.shown(float(cell.value), str(cell.xf_index))
            case 4:
                return "TRUE" if cell.value else "FALSE"
            case 5:
                return str(xlrd.error_text_from_code.get(cell.value, ""))
        return ""

    def _beside(self, sheet: Any, texts: Iterable[str], *, is_first: bool) -> Iterator[str]:
        notes = [_one_line(note.text) for _, note in sorted(sheet.cell_note_map.items())]
        yield from (text for text in texts if text not in notes)
        yield from (remark("", note) for note in notes if note)
        for name in self._book.name_obj_list:
            if not name.hidden and not name.builtin:
                value = getattr(name.result, "text", "") or ""
                if text := definition(name.name, value, sheet.name, is_first):
                    yield text


def _texts_beside(data: bytes, *, has_flags: bool) -> dict[str, dict[str, None]]:
    """Return the texts that xlrd skips, without repetitions, by sheet name. `has_flags`: a flag of each text shows
    whether its characters have two bytes."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    names: dict[int, str] = {}
    sheet = ""
    before = 0
    in_chart = False
    for at, kind, record in _records(data):
        sheet = names.get(at, sheet)
        text = ""
        if kind == _BOF:
            in_chart = record[2:4] == _CHART
        elif kind == _BOUND_SHEET:
            names[int.from_bytes(record[:4], "little")] = _string(record[7:], has_flags)
        elif kind in (_HEADER, _FOOTER):
            text = header_text(_string(record[2 if has_flags else 1 :], has_flags))
        elif kind == _SERIES_TEXT:
            text = _string(record[3:], has_flags)
        elif kind in _LABELS and in_chart:
            text = _string(record[8:], has_flags)
        elif kind == _CONTINUE and before == _TEXT_OBJECT:
            text = _string(record, has_flags)
        if text := _one_line(text):
            found[sheet][text] = None
        before = kind
    return found


def _without_objects(data: bytes) -> bytes:
    """Return a workbook in which the records of shapes, notes and their texts have an unknown kind."""
    left = bytearray(data)
    for at, kind, _ in _records(data):
        if kind in _OBJECTS:
            struct.pack_into("<H", left, at, _UNKNOWN)
    return bytes(left)


def _records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        kind, size = struct.unpack_from("<HH", data, at)
        yield at, kind, data[at + 4 : at + 4 + size]
        at += 4 + size


def _string(data: bytes, has_flag: bool) -> str:
    if not has_flag:
        return data.decode("cp1252", "replace")
    return data[1:].decode("utf-16-le" if data[:1] == b"\1" else "latin-1", "replace")


def _one_line(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())


def _is_xls(content: FileContent) -> bool:
    return _is_biff(content) or _is_ole_workbook(content)


# BIFF 2, 3 and 4 are older than OLE.
_is_biff = starts_with(b"\x09\x00\x04\x00\x07\x00", b"\x09\x02\x06\x00\x00\x00", b"\x09\x04\x06\x00\x00\x00")
_is_ole_workbook = ole_with("Workbook", "Book")

XLS = Converter(
    label="a workbook from before 2007",
    mime="application/vnd.ms-excel",
    shared_extensions="xls xlt",  # web sites give this name to HTML and to tab-separated text
    signature=_is_xls,
    read=_read,
    headings=True,
    location="sheet",
    remark="like newer workbooks",
)
