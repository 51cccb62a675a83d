"""Converts documents of Word 97 to 2003, Word 6 and Word 95 (doc) from their piece table ([MS-DOC] 2.4.1).

A document is one stream of characters: the text, then its footnotes, headers, comments, endnotes and text boxes. Pages
of properties (FKP) mark deleted and hidden characters, headings, and rows of tables.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

from gnod.ingest.formats.office.blocks import Blocks, trimmed
from gnod.ingest.formats.office.ole import Streams
from gnod.ingest.formats.office.package import remark
from gnod.ingest.reading.converter import Converter, FileContent, ole_with, password_protected
from gnod.ingest.reading.legacy_encodings import legacy_encoding
from gnod.ingest.reading.result import Converted

_ENCRYPTED, _SECOND_TABLE, _IN_PIECES = 0x100, 0x200, 0x04
_COMPRESSED = 0x40000000
# Offsets in the header of a document (FIB): the lengths of the stories, then the tables of pieces, of character
# properties and of paragraph properties. The last two are not read in documents of Word 6 and 95.
_NEW, _OLD = 0xA5EC, 0xA5DC
_PLACES = {_NEW: (0x4C, 0x1A2, 0xFA, 0x102), _OLD: (0x34, 0x160, 0, 0)}
_PAGE = 512
_HEADINGS = range(1, 10)  # the numbers of the styles Heading 1 to 9 are the same in all documents
_DELETED, _HIDDEN, _IN_TABLE, _ROW_END = 0x0800, 0x083C, 0x2416, 0x2417
_OPERAND_BYTES = (1, 1, 2, 4, 2, 2, 0, 3)  # by the kind of the property; 0: the first byte is the length
_FIELD_MARK = re.compile("[\x13\x14\x15]")
_PARAGRAPH = re.compile("([^\r\x07\x0c]*)([\r\x07\x0c]|\\Z)")
_LEFT_OUT = "\0"
_CONTROLS = dict.fromkeys(range(32)) | {9: " ", 10: "\n", 11: "\n", 14: "\n", 30: "-"}
_SAMPLE = 64 * 1024


class _TextPiece(NamedTuple):
    """The characters from `start` to `end`. Their bytes begin at `offset`; each character has `width` bytes."""

    start: int
    end: int
    offset: int
    width: int


class _Run(NamedTuple):
    """The properties of a run of bytes: the style number of the paragraph, and the switches that are on."""

    start: int
    end: int
    style: int
    switches: frozenset[int]


def _read(content: FileContent) -> Converted:
    streams = Streams(content)
    markdown = _Document(streams).markdown(content.max_characters)
    return streams.finished(Converted(markdown=markdown, converter="doc/1"))


class _Document:
    """Raises ConversionFailed."""

    def __init__(self, streams: Streams) -> None:
        self._data = data = streams.read("WordDocument")
        try:
            kind, _, _, _, _, flags = struct.unpack_from("<6H", data)
            if flags & _ENCRYPTED:
                raise password_protected()
            lengths_at, pieces_at, characters_at, paragraphs_at = _PLACES[kind]
            is_new = kind == _NEW
            table = streams.read("1Table" if flags & _SECOND_TABLE else "0Table") if is_new else data
            self._lengths = [max(0, length) for length in struct.unpack_from("<8i", data, lengths_at)]
            pieces = _pieces(self._part(table, pieces_at), is_new) if is_new or flags & _IN_PIECES else []
            (start,) = struct.unpack_from("<I", data, 0x18)
            self._pieces = pieces or [_TextPiece(0, sum(self._lengths), start, 1)]
            self._encoding = "cp1252" if is_new else legacy_encoding(self._sample())
            self._starts = [piece.start for piece in self._pieces]
            paragraphs = self._part(table, paragraphs_at) if is_new else b""
            characters = self._part(table, characters_at) if is_new else b""
        except (struct.error, KeyError) as error:
            raise streams.damaged("its text cannot be found") from error
        self._paragraphs = sorted(self._runs(paragraphs, 13))
        self._text = self._without_fields(self._shown(list(self._runs(characters, 1))))

    def markdown(self, max_characters: int) -> str:
        blocks = Blocks(max_characters)
        ends = list(accumulate(self._lengths))
        text, notes, headers, _, comments, endnotes, boxes, boxes_of_headers = zip([0, *ends], ends, strict=False)
        for start, end in (text, notes, endnotes, boxes):
            self._add(blocks, start, end)
        for line in self._lines(*comments):
            blocks.paragraph(remark("", line))
        for line in dict.fromkeys([*self._lines(*headers), *self._lines(*boxes_of_headers)]):
            blocks.paragraph(line)
        return blocks.markdown

    def _part(self, table: bytes, at: int) -> bytes:
        start, size = struct.unpack_from("<II", self._data, at)
        return table[start : start + size]

    # ---- characters

    def _sample(self) -> bytes:
        """Return a sample of the text to detect its encoding, which the file does not name."""
        pieces = (self._data[piece.offset : piece.offset + piece.end - piece.start] for piece in self._pieces)
        return b"".join(pieces)[:_SAMPLE]

    def _shown(self, runs: list[_Run]) -> str:
        """Return all characters at their positions; marks replace the deleted and hidden ones."""
        left_out = sorted(run for run in runs if run.switches & {_DELETED, _HIDDEN})
        ends = [run.end for run in left_out]
        return "".join(self._characters(piece, left_out[bisect_right(ends, piece.offset) :]) for piece in self._pieces)

    def _characters(self, piece: _TextPiece, left_out: list[_Run]) -> str:
        size = (piece.end - piece.start) * piece.width
        data = self._data[piece.offset : piece.offset + size]
        text = data.decode("utf-16-le" if piece.width == 2 else self._encoding, "replace")
        for run in left_out:
            if run.start >= piece.offset + size:
                break
            start = max(0, run.start - piece.offset) // piece.width
            end = min(size, run.end - piece.offset) // piece.width
            text = text[:start] + _LEFT_OUT * (end - start) + text[end:]
        return text.ljust(piece.end - piece.start, _LEFT_OUT)

    def _without_fields(self, text: str) -> str:
        """Mark the codes of fields, which precede their results, as left out."""
        codes: list[int] = []
        shown, at = [], 0
        for mark in _FIELD_MARK.finditer(text):
            match mark[0]:
                case "\x13":
                    codes.append(mark.start())
                case _ if codes and codes[-1] >= 0:
                    start = max(at, codes[-1])
                    shown += [text[at:start], _LEFT_OUT * (mark.end() - start)]
                    at = mark.end()
                    codes[-1] = -1
            if mark[0] == "\x15" and codes:
                codes.pop()
        return "".join([*shown, text[at:]])

    def _runs(self, table: bytes, entry_bytes: int) -> Iterator[_Run]:
        """Yield the runs on the pages of properties that a table lists ([MS-DOC] 2.9.33 and 2.9.174)."""
        count = max(0, (len(table) - 4) // 8)
        numbers = table[(count + 1) * 4 : (count + 1) * 4 + count * 4]
        for (number,) in struct.iter_unpack("<I", numbers):
            page = self._data[number * _PAGE : (number + 1) * _PAGE]
            runs = page[-1] if len(page) == _PAGE else _PAGE
            if (runs + 1) * 4 + runs * entry_bytes < _PAGE:
                bounds = struct.unpack_from(f"<{runs + 1}I", page)
                for at, (start, end) in enumerate(pairwise(bounds)):
                    yield _Run(start, end, *_properties(page, page[(runs + 1) * 4 + at * entry_bytes], entry_bytes > 1))

    # ---- paragraphs

    def _add(self, blocks: Blocks, start: int, end: int) -> None:
        in_table = False
        for found in _PARAGRAPH.finditer(self._text, start, min(end, len(self._text))):
            run = self._paragraph_at(found.end() - 1)
            was_in_table, in_table = in_table, found[2] == "\x07" or _IN_TABLE in run.switches
            if in_table and not was_in_table:
                blocks.begin_table()
                blocks.begin_row()
                blocks.begin_cell()
            elif was_in_table and not in_table:
                blocks.end_table()
            if text := _clean(found[1]):
                blocks.heading(text, run.style) if run.style in _HEADINGS else blocks.paragraph(text)
            if found[2] == "\x07":
                if _ROW_END in run.switches:
                    blocks.begin_row()
                blocks.begin_cell()
        blocks.end()

    def _paragraph_at(self, at: int) -> _Run:
        """Return the properties of the paragraph that ends with a character."""
        piece = self._pieces[max(0, bisect_right(self._starts, at) - 1)]
        byte = piece.offset + (at - piece.start) * piece.width
        number = bisect_right(self._paragraphs, byte, key=lambda run: run.start) - 1
        found = self._paragraphs[number] if number >= 0 else None
        return found if found and byte < found.end else _Run(0, 0, 0, frozenset())

    def _lines(self, start: int, end: int) -> list[str]:
        text = re.sub("[\r\x07\x0c]", "\n", self._text[start:end])
        return [line for line in map(_clean, text.split("\n")) if line]


def _pieces(clx: bytes, is_new: bool) -> list[_TextPiece]:
    """Return the pieces of the text; they come after the property changes. Raises struct.error."""
    at = 0
    while clx[at : at + 1] == b"\1":
        at += 3 + struct.unpack_from("<H", clx, at + 1)[0]
    if clx[at : at + 1] != b"\2":
        return []
    table = clx[at + 5 : at + 5 + struct.unpack_from("<I", clx, at + 1)[0]]
    count = (len(table) - 4) // 12
    bounds = struct.unpack_from(f"<{count + 1}I", table)
    found = []
    for number, (start, end) in enumerate(pairwise(bounds)):
        (offset,) = struct.unpack_from("<I", table, (count + 1) * 4 + number * 8 + 2)
        if not is_new:
            found.append(_TextPiece(start, end, offset, 1))
        elif offset & _COMPRESSED:
            found.append(_TextPiece(start, end, (offset & ~_COMPRESSED) // 2, 1))
        else:
            found.append(_TextPiece(start, end, offset, 2))
    return [piece for piece in found if piece.start < piece.end]


def _properties(page: bytes, place: int, is_paragraph: bool) -> tuple[int, frozenset[int]]:
    """Return the style and the switches of an entry on a page of properties."""
    at = place * 2
    if not at:
        return 0, frozenset()
    if not is_paragraph:
        return 0, _switches(page[at + 1 : at + 1 + page[at]])
    size = page[at] * 2 - 1 if page[at] else page[at + 1] * 2
    data = page[at + 1 : at + 1 + size] if page[at] else page[at + 2 : at + 2 + size]
    return int.from_bytes(data[:2], "little"), _switches(data[2:])


def _switches(changes: bytes) -> frozenset[int]:
    on: set[int] = set()
    at = 0
    while at + 3 <= len(changes):
        (kind,) = struct.unpack_from("<H", changes, at)
        if changes[at + 2] == 1:
            on.add(kind)
        at += 2 + (_OPERAND_BYTES[kind >> 13] or changes[at + 2] + 1)
    return frozenset(on & {_DELETED, _HIDDEN, _IN_TABLE, _ROW_END})


def _clean(text: str) -> str:
    return trimmed(text.translate(_CONTROLS))


DOC = Converter(
    label="a Word 97-2003 document",
    mime="application/msword",
    shared_extensions="doc dot",
    signature=ole_with("WordDocument"),
    read=_read,
    headings=True,
    remark="with headers, footers, text boxes, notes and comments; without deleted text",
)
