"""Tell texts with words from tables of numbers and encoded data, in any language and in source code. Pure.

The vector of a text without words is not near to any question.
"""

from __future__ import annotations

import re
import unicodedata

from gnod.caches import Computed

# The least share of words among the characters that are not white space. Code has at least .15, tables of identifiers
# and names .22; numbers, hex and base64 hardly any.
_LEAST = 0.1
# Stands for the letters that are not ASCII, and for the marks of their vowels.
_LETTER = "ä"
# A word, an identifier or an acronym, of three letters at least; in other alphabets also of one, because some have no
# spaces. Base64 has such words only by chance: its letters stand beside digits, and change their case.
_WORD = re.compile(r"(?<![0-9A-Za-zä])(?=[A-Za-zä]{3})(?:[A-Z]?[a-zä]+|[A-Z]+)(?:[A-Z][a-zä]+)*(?![0-9A-Za-zä])|ä+")
# Rules, dots and other padding count as one character.
_PADDING = re.compile(r"([^\w\s])(?:[ \t]*\1){3,}")


def has_words(text: str) -> bool:
    """Tell whether a paragraph of a text has words.

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
