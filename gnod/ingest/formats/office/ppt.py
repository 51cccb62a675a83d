"""Presentations of PowerPoint 97 to 2003 (ppt): the atoms of text of each slide, in its order ([MS-PPT]).

The file is a stream of records in records. Its directory says where the newest version of each slide is. As in newer
files, text of masters comes once, and notes and comments follow their slide.
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

_DOCUMENT, _SLIDE, _SLIDE_ATOM, _NOTES, _MASTER = 0x03E8, 0x03EE, 0x03EF, 0x03F0, 0x03F8
_LIST, _LISTED, _USER_EDIT, _DIRECTORY = 0x0FF0, 0x03F3, 0x0FF5, 0x1772
_SHAPE, _PLACEHOLDER, _TEXT_KIND, _WIDE_TEXT, _TEXT, _OUTLINE_TEXT = 0xF004, 0x0BC3, 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
_COMMENT, _STRING, _HEADERS, _HEADERS_ATOM = 0x2EE0, 0x0FBA, 0x0FD9, 0x0FDA
_BINARY_TAG_DATA = 0x138B  # it contains records, though its version says that it does not
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
    start: int
    end: int
    is_container: bool


class _Slide(NamedTuple):
    """`number`: under which the directory has it. `outline`: texts that its shapes refer to, with their kinds."""

    number: int
    identifier: int
    outline: list[_KindAndText]


def _read(content: FileContent) -> Converted:
    streams = Streams(content)
    if _is_encrypted(streams):
        raise password_protected()
    deck = _OldDeck(streams.read("PowerPoint Document", "PP97_DUALSTORAGE/PowerPoint Document"))
    slides = Parts("slide", content.max_characters)
    for number, slide in enumerate(deck.slides, start=1):
        slides.add(deck.text(slide, slides.left), number)
    title, metadata = streams.properties()
    return Converted(
        markdown=slides.markdown, converter="ppt/1", title=title, metadata=metadata, locations=slides.locations
    )


def _is_encrypted(streams: Streams) -> bool:
    return any(name in streams and streams.read(name)[12:16] == _ENCRYPTED for name in _CURRENT_USER)


class _OldDeck:
    """The slides, and what they share. `slides` are in their order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offsets: dict[int, int] = {}
        self._lists: dict[int, list[_Slide]] = {}
        self._seen: set[str] = set()
        documents = [record for record in self._records(0, len(data)) if self._is_document(record)]
        self._footers: list[str] = []
        if documents:
            self._read_document(documents[-1])  # earlier ones are from before it was saved again
        self.slides = self._lists.get(_SLIDES, [])

    def text(self, slide: _Slide, max_characters: int) -> str:
        record = self._record_at(slide.number)
        if record is None:
            return ""
        texts, footers, comments = self._shapes(record, slide.outline)
        masters, notes = self._references(record)
        blocks = Blocks(max_characters)
        for kind, text in sorted(texts, key=lambda found: found[0] not in _TITLES):
            blocks.heading(text, 1) if kind in _TITLES else blocks.paragraph(text)
        once = [*footers, *self._footers, *self._texts(_MASTERS, masters, hidden=range(1, 256))]
        for text in once:
            if text not in self._seen:
                self._seen.add(text)
                blocks.paragraph(text)
        if found := self._texts(_NOTES_PAGES, notes, hidden=_NOT_NOTES):
            blocks.heading("Notes", 3)
            for text in found:
                blocks.paragraph(text)
        for author, text in comments:
            blocks.paragraph(remark(author, text))
        return blocks.markdown

    # ---- the document

    def _is_document(self, record: _Record) -> bool:
        if record.kind == _DIRECTORY:
            self._read_directory(record)
        return record.kind == _DOCUMENT

    def _read_directory(self, record: _Record) -> None:
        at = record.start
        while at + 4 <= record.end:
            (head,) = struct.unpack_from("<I", self._data, at)
            number, count = head & 0xFFFFF, head >> 20
            end = min(at + 4 + 4 * count, record.end)
            for place, (offset,) in enumerate(struct.iter_unpack("<I", self._data[at + 4 : end - (end - at) % 4])):
                self._offsets[number + place] = offset
            at += 4 + 4 * count

    def _read_document(self, document: _Record) -> None:
        for record in self._records(document.start, document.end):
            if record.kind == _LIST:
                self._lists[record.instance] = list(self._listed(record))
            elif record.kind == _HEADERS and record.instance == 3:  # 4 is for notes
                self._footers = self._headers(record)

    def _listed(self, record: _Record) -> Iterator[_Slide]:
        slide = None
        kind = 0
        for atom in self._records(record.start, record.end):
            if atom.kind == _LISTED and atom.end - atom.start >= 16:
                if slide:
                    yield slide
                number, _, _, identifier = struct.unpack_from("<4I", self._data, atom.start)
                slide = _Slide(number, identifier, [])
            elif atom.kind == _TEXT_KIND:
                kind = self._number(atom)
            elif slide and (text := self._atom_text(atom)) is not None:
                slide.outline.append((kind, text))
        if slide:
            yield slide

    # ---- a slide

    def _record_at(self, number: int) -> _Record | None:
        offset = self._offsets.get(number, len(self._data))
        return next(self._records(offset, len(self._data)), None)

    def _references(self, slide: _Record) -> tuple[int, int]:
        """Return the identifiers of the master, if it is shown, and of the notes of a slide."""
        for record in self._records(slide.start, slide.end):
            if record.kind == _SLIDE_ATOM and record.end - record.start >= 22:
                master, notes, flags = struct.unpack_from("<IIH", self._data, record.start + 12)
                return master if flags & 1 else 0, notes
        return 0, 0

    def _texts(self, listed: int, identifier: int, hidden: range) -> list[str]:
        """Return the texts of a master or of a page with notes, without those in `hidden` placeholders."""
        slide = next((each for each in self._lists.get(listed, []) if each.identifier == identifier), None)
        record = self._record_at(slide.number) if slide and identifier else None
        return [text for _, text in self._shapes(record, [], hidden)[0]] if record else []

    def _shapes(
        self, slide: _Record, outline: list[_KindAndText], hidden: range = range(0)
    ) -> tuple[list[_KindAndText], list[str], list[tuple[str, str]]]:
        """Return the texts, the footers, and the comments with their authors."""
        texts: list[_KindAndText] = []
        footers: list[str] = []
        comments: list[tuple[str, str]] = []
        kind = placeholder = 0
        for record in self._all(slide):
            if record.kind == _SHAPE:
                placeholder = 0
            elif record.kind == _PLACEHOLDER:
                placeholder = self._data[record.start + 4] if record.end - record.start > 4 else 0
            elif record.kind == _TEXT_KIND:
                kind = self._number(record)
            elif record.kind == _COMMENT:
                comments.append(self._comment(record))
            elif record.kind == _HEADERS:
                footers.extend(self._headers(record))
            elif placeholder not in hidden:
                at = self._number(record) if record.kind == _OUTLINE_TEXT else -1
                text = outline[at] if 0 <= at < len(outline) else (kind, self._atom_text(record) or "")
                if text[1] and text not in texts:
                    texts.append(text)
        return texts, footers, comments

    def _comment(self, record: _Record) -> tuple[str, str]:
        strings = {each.instance: self._string(each) for each in self._records(record.start, record.end)}
        return strings.get(0, ""), strings.get(1, "")

    def _headers(self, record: _Record) -> list[str]:
        """Return the date and the footer that slides show."""
        flags, texts = 0, {}
        for each in self._records(record.start, record.end):
            if each.kind == _HEADERS_ATOM:
                flags = self._number(each) >> 16
            elif each.kind == _STRING:
                texts[each.instance] = self._string(each)
        shown = ((_HAS_DATE, 0), (_HAS_FOOTER, 2))
        return [texts[instance] for flag, instance in shown if flags & flag and texts.get(instance)]

    # ---- records

    def _records(self, at: int, end: int) -> Iterator[_Record]:
        while at + 8 <= end:
            head, kind, size = struct.unpack_from("<HHI", self._data, at)
            is_container = head & 0xF == 0xF or kind == _BINARY_TAG_DATA
            yield _Record(kind, head >> 4, at + 8, min(at + 8 + size, end), is_container)
            at += 8 + size

    def _all(self, record: _Record, depth: int = 0) -> Iterator[_Record]:
        """Yield all records in a record, each before those in it."""
        for inner in self._records(record.start, record.end):
            yield inner
            if inner.is_container and depth < _DEEPEST and inner.kind not in (_COMMENT, _HEADERS):
                yield from self._all(inner, depth + 1)

    def _number(self, record: _Record) -> int:
        return int.from_bytes(self._data[record.start : min(record.end, record.start + 4)], "little")

    def _atom_text(self, record: _Record) -> str | None:
        if record.kind == _WIDE_TEXT:
            return self._string(record)
        if record.kind == _TEXT:
            return _clean(self._data[record.start : record.end].decode("latin-1"))
        return None

    def _string(self, record: _Record) -> str:
        return _clean(self._data[record.start : record.end].decode("utf-16-le", "replace"))


def _clean(text: str) -> str:
    """Return the lines of a text; "" for a mark that stands for a number or date."""
    return "\n".join(line for line in trimmed(text.translate(_CONTROLS)).split("\n") if line != "*")


PPT = Converter(
    label="a PowerPoint presentation of 1997 to 2003",
    mime="application/vnd.ms-powerpoint",
    shared_extensions="ppt pps",
    signature=ole_with("PowerPoint Document", "PP97_DUALSTORAGE"),
    read=_read,
    headings=True,
    location="slide",
    remark="with notes and comments",
)
