"""Reads the text of one PDF page with PDFium: as indexed, and with the box of each character. Must not depend on other
pages or on queries.

One call returns all characters of a page, 20 times as fast as requests for each box. For the index, only the boxes of
letters in words are requested, because PDFium misses spaces that are narrow beside wide letters.
"""

from __future__ import annotations

import ctypes
import math
import re
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unicodedata import combining, normalize

from gnod.ingest.formats.pdf import opened
from gnod.ingest.formats.pdf.annotations import annotated
from gnod.ingest.reading.result import ConversionFailed

# A page of a book has 3,000 characters.
_MAX_CHARACTERS = 200_000
_NO_BOX = (0.0, 0.0, 0.0, 0.0)
_LIGATURES = {code: normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
# The codes of ligatures in TeX's fonts, for Type 3 fonts that do not name their letters.
_TEX = dict(zip("\x0b\x0c\r\x0e\x0f\x1b\x1c\x1d\x1e\x1f", ("ff", "fi", "fl", "ffi", "ffl") * 2, strict=True))
_TEX_LIGATURE = re.compile(r"[\x0b-\x0f\x1b-\x1f](?:(?=[a-z]{2})|(?<=[a-z]{2}[^\r]))")
# Replaces the hyphen and line end inside a word that PDFium has recognised.
DIVIDED = "\ufffe"
_WORD = re.compile(r"[^\W\d_]{3,}")
# The narrowest space between words, as a share of the line height.
_SPACE = 0.13
_NEARLY_ALL = 0.9
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32)), " ")
_READABLE = str.maketrans(_CONTROLS | {0x0D: None} | _LIGATURES)
# TeX draws an accent as a separate character before the letter.
_ACCENTS = dict(zip("´¨ˆ˜ˇ˘˙˚¸˝", "\u0301\u0308\u0302\u0303\u030c\u0306\u0307\u030a\u0327\u030b", strict=True))
_ACCENTED = re.compile(rf"(?<=[^\W\d_]) ([{''.join(_ACCENTS)}]) ([^\W\d_])|([{''.join(_ACCENTS)}])([^\W\d_])")
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
    """Return the text of a PDFium page. Raises ConversionFailed."""
    width, height = page.get_size()
    shown = on_screen(page.get_bbox(), page.get_rotation())
    text: list[str] = []
    boxes = array("f")
    for characters, box in _characters(page.get_textpage()):
        placed = shown(box) if box != _NO_BOX else _NO_BOX
        if text and combining(characters[0]) and len(both := normalize("NFC", text[-1] + characters)) == 1:
            text[-1] = both
            continue
        text += characters
        boxes.extend(placed * len(characters))
    return PageText(width, height, _from_utf8("".join(text)), boxes)


def _from_utf8(text: str) -> str:
    """Return a text with repaired letters. Some programs write the map of a font in UTF-8 instead of UTF-16, so that
    each letter is read as a Korean syllable."""
    syllables = set(_HANGUL.findall(text))
    if len(syllables) < _FEWEST_SYLLABLES:
        return text
    try:
        return text.translate({ord(syllable): syllable.encode("utf-16-be").decode() for syllable in syllables})
    except UnicodeDecodeError:
        return text


def _tex_ligatures(text: str) -> dict[int, str]:
    """Return the letters of ligatures with TeX's codes in words, by index."""
    found = {match.start(): _TEX[match[0]] for match in _TEX_LIGATURE.finditer(text)}
    return found if set(found.values()) != {"fl"} else {}  # the code of fl alone may be any letter


def _characters(text_page: Any) -> Iterator[tuple[str, Rect]]:
    """Yield each character with its box from the lower left corner. A ligature yields its letters."""
    from pypdfium2 import raw  # type: ignore[import-untyped]

    count = raw.FPDFText_CountChars(text_page)
    if count > _MAX_CHARACTERS:
        raise ConversionFailed("too_long", f"The page has {count:,} characters: at most {_MAX_CHARACTERS:,} are read.")
    rect = raw.FS_RECTF()
    codes = [raw.FPDFText_GetUnicode(text_page, index) for index in range(count)]
    ligatures = _tex_ligatures("".join(chr(code) if code < 0xD800 else " " for code in codes))
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
    if code in _LIGATURES:
        return _LIGATURES[code]
    if code == 0x0A or (code > 0x1F and not 0xD800 <= code <= 0xDFFF and code <= 0x10FFFF):
        return chr(code)
    return " "


def _box(rect: Any) -> Rect:
    box = (rect.left, rect.bottom, rect.right, rect.top)
    return box if all(map(math.isfinite, box)) else _NO_BOX


def on_screen(area: Rect, rotation: int) -> Callable[[Rect], Rect]:
    """Return a function from boxes in page coordinates, upwards, to boxes in the visible `area` as shown, downwards.
    `rotation`: clockwise, in degrees."""
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


# ---- for the index


def plain_text(page: Any) -> str:
    """Return the text of a page, line by line. Errors of PDFium are not caught."""
    text_page = _text_page(page)
    try:
        text = _shown(page, text_page)
    finally:
        text_page.close()
    if ligatures := _tex_ligatures(text):
        text = "".join(ligatures.get(at, letter) for at, letter in enumerate(text))
    return _ACCENTED.sub(_accented, _from_utf8(text).translate(_READABLE)).strip()


def _shown(page: Any, text_page: Any) -> str:
    """Return the visible characters of a page."""
    count: int = text_page.count_chars()
    whole: str = text_page.get_text_range()
    if len(whole) == count and page.get_cropbox() == page.get_mediabox():
        return _with_spaces(whole, text_page)
    visible: str = text_page.get_text_bounded()
    # PDFium joins vertical lines in the visible text. So use the whole text if it is the same.
    if len(whole) == count and len(visible) > _NEARLY_ALL * count:
        return _with_spaces(whole, text_page)
    return visible.replace("\x02", DIVIDED) or whole


def _text_page(page: Any) -> Any:
    """Return the characters of a page. PDFium omits lines without a width, such as upward lines in a font that is
    neither embedded nor installed; the page is turned for these."""
    import pypdfium2
    from pypdfium2 import raw

    found = page.get_textpage()
    if found.count_chars():
        return found
    drawn = list(page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT], max_depth=1))
    for line in drawn:
        line.transform(pypdfium2.PdfMatrix().rotate(90))
    return page.get_textpage() if drawn else found


def _with_spaces(text: str, text_page: Any) -> str:
    """Return a text with the spaces that PDFium misses. `text` has the same character indices as the page."""
    from pypdfium2 import raw

    if len(text) > _MAX_CHARACTERS:
        return text
    rect = raw.FS_RECTF()
    reference, box_of, handle = ctypes.byref(rect), raw.FPDFText_GetLooseCharBox, text_page.raw
    cuts = [0]
    for word in _WORD.finditer(text):
        start, end = word.span()
        right, wide, heights = 0.0, [], set()
        for at in range(start, end):
            box_of(handle, at, reference)
            height = rect.top - rect.bottom
            if at > start and rect.left - right > _SPACE * height:
                wide.append(at)
            heights.add(height)
            right = rect.right
        if not wide:
            continue
        if max(heights) > 1.05 * min(heights):
            return text  # these boxes enclose only the drawn letters, with gaps between them
        # If all letters are set apart, the gaps are not spaces.
        close = set(range(start + 1, end)).difference(wide)
        cuts += [at for at in wide if at - 1 in close or at + 1 in close]
    return " ".join(text[start:end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True))


def _accented(match: re.Match[str]) -> str:
    """Combine a letter and the accent before it."""
    accent, letter = match[1] or match[3], match[2] or match[4]
    plain = "i" if letter == "ı" else letter  # the accent replaces the dot
    both = normalize("NFC", plain + _ACCENTS[accent])
    return both if len(both) == 1 else match[0]
