"""Fold a text for substring search: lower case, no diacritics or full-width letters, every character at its place."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

# Precomposed letters with diacritics and their base letter, so that folding keeps every position.
_BASE_LETTERS = {
    chr(code): decomposed[0]
    for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000))
    if len(decomposed := unicodedata.normalize("NFD", chr(code))) > 1
}
# The analyser turns full-width letters and digits into ordinary ones.
_BASE_LETTERS |= {chr(code): chr(code - 0xFEE0).lower() for code in range(0xFF10, 0xFF5B) if chr(code).isalnum()}
_WITH_DIACRITICS = re.compile(f"[{''.join(_BASE_LETTERS)}]")
# The lookup table pays off from this length on. It is more than ten times as fast.
_LONG = 50_000
# Generous ranges of letters that have a case.
_CASED = (
    range(0x3000),
    range(0xA000, 0xAC00),
    range(0xFF00, 0x12000),
    range(0x16000, 0x17000),
    range(0x1E000, 0x20000),
)


def fold_in_place(text: str) -> str:
    """Return the text in lower case and without diacritics.

    >>> fold_in_place("Žluťoučký KŮŇ")
    'zlutoucky kun'
    """
    if len(text) > _LONG and not text.isascii() and "Σ" not in text:  # its lower case depends on its position
        return _fold_by_table(text)
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" becomes two characters
        lowered = "".join(map(_lower, text))
    return lowered if lowered.isascii() else _WITH_DIACRITICS.sub(lambda match: _BASE_LETTERS[match[0]], lowered)


def _fold_by_table(text: str) -> str:
    table = _table()
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    folded = np.where(codes < len(table), table[np.minimum(codes, len(table) - 1)], codes)
    return folded.astype("<u4").tobytes().decode("utf-32-le")


@lru_cache(1)
def _table() -> NDArray[np.uint32]:
    table = np.arange(_CASED[-1].stop, dtype=np.uint32)
    for code in chain(*_CASED):
        lowered = _lower(chr(code))
        table[code] = ord(_BASE_LETTERS.get(lowered, lowered))
    return table


def _lower(character: str) -> str:
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character
