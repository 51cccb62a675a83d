"""Distinguish texts with words from tables of numbers and encoded data, in all languages and in source code. Pure.

The vector of a text without words is not similar to any question.
"""

from __future__ import annotations

import re
import unicodedata

from gnod.caches import Computed

# The minimum share of words among the characters that are not white space. Code has at least .15, tables of identifiers
# and names have .22, and numbers, hex and base64 hardly have words.
_LEAST = 0.1
# Represents all non-ASCII letters and the marks of their vowels.
_LETTER = "ä"
# A word, an identifier or an acronym of at least three letters; in other alphabets, one letter is enough, because some
# do not use spaces. Base64 has such words only by chance: its letters are next to digits, and change case.
_WORD = re.compile(r"(?<![0-9A-Za-zä])(?=[A-Za-zä]{3})(?:[A-Z]?[a-zä]+|[A-Z]+)(?:[A-Z][a-zä]+)*(?![0-9A-Za-zä])|ä+")
# Rules, dots and other padding count as one character.
_PADDING = re.compile(r"([^\w\s])(?:[ \t]*\1){3,}")


def has_words(text: str) -> bool:
    """Return whether a paragraph of a text has words.

    >>> has_words("See 3.2 below: 17 of 20."), has_words("東京 1964"), has_words("0.31 | 0.33 | 0.29")
    (True, True, False)
    """
    plain = _PADDING.sub(r"\1", text if text.isascii() else text.translate(_plain))
    return any(
        sum(map(len, _WORD.findall(paragraph))) > _LEAST * len("".join(paragraph.split()))
        for paragraph in plain.split("\n\n")
    )


def _plain_of(code: int) -> str:
    character = chr(code)
    is_letter = code > 0x7F and (character.isalpha() or unicodedata.category(character).startswith("M"))
    return _LETTER if is_letter else character


_plain = Computed(_plain_of)
