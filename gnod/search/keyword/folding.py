"""Fold a text for substring search: lower case, no diacritics or full-width letters, every character at its place."""

from __future__ import annotations

import re
import unicodedata

# Precomposed letters with diacritics and their base letter, so that folding keeps every position.
_BASE_LETTERS = {
    chr(code): decomposed[0]
    for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000))
    if len(decomposed := unicodedata.normalize("NFD", chr(code))) > 1
}
# The analyser turns full-width letters and digits into ordinary ones.
_BASE_LETTERS |= {chr(code): chr(code - 0xFEE0).lower() for code in range(0xFF10, 0xFF5B) if chr(code).isalnum()}
_WITH_DIACRITICS = re.compile(f"[{''.join(_BASE_LETTERS)}]")


def fold_in_place(text: str) -> str:
    """Return the text in lower case and without diacritics.

    >>> fold_in_place("Žluťoučký KŮŇ")
    'zlutoucky kun'
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" becomes two characters
        lowered = "".join(map(_lower, text))
    return lowered if lowered.isascii() else _WITH_DIACRITICS.sub(lambda match: _BASE_LETTERS[match[0]], lowered)


def _lower(character: str) -> str:
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character
