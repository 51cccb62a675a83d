"""Make small Office files: files from before 2007 byte by byte, because no library writes them, and newer ones."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_SECTOR = 512
_LEAST_STREAM = 4096  # smaller streams are stored differently
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def ole(streams: Mapping[str, bytes]) -> bytes:
    """Return an OLE file with these streams, padded with zeros."""
    padded = {name: _filled(data) for name, data in streams.items()}
    entries = [_entry("Root Entry", 5, _END, 0, child=1 if streams else _FREE)]
    table = [_FAT]
    directory_sectors = -(-(len(streams) + 1) // 4)
    table += [*range(2, 1 + directory_sectors), _END]
    for number, (name, data) in enumerate(padded.items(), start=1):
        start, sectors = len(table), len(data) // _SECTOR
        table += [*range(start + 1, start + sectors), _END]
        entries.append(_entry(name, 2, start, len(data), right=number + 1 if number < len(padded) else _FREE))
    assert len(table) <= _SECTOR // 4, "the whole table fits into one sector"
    directory = b"".join(entries).ljust(directory_sectors * _SECTOR, b"\0")
    fat = struct.pack(f"<{_SECTOR // 4}I", *table, *[_FREE] * (_SECTOR // 4 - len(table)))
    header = struct.pack(
        "<8s16sHHHHH6x9I109I",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6,
        0, 1, 1, 0, _LEAST_STREAM, _END, 0, _END, 0, 0, *[_FREE] * 108,
    )  # fmt: skip
    return header + fat + directory + b"".join(padded.values())


def _entry(name: str, kind: int, start: int, size: int, *, child: int = _FREE, right: int = _FREE) -> bytes:
    encoded = name.encode("utf-16-le")
    return struct.pack(
        "<64sHBBIII16sI16xIQ", encoded, len(encoded) + 2, kind, 1, _FREE, right, child, b"", 0, start, size
    )


def _filled(data: bytes) -> bytes:
    return data.ljust(max(_LEAST_STREAM, -(-len(data) // _SECTOR) * _SECTOR), b"\0")


def doc(
    text: str,
    *,
    notes: str = "",
    headers: str = "",
    comments: str = "",
    styles: Sequence[int] = (),
    rows: Sequence[int] = (),
    deleted: str = "",
    flags: int = 0,
) -> bytes:
    """Return a document of Word 97. `styles`: the styles of the paragraphs, in order. `rows`: the numbers of the
    paragraphs that end a table row. `deleted`: the deleted part of the text."""
    stories = [text, notes, headers, "", comments, "", "", ""]
    whole = "".join(stories)
    start = 1024
    header = bytearray(start)
    struct.pack_into("<6H", header, 0, 0xA5EC, 0xC1, 0, 0x409, 0, 0x200 | flags)
    struct.pack_into("<8i", header, 0x4C, *map(len, stories))
    pieces = struct.pack("<IIHIH", 0, len(whole), 0, start, 0)
    clx = b"\2" + struct.pack("<I", len(pieces)) + pieces
    tables = {0x1A2: clx, 0xFA: _bin_table(8), 0x102: _bin_table(9)}
    place = 0
    for at, table in tables.items():
        struct.pack_into("<II", header, at, place, len(table))
        place += len(table)
    first = start + 2 * whole.find(deleted)
    runs = [(first, b""), (first + 2 * len(deleted), b"\3\0\x08\1")] if deleted else []
    marks = [at for at, character in enumerate(whole) if character in "\r\x07"]
    paragraphs = [
        (start + 2 * at + 2, _paragraph(styles[number] if number < len(styles) else 0, is_row_end=number in rows))
        for number, at in enumerate(marks)
    ]
    stream = (bytes(header) + whole.encode("utf-16-le")).ljust(8 * 512, b"\0")
    stream += _page(start, runs, 1) + _page(start, paragraphs, 13)
    return ole({"WordDocument": stream, "1Table": b"".join(tables.values())})


def _bin_table(page: int) -> bytes:
    return struct.pack("<III", 0, 0xFFFF, page)


def _paragraph(style: int, *, is_row_end: bool) -> bytes:
    changes = b"\x17\x24\1" if is_row_end else b""
    data = struct.pack("<H", style) + changes
    return bytes([(len(data) + 1) // 2, *data])


def _page(start: int, runs: Sequence[tuple[int, bytes]], entry_bytes: int) -> bytes:
    """Return a page of properties: for each run, its end and its properties."""
    page = bytearray(512)
    struct.pack_into(f"<{len(runs) + 1}I", page, 0, start, *(end for end, _ in runs))
    place = 510
    for number, (_, data) in enumerate(runs):
        if data:
            place -= len(data) + len(data) % 2
            page[place : place + len(data)] = data
            page[4 * (len(runs) + 1) + number * entry_bytes] = place // 2
    page[511] = len(runs)
    return bytes(page)


def ppt(slides: Sequence[Slide], *, footer: str = "", master: str = "") -> bytes:
    """Return a presentation of PowerPoint 97."""
    objects: list[bytes] = []
    lists: list[list[bytes]] = [[], [], []]

    def add(which: int, data: bytes, outline: bytes = b"") -> int:
        objects.append(data)
        identifier = 256 + len(objects)
        number = len(objects) + 1  # the document comes first
        lists[which].append(_atom(0x03F3, struct.pack("<5I", number, 0, 0, identifier, 0)) + outline)
        return identifier

    prompt = _shape("Click to edit", 1, placeholder=1)
    shown = add(1, _container(0x03F8, prompt, _shape(master, 4)))
    for slide in slides:
        notes = add(2, _container(0x03F0, _shape(slide.notes, 2, placeholder=12 + 13))) if slide.notes else 0
        atom = _atom(0x03EF, struct.pack("<12xIIHH", shown, notes, 1, 0))
        outline = _text(slide.title, 0) if slide.title else b""
        title = _container(0xF004, _atom(0x0F9E, struct.pack("<I", 0))) if slide.title else b""
        comment = _container(0x2EE0, _string("Ann", 0), _string(slide.comment, 1)) if slide.comment else b""
        add(0, _container(0x03EE, atom, title, _shape(slide.body, 1), comment), outline)
    headers = _container(0x0FD9, _atom(0x0FDA, struct.pack("<HH", 0, 0x20)), _string(footer, 2), instance=3)
    listed = (_container(0x0FF0, *entries, instance=which) for which, entries in enumerate(lists))
    stream, offsets = b"", []
    for data in (_container(0x03E8, *listed, headers), *objects):
        offsets.append(len(stream))
        stream += data
    stream += _atom(0x1772, struct.pack(f"<I{len(offsets)}I", len(offsets) << 20 | 1, *offsets))
    return ole({"PowerPoint Document": stream})


class Slide(NamedTuple):
    title: str = ""
    body: str = ""
    notes: str = ""
    comment: str = ""


def _atom(kind: int, data: bytes, instance: int = 0) -> bytes:
    return struct.pack("<HHI", instance << 4, kind, len(data)) + data


def _container(kind: int, *parts: bytes, instance: int = 0) -> bytes:
    data = b"".join(parts)
    return struct.pack("<HHI", instance << 4 | 0xF, kind, len(data)) + data


def _string(text: str, instance: int) -> bytes:
    return _atom(0x0FBA, text.encode("utf-16-le"), instance)


def _text(text: str, kind: int) -> bytes:
    return _atom(0x0F9F, struct.pack("<I", kind)) + _atom(0x0FA0, text.encode("utf-16-le"))


def _shape(text: str, kind: int, *, placeholder: int = 0) -> bytes:
    mark = _atom(0x0BC3, struct.pack("<IB3x", 0, placeholder)) if placeholder else b""
    return _container(0xF004, mark, _text(text, kind)) if text else b""


def xls(sheets: Mapping[str, Sequence[Sequence[str | float]]], *, beside: bytes = b"") -> bytes:
    """Return a workbook of Excel 97. `beside`: additional records for the last sheet."""
    start = record(0x809, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))
    end = record(0x0A, b"")
    bodies = [_sheet(rows) for rows in sheets.values()]
    bodies[-1] = bodies[-1][: -len(end)] + beside + end
    names = [bytes([len(name), 0]) + name.encode("latin-1") for name in sheets]
    at = len(start) + sum(4 + 6 + len(name) for name in names) + len(end)
    listed = []
    for name, body in zip(names, bodies, strict=True):
        listed.append(record(0x85, struct.pack("<IH", at, 0) + name))
        at += len(body)
    return ole({"Workbook": b"".join([start, *listed, end, *bodies])})


def _sheet(rows: Sequence[Sequence[str | float]]) -> bytes:
    cells = [
        record(0x204, struct.pack("<HHHHB", row, column, 0, len(value), 0) + value.encode("latin-1"))
        if isinstance(value, str)
        else record(0x203, struct.pack("<HHHd", row, column, 0, value))
        for row, values in enumerate(rows)
        for column, value in enumerate(values)
    ]
    start = record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0, 0, 0, 0))
    return b"".join([start, *cells, record(0x0A, b"")])


def record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def package(start: str, parts: Mapping[str, str], relations: Mapping[str, Sequence[tuple[str, str]]]) -> bytes:
    """Return an Office Open XML file. `relations`: for a part, the kinds and targets of `r1`, `r2` and so on."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml", '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
        )
        for name, xml in parts.items():
            archive.writestr(name, xml)
        for part, related in {"": [("officeDocument", start)], **relations}.items():
            folder, _, name = part.rpartition("/")
            listed = "".join(
                f'<Relationship Id="r{number}" Type="{_RELATIONS}/{kind}" {_target(target)}/>'
                for number, (kind, target) in enumerate(related, start=1)
            )
            path = f"{folder}/_rels/{name}.rels".lstrip("/")
            archive.writestr(path, f'<Relationships xmlns="{_PACKAGE}">{listed}</Relationships>')
    return buffer.getvalue()


def _target(target: str) -> str:
    return f'Target="{target}" TargetMode="External"' if "://" in target else f'Target="/{target}"'


def vsdx(pages: Mapping[str, Sequence[str]]) -> bytes:
    """Return a drawing of Visio: the texts of the shapes on each page, by the page's name."""
    visio = 'xmlns="http://schemas.microsoft.com/office/visio/2012/main"'
    parts = {"visio/document.xml": f"<VisioDocument {visio}/>"}
    names = "".join(f'<Page Name="{name}"/>' for name in pages)
    parts["visio/pages/pages.xml"] = f"<Pages {visio}>{names}</Pages>"
    for number, texts in enumerate(pages.values(), start=1):
        shapes = "".join(f"<Shape><Text><cp IX='0'/>{text}\n</Text></Shape>" for text in texts)
        parts[f"visio/pages/page{number}.xml"] = f"<PageContents {visio}><Shapes>{shapes}</Shapes></PageContents>"
    contents = [("page", f"visio/pages/page{number}.xml") for number in range(1, len(pages) + 1)]
    start = "visio/document.xml"
    return package(start, parts, {start: [("pages", "visio/pages/pages.xml")], "visio/pages/pages.xml": contents})


def epub(*chapters: str, spine: str = "") -> bytes:
    """Return an EPUB. Chapters are in reverse order in the file."""
    buffer = io.BytesIO()
    numbers = range(1, len(chapters) + 1)
    items = "".join(f'<item id="c{number}" href="a%20b/{number}.xhtml"/>' for number in reversed(numbers))
    order = spine or "".join(f'<itemref idref="c{number}"/>' for number in numbers)
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OPS/book.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "OPS/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
            f"<dc:title>A book</dc:title></metadata><manifest>{items}</manifest><spine>{order}</spine></package>",
        )
        for number, text in enumerate(chapters, start=1):
            archive.writestr(
                f"OPS/a b/{number}.xhtml", f"<html><head><title>t</title></head><body>{text}</body></html>"
            )
    return buffer.getvalue()


def presentation(*slides: tuple[str, str]) -> bytes:
    """Return a newer presentation; each slide has a title and a text."""
    from pptx import Presentation

    deck = Presentation()
    for title, text in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def workbook(sheets: Mapping[str, Mapping[str, str]]) -> bytes:
    """Return a newer workbook with these texts in the cells of its sheets."""
    from openpyxl import Workbook  # type: ignore[import-untyped]

    made = Workbook()
    made.remove(made.active)
    for name, cells in sheets.items():
        sheet = made.create_sheet(name)
        for place, text in cells.items():
            sheet[place] = text
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()
