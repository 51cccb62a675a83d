"""Look words up in large sets, such as the dictionaries of languages (the word lists of pyspellchecker).

A word in a dictionary is not a typing error, even if no document contains it. Must not depend on the index.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

W = TypeVar("W", str, bytes)

# A list is a JSON object: its keys are the words.
_ENTRY = re.compile(rb'"([^"\\]+)":')


class WordSet(Generic[W]):
    """A set that stores only hashes of its words, eight bytes for each word."""

    def __init__(self, words: Iterable[W]) -> None:
        self._hashes = np.sort(_hashes(words))

    def known(self, words: Iterable[W]) -> set[W]:
        listed = list(words)
        if not self._hashes.size:
            return set()
        hashes = _hashes(listed)
        places = np.minimum(np.searchsorted(self._hashes, hashes), self._hashes.size - 1)
        return {word for word, known in zip(listed, (self._hashes[places] == hashes).tolist(), strict=True) if known}


def has_word(word: str, languages: Iterable[str]) -> bool:
    """Return whether the dictionary of one of the languages (ISO 639-1) contains a word. Languages without a dictionary
    have no words. The first call takes up to 0.1 s for each language. Dictionaries stay in memory: 0.2 to 3.3 MB each,
    16 MB in total."""
    key = word.lower().encode("utf-8", "replace")
    return any(_dictionary(language).known([key]) for language in languages)


@cache
def _dictionary(language: str) -> WordSet[bytes]:
    file = resources.files("spellchecker") / "resources" / f"{language}.json.gz"
    data = gzip.decompress(file.read_bytes()) if file.is_file() else b""
    return WordSet(_ENTRY.findall(data))


def _hashes(words: Iterable[W]) -> NDArray[np.int64]:
    return np.fromiter(map(hash, words), np.int64)
