"""Decide whether a page of a PDF must be recognised: because it has no text, or because its text is not what it
shows."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# Shares of the page's area: of a picture that has the page's text, and of any picture that may have text.
_WHOLE = 0.5
_PICTURE = 0.02
# A scan may have a stamp or a page number in letters.
_STAMP_CHARACTERS = 50
# A page with this many shapes may have letters that are drawn.
_SHAPES = 40
_MAX_OBJECTS = 2_000
_MIN_CHARACTERS = 30
_GARBAGE_SHARE = 0.2
_NO_CHARACTERS = frozenset({"Cc", "Co", "Cn", "Cs"})
# In languages with the Latin script, 35 to 50 % of the letters are vowels. With shifted codes there are far fewer.
_LATIN = re.compile(r"[a-z]", re.I)
_VOWELS = re.compile(r"[aeiouy]", re.I)
_MIN_LETTERS = 200
_MIN_VOWELS = 0.2
_IMAGE, _PATH = 3, 2  # values of pypdfium2.raw.FPDF_PAGEOBJ_…


def is_scan(page: Any, text: str) -> bool:
    """Tell whether the text of a page is to be recognised in its picture. `page` is PDFium's."""
    if is_garbage(text):
        return True
    length = len(text.strip())
    if length > _STAMP_CHARACTERS:
        return False
    pictures, shapes = _drawn(page)
    return pictures >= _WHOLE if length else pictures >= _PICTURE or shapes >= _SHAPES


def is_garbage(text: str) -> bool:
    """Tell whether a text has no readable characters or no words, because fonts may map glyphs to anything."""
    characters = "".join(text.split())
    if len(characters) < _MIN_CHARACTERS:
        return False
    sample = characters[:4000]
    wrong = sum(each == "\ufffd" or unicodedata.category(each) in _NO_CHARACTERS for each in sample)
    if wrong + len(_CID.findall(sample)) * 8 > _GARBAGE_SHARE * len(sample):
        return True
    plain = unicodedata.normalize("NFD", sample)  # this makes é two characters, e and an accent
    letters = len(_LATIN.findall(plain))
    return _MIN_LETTERS <= letters > len(sample) / 2 and len(_VOWELS.findall(plain)) < _MIN_VOWELS * letters


_CID = re.compile(r"\(cid:\d+\)")  # pdfminer writes this for a glyph without a character


def _drawn(page: Any) -> tuple[float, int]:
    """Return the share of the page that pictures cover, and the number of shapes."""
    width, height = page.get_size()
    area, shapes = 0.0, 0
    for number, drawn in enumerate(page.get_objects(filter=[_IMAGE, _PATH], max_depth=3)):
        if number >= _MAX_OBJECTS:
            break
        if drawn.type == _PATH:
            shapes += 1
            continue
        left, bottom, right, top = drawn.get_bounds() if hasattr(drawn, "get_bounds") else drawn.get_pos()
        area += abs(right - left) * abs(top - bottom)
    return area / max(width * height, 1.0), shapes
