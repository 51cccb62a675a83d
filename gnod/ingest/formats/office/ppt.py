"""Converts presentations of PowerPoint 97 to 2003 (ppt): the text atoms of each slide, in order ([MS-PPT]).

The file is a stream of nested records. Its directory has the offset of the newest version of each slide. As in newer
files, the text of a master comes only once, and notes and comments follow their slide.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from gnod.ingest.formats.office.blocks import Blocks, trimmed
from gnod.ingest.formats.office.ole import Streams
from gnod.ingest.formats.office.package import remark
from gnod.ingest.reading.converter import Converter, FileContent, ole_with, password_protected
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import Converted

_DOCUMENT, _SLIDE_ATOM, _LIST, _LISTED, _DIRECTORY = 0x03E8, 0x03EF, 0x0FF0, 0x03F3, 0x1772
_SHAPE, _PLACEHOLDER, _TEXT_KIND, _WIDE_TEXT, _TEXT, _OUTLINE_TEXT = 0xF004, 0x0BC3, 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
_COMMENT, _STRING, _HEADERS, _HEADERS_ATOM = 0x2EE0, 0x0FBA, 0x0FD9, 0x0FDA
_BINARY_TAG_DATA = 0x138B  # it contains records although its version denies it
_SLIDES, _MASTERS, _NOTES_PAGES = 0, 1, 2  # the lists of a document
_TITLES = (0, 6)
_NOT_NOTES = range(7, 13)  # placeholders of notes: date, number, footer, header and picture of the slide
_ENCRYPTED = b"\xdf\xc4\xd1\xf3"
_CURRENT_USER = ("Current User", "PP97_DUALSTORAGE/Current User")
_HAS_DATE, _HAS_FOOTER = 0x04, 0x20
_CONTROLS = dict.fromkeys(range(32)) | {9: " ", 10: "\n", 11: "\n", 13: "\n"}
_DEEPEST = 30
_KindAndText = tuple[int, str]  # the kind: title, body and so on


class _Record(NamedTuple):
    kind: int
    instance: int
    data: memoryview
    is_container: bool

    @property
    def number(self) -> int:
        return int.from_bytes(self.data[:4], "little")

    @property
    def string(self) -> str:
        return _clean(str(self.data, "utf-16-le", "replace"))

    @property
    def atom_text(self) -> str | None:
        """Return the text of an atom; None for other records."""
        if self.kind == _TEXT:
            return _clean(str(self.data, "latin-1"))
        return self.string if self.kind == _WIDE_TEXT else None


class _Slide(NamedTuple):
    """`number`: its key in the directory. `outline`: texts that its shapes refer to, with their kinds."""

    number: int
    identifier: int
    outline: list[_KindAndText]


def _records(data: memoryview) -> Iterator[_Record]:
    at = 0
    while at + 8 <= len(data):
        head, kind, size = struct.unpack_from("<HHI", data, at)
        is_container = head & 0xF == 0xF or kind == _BINARY_TAG_DATA
        yield _Record(kind, head >> 4, data[at + 8 : at + 8 + size], is_container)
        at += 8 + size


def _all(record: _Record, depth: int = 0) -> Iterator[_Record]:
    """Yield all records in a record, parents before children."""
    for inner in _records(record.data):
        yield inner
        if inner.is_container and depth < _DEEPEST and inner.kind not in (_COMMENT, _HEADERS):
            yield from _all(inner, depth + 1)


def _read(content: FileContent) -> Converted:
    streams = Streams(content)
    if _is_encrypted(streams):
        raise password_protected()
    deck = _OldDeck(memoryview(streams.read("PowerPoint Document", "PP97_DUALSTORAGE/PowerPoint Document")))
    slides = Parts("slide", content.max_characters)
    for number, slide in enumerate(deck.slides, start=1):
        slides.add(deck.text(slide, slides.left), number)
    return streams.finished(Converted(markdown=slides.markdown, converter="ppt/1", locations=slides.locations))


def _is_encrypted(streams: Streams) -> bool:
    return any(name in streams and streams.read(name)[12:16] == _ENCRYPTED for name in _CURRENT_USER)


class _OldDeck:
    """The slides in order, and their shared data."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._offsets: dict[int, int] = {}
        self._lists: dict[int, list[_Slide]] = {}
        self._footers: list[str] = []
        self._seen: set[str] = set()
        document = None
        for record in _records(data):
            if record.kind == _DIRECTORY:
                self._offsets |= _directory(record.data)
            elif record.kind == _DOCUMENT:
                document = record  # earlier ones are from earlier saves
        for record in _records(document.data) if document else ():
            if record.kind == _LIST:
                self._lists[record.instance] = list(_listed(record))
            elif record.kind == _HEADERS and record.instance == 3:  # 4 is for notes
                self._footers = _headers(record)
        self.slides = self._lists.get(_SLIDES, [])

    def text(self, slide: _Slide, max_characters: int) -> str:
        record = self._record_at(slide.number)
        if record is None:
            return ""
        texts, footers, comments = _shapes(record, slide.outline)
        master, notes_page = _references(record)
        blocks = Blocks(max_characters)
        for kind, text in sorted(texts, key=lambda found: found[0] not in _TITLES):
            blocks.heading(text, 1) if kind in _TITLES else blocks.paragraph(text)
        for text in (*footers, *self._footers, *self._texts(_MASTERS, master, hidden=range(1, 256))):
            if text not in self._seen:
                self._seen.add(text)
                blocks.paragraph(text)
        if notes := self._texts(_NOTES_PAGES, notes_page, hidden=_NOT_NOTES):
            blocks.heading("Notes", 3)
            for text in notes:
                blocks.paragraph(text)
        for author, text in comments:
            blocks.paragraph(remark(author, text))
        return blocks.markdown

    def _record_at(self, number: int) -> _Record | None:
        offset = self._offsets.get(number, len(self._data))
        return next(_records(self._data[offset:]), None)

    def _texts(self, listed: int, identifier: int, hidden: range) -> list[str]:
        """Return the texts of a master or of a notes page, except those in `hidden` placeholders."""
        slide = next((page for page in self._lists.get(listed, []) if page.identifier == identifier), None)
        record = self._record_at(slide.number) if slide and identifier else None
        return [text for _, text in _shapes(record, [], hidden)[0]] if record else []


def _directory(data: memoryview) -> dict[int, int]:
    """Return the offsets of a directory by number. It has runs with their first number and their offsets."""
    found = {}
    at = 0
    while at + 4 <= len(data):
        (head,) = struct.unpack_from("<I", data, at)
        number, count = head & 0xFFFFF, head >> 20
        offsets = data[at + 4 : at + 4 + 4 * count]
        for place, (offset,) in enumerate(struct.iter_unpack("<I", offsets[: len(offsets) // 4 * 4])):
            found[number + place] = offset
        at += 4 + 4 * count
    return found


def _listed(record: _Record) -> Iterator[_Slide]:
    slide = None
    kind = 0
    for atom in _records(record.data):
        if atom.kind == _LISTED and len(atom.data) >= 16:
            if slide:
                yield slide
            number, _, _, identifier = struct.unpack_from("<4I", atom.data)
            slide = _Slide(number, identifier, [])
        elif atom.kind == _TEXT_KIND:
            kind = atom.number
        elif slide and (text := atom.atom_text) is not None:
            slide.outline.append((kind, text))
    if slide:
        yield slide


def _references(slide: _Record) -> tuple[int, int]:
    """Return the ids of the master, if it is shown, and of the notes of a slide."""
    for record in _records(slide.data):
        if record.kind == _SLIDE_ATOM and len(record.data) >= 22:
            master, notes, flags = struct.unpack_from("<IIH", record.data, 12)
            return master if flags & 1 else 0, notes
    return 0, 0


def _shapes(
    slide: _Record, outline: list[_KindAndText], hidden: range = range(0)
) -> tuple[list[_KindAndText], list[str], list[tuple[str, str]]]:
    """Return the texts, the footers and the comments of a slide; comments have their authors."""
    texts: list[_KindAndText] = []
    footers: list[str] = []
    comments: list[tuple[str, str]] = []
    kind = placeholder = 0
    for record in _all(slide):
        if record.kind == _SHAPE:
            placeholder = 0
        elif record.kind == _PLACEHOLDER:
            placeholder = record.data[4] if len(record.data) > 4 else 0
        elif record.kind == _TEXT_KIND:
            kind = record.number
        elif record.kind == _COMMENT:
            strings = {inner.instance: inner.string for inner in _records(record.data)}
            comments.append((strings.get(0, ""), strings.get(1, "")))
        elif record.kind == _HEADERS:
            footers += _headers(record)
        elif placeholder not in hidden:
            at = record.number if record.kind == _OUTLINE_TEXT else -1
            text = outline[at] if 0 <= at < len(outline) else (kind, record.atom_text or "")
            if text[1] and text not in texts:
                texts.append(text)
    return texts, footers, comments


def _headers(record: _Record) -> list[str]:
    """Return the date and the footer that slides show."""
    flags, texts = 0, {}
    for atom in _records(record.data):
        if atom.kind == _HEADERS_ATOM:
            flags = atom.number >> 16
        elif atom.kind == _STRING:
            texts[atom.instance] = atom.string
    shown = ((_HAS_DATE, 0), (_HAS_FOOTER, 2))
    return [texts[instance] for flag, instance in shown if flags & flag and texts.get(instance)]


def _clean(text: str) -> str:
    """Return the lines of a text; "" for a placeholder of a number or date."""
    return "\n".join(line for line in trimmed(text.translate(_CONTROLS)).split("\n") if line != "*")


PPT = Converter(
    label="a PowerPoint 97-2003 presentation",
    mime="application/vnd.ms-powerpoint",
    shared_extensions="ppt pps",
    signature=ole_with("PowerPoint Document", "PP97_DUALSTORAGE"),
    read=_read,
    headings=True,
    location="slide",
    remark="with notes and comments",
)
