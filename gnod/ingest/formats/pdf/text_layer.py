"""Decides whether a PDF page needs OCR, because it has no text or because its text differs from the page."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Any

# Shares of the page area: for a picture with the text of the page, and for any picture that may have text.
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
# In languages with the Latin script, 35 to 50 % of the letters are vowels; with shifted codes far fewer.
_LATIN = re.compile(r"[a-z]", re.I)
_VOWELS = re.compile(r"[aeiouy]", re.I)
_MIN_LETTERS = 200
_MIN_VOWELS = 0.2
_SAMPLE = 5_000
# A word between spaces and punctuation. The smallest share of words in text is .22 (lists of formulas). Garbage that is
# not mixed with text has at most .16 (measured on 1,411 pages).
_CASED = re.compile(r"(?<!\S)[^\w\s]*([^\W\d_]{2,}(?:[-'’][^\W\d_]+)*)[^\w\s]*(?!\S)")
_FIGURES = re.compile(r"[\d._·\u2000-\u2bff-]+")
_JOINERS = re.compile(r"[/.:_@-]")
_LAST_LATIN = "\u02ff"
_MIN_WORDS = 0.18
_MIN_COUNTED = 80
# If fonts map glyphs to random letters, at least .5 of the neighbouring letters are of different scripts; in text at
# most .11.
_MIXED = 0.3
_MIXED_SAMPLE = 1_000
# East Asian texts mix these scripts.
_EAST_ASIAN = frozenset({"BOPOMOFO", "CJK", "FULLWIDTH", "HALFWIDTH", "HANGUL", "HIRAGANA", "KATAKANA"})
_IMAGE, _PATH = 3, 2  # values of pypdfium2.raw.FPDF_PAGEOBJ_…


def is_picture(page: Any, text: str) -> bool:
    """Tell whether the text of a PDFium page is in a picture or drawn as shapes."""
    length = len(text.strip())
    if length > _STAMP_CHARACTERS:
        return False
    pictures, shapes = _drawn(page)
    return pictures >= _WHOLE if length else pictures >= _PICTURE or shapes >= _SHAPES


def is_garbage(text: str) -> bool:
    """Tell whether a text lacks readable characters or words, because fonts map glyphs to random letters."""
    sample = text[:_SAMPLE]
    if not sample.isascii():  # in some scripts, vowels are marks
        sample = "".join(character for character in sample if not unicodedata.category(character).startswith("M"))
    characters = "".join(sample.split())
    if len(characters) < _MIN_CHARACTERS:
        return False
    wrong = sum(each == "\ufffd" or unicodedata.category(each) in _NO_CHARACTERS for each in characters)
    if wrong > _GARBAGE_SHARE * len(characters) or _share_of_words(sample, characters) < _MIN_WORDS:
        return True
    if not sample.isascii() and _mixes_scripts(sample[:_MIXED_SAMPLE]):
        return True
    plain = unicodedata.normalize("NFD", characters)  # splits é into e and an accent
    letters = len(_LATIN.findall(plain))
    return _MIN_LETTERS <= letters > len(characters) / 2 and len(_VOWELS.findall(plain)) < _MIN_VOWELS * letters


def _share_of_words(sample: str, characters: str) -> float:
    """Return the share of the characters that are in words: letters of one case, or of a script without cases. Digits,
    symbols and the dots of tables of contents do not count."""
    counted = len(_FIGURES.sub("", characters))
    words = sum(len(word) for word in _CASED.findall(_JOINERS.sub(" ", sample)) if word[1:].islower() or word.isupper())
    caseless = sum(
        letter > _LAST_LATIN and letter.isalpha() and not letter.isupper() and not letter.islower() for letter in sample
    )
    return (words + caseless) / counted if counted >= _MIN_COUNTED else 1.0


def _mixes_scripts(sample: str) -> bool:
    """Tell whether neighbouring letters often have different scripts."""
    pairs = [(_script(first), _script(second)) for first, second in pairwise(sample) if (first + second).isalpha()]
    return len(pairs) >= _MIN_COUNTED and sum(first != second for first, second in pairs) > _MIXED * len(pairs)


@lru_cache(4096)
def _script(letter: str) -> str:
    script = unicodedata.name(letter, "").split(" ", 1)[0]
    return "EAST ASIAN" if script in _EAST_ASIAN else script


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
