"""The characters of one PDF page with their boxes, through PDFium. Must not depend on queries."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gnod.ingest.formats.pdf.annotations import annotated
from gnod.ingest.formats.pdf.opening import opened
from gnod.ingest.reading.result import ConversionFailed

# A page of a book has 3,000 characters.
MAX_CHARACTERS = 200_000
_NO_BOX = (0.0, 0.0, 0.0, 0.0)
LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
# The codes that TeX's fonts have for ligatures, where a Type 3 font does not name its letters.
_TEX = dict(zip("\x0b\x0c\r\x0e\x0f\x1b\x1c\x1d\x1e\x1f", ("ff", "fi", "fl", "ffi", "ffl") * 2, strict=True))
_TEX_LIGATURE = re.compile(r"[\x0b-\x0f\x1b-\x1f](?:(?=[a-z]{2})|(?<=[a-z]{2}[^\r]))")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_FEWEST_SYLLABLES = 8

Rect = tuple[float, float, float, float]


class PageText(NamedTuple):
    """`boxes`: four numbers for each character of `text`: left, top, right and bottom, in points from the upper left
    corner of the page as it is shown. All are 0 for line ends, and for spaces that are only a gap on the page. A hyphen
    at the end of a line is followed by the line end, even inside a word."""

    width: float
    height: float
    text: str
    boxes: array[float]


def read_page(data: bytes, number: int) -> PageText:
    """Return the text of a page; the first is 1. Raises ConversionFailed."""
    with opened(data, number) as document:
        return read_text(annotated(document, number - 1).page)


def read_text(page: Any) -> PageText:
    """Return the text of a page of PDFium's. Raises ConversionFailed."""
    width, height = page.get_size()
    shown = on_screen(page.get_bbox(), page.get_rotation())
    text: list[str] = []
    boxes = array("f")
    for characters, box in _characters(page.get_textpage()):
        placed = shown(box) if box != _NO_BOX else _NO_BOX
        if text and unicodedata.combining(characters[0]) and len(both := _composed(text[-1] + characters)) == 1:
            text[-1] = both
            continue
        text += characters
        boxes.extend(placed * len(characters))
    return PageText(width, height, from_utf8("".join(text)), boxes)


def from_utf8(text: str) -> str:
    """Return a text with its letters. Some programs write the map of a font in UTF-8 instead of UTF-16, which makes
    each letter a Korean syllable."""
    syllables = set(_HANGUL.findall(text))
    if len(syllables) < _FEWEST_SYLLABLES:
        return text
    try:
        return text.translate({ord(each): each.encode("utf-16-be").decode() for each in syllables})
    except UnicodeDecodeError:
        return text


def tex_ligatures(text: str) -> dict[int, str]:
    """Return the ligatures in words that have TeX's codes: the letters, by place."""
    found = {match.start(): _TEX[match[0]] for match in _TEX_LIGATURE.finditer(text)}
    return found if set(found.values()) != {"fl"} else {}  # the code of fl alone may be that of any letter


def _characters(text_page: Any) -> Iterator[tuple[str, Rect]]:
    """Yield each character, a ligature as its letters, with its box from the lower left corner."""
    from pypdfium2 import raw  # type: ignore[import-untyped]

    count = raw.FPDFText_CountChars(text_page)
    if count > MAX_CHARACTERS:
        raise ConversionFailed("too_long", f"The page has {count:,} characters: at most {MAX_CHARACTERS:,} are read.")
    rect = raw.FS_RECTF()
    codes = [raw.FPDFText_GetUnicode(text_page, index) for index in range(count)]
    ligatures = tex_ligatures("".join(chr(code) if code < 0xD800 else " " for code in codes))
    for index, code in enumerate(codes):
        if raw.FPDFText_IsGenerated(text_page, index):
            box = _NO_BOX
        else:
            box = _box(rect) if raw.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(rect)) else _NO_BOX
        if code == 2 and raw.FPDFText_IsHyphen(text_page, index):  # PDFium removes the line end behind it
            yield "-", box
            yield "\n", _NO_BOX
        elif index in ligatures or code != 0x0D:
            yield ligatures.get(index) or _readable(code), box


def _readable(code: int) -> str:
    if code in LIGATURES:
        return LIGATURES[code]
    if code == 0x0A or (code > 0x1F and not 0xD800 <= code <= 0xDFFF and code <= 0x10FFFF):
        return chr(code)
    return " "


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _box(rect: Any) -> Rect:
    box = (rect.left, rect.bottom, rect.right, rect.top)
    return box if all(map(math.isfinite, box)) else _NO_BOX


def on_screen(area: Rect, rotation: int) -> Callable[[Rect], Rect]:
    """Return what moves a box from the coordinates of the page, upwards, to those of its visible `area` as it is
    shown, downwards. `rotation`: clockwise, in degrees."""
    left, bottom, right, top = area
    turn: Callable[[float, float], tuple[float, float]] = {
        0: lambda x, y: (x - left, top - y),
        90: lambda x, y: (y - bottom, x - left),
        180: lambda x, y: (right - x, y - bottom),
        270: lambda x, y: (top - y, right - x),
    }[rotation]

    def shown(box: Rect) -> Rect:
        (x0, y0), (x1, y1) = turn(box[0], box[1]), turn(box[2], box[3])
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    return shown
