"""Which words a language has, whatever an index has of them: the word lists of pyspellchecker.

A word in a dictionary is no slip, although no document has it. Knows no index.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from zlib import crc32


def has_word(word: str, languages: Iterable[str]) -> bool:
    """Tell whether a word is in the dictionary of one of the languages (ISO 639-1). One of ten thousand other words is
    taken for one. Languages without a dictionary have no words. The first call for a language takes 0.1 to 0.4 s."""
    hashed = _hash(word.casefold())
    return any(_contains(_dictionary(language), hashed) for language in languages)


def _contains(hashes: array[int], hashed: int) -> bool:
    place = bisect_left(hashes, hashed)
    return place < len(hashes) and hashes[place] == hashed


@cache
def _dictionary(language: str) -> array[int]:
    """Return the hashes of all words, in order: 4 bytes for each instead of 100."""
    from spellchecker import SpellChecker

    try:
        words = SpellChecker(language=language).word_frequency.words()
    except ValueError:
        return array("I")
    return array("I", sorted(_hash(word.casefold()) for word in words))


def _hash(word: str) -> int:
    return crc32(word.encode("utf-8", "replace"))
