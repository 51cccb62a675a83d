"""Which words a language has, whatever an index has of them: the word lists of pyspellchecker.

A word in a dictionary is no slip, although no document has it. Knows no index.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from functools import cache
from importlib import resources


def has_word(word: str, languages: Iterable[str]) -> bool:
    """Tell whether a word is in the dictionary of one of the languages (ISO 639-1). Languages without a dictionary have
    no words. Takes 1 to 3 ms for each language, and 20 ms more the first time. Dictionaries stay in memory: 2 to 8 MB
    each."""
    key = f'"{word.lower()}":'.encode("utf-8", "replace")
    return any(key in _dictionary(language) for language in languages)


@cache
def _dictionary(language: str) -> bytes:
    """Return a word list as it is stored, a JSON object: parsing it takes a hundred times as long as a search in it."""
    file = resources.files("spellchecker") / "resources" / f"{language}.json.gz"
    return gzip.decompress(file.read_bytes()) if file.is_file() else b""
