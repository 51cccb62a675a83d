"""Extracts the text of Windows metafiles (EMF and WMF). Office shows embedded objects, such as a part of a workbook, in
these.

A metafile is a list of drawing commands, some of which write text ([MS-EMF] 2.3.5 and [MS-WMF] 2.3.3).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_EMF_MARK = b" EMF"
_PLACEABLE = b"\xd7\xcd\xc6\x9a"
_TEXT_WIDE, _TEXT_ANSI, _SMALL_TEXT = 84, 83, 108
_WMF_TEXT, _WMF_EXTENDED_TEXT = 0x0521, 0x0A32
_GLYPHS, _NO_BOUNDS, _IS_ANSI, _HAS_RECTANGLE = 0x10, 0x100, 0x200, 0x06


def lines(data: bytes) -> list[str]:
    """Return the text of a metafile. Text at the same height is one line. Other files have no lines."""
    if data[40:44] == _EMF_MARK:
        texts = _emf(data)
    elif data.startswith((_PLACEABLE, b"\1\0\x09\0", b"\2\0\x09\0")):
        texts = _wmf(data, 40 if data.startswith(_PLACEABLE) else 18)
    else:
        return []
    found: dict[int, dict[str, None]] = {}
    for y, text in texts:
        if text := " ".join(text.replace("\0", " ").split()):
            found.setdefault(y, {})[text] = None  # a shadow repeats the text
    return [" ".join(line) for line in found.values()]


def _emf(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the vertical position and the characters of each text."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        record = data[at : at + size]
        if kind in (_TEXT_WIDE, _TEXT_ANSI) and len(record) >= 56:
            y, count, place, options = struct.unpack_from("<iIII", record, 40)
            if not options & _GLYPHS:
                yield y, _decoded(record[place:], count, is_ansi=kind == _TEXT_ANSI)
        elif kind == _SMALL_TEXT and len(record) >= 36:
            y, count, options = struct.unpack_from("<iII", record, 12)
            if not options & _GLYPHS:
                text = record[36 if options & _NO_BOUNDS else 52 :]
                yield y, _decoded(text, count, is_ansi=bool(options & _IS_ANSI))
        at += max(size, 8)


def _wmf(data: bytes, at: int) -> Iterator[tuple[int, str]]:
    while at + 6 <= len(data):
        words, kind = struct.unpack_from("<IH", data, at)
        record = data[at + 6 : at + words * 2]
        if kind == _WMF_TEXT and len(record) >= 6:
            count = int.from_bytes(record[:2], "little")
            end = 2 + count + count % 2
            yield int.from_bytes(record[end : end + 2], "little"), _decoded(record[2:], count, is_ansi=True)
        elif kind == _WMF_EXTENDED_TEXT and len(record) >= 8:
            y, _, count, options = struct.unpack_from("<4H", record)
            yield y, _decoded(record[16 if options & _HAS_RECTANGLE else 8 :], count, is_ansi=True)
        at += max(words * 2, 6)


def _decoded(data: bytes, count: int, *, is_ansi: bool) -> str:
    return data[:count].decode("cp1252", "replace") if is_ansi else data[: count * 2].decode("utf-16-le", "replace")
