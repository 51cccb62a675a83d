"""Which languages have words that begin with the same letters as a word. Pure.

A candidate of a correction is analysed only in these, so many languages in an index take little more time than one. The
first letters of words, with a bit for each language, take 16 bytes each: there are few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from gnod.analysis.stemming import fold, of_all

_SHORTEST, _LONGEST = 3, 5
# A word may have this many other letters at its end than the one that documents have.
_ENDING = 2
_EVERY = -1


class Beginnings:
    """`by_language`: words of each language. `others`: words whose languages are not known; they count only where no
    language has words that begin so."""

    def __init__(self, by_language: Mapping[str, Iterable[str]], others: Iterable[str]) -> None:
        self._bits = {language: 1 << number for number, language in enumerate(by_language)}
        known: dict[str, int] = {}
        for language, words in by_language.items():
            for each in _beginnings(words):
                known[each] = known.get(each, 0) | self._bits[language]
        masks = dict.fromkeys(_beginnings(others), _EVERY) | known
        hashes = np.fromiter(map(hash, masks), np.int64)
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._masks = np.fromiter(masks.values(), np.int64)[order]

    def possible(self, words: Collection[str]) -> Callable[[str], list[str]]:
        """Return a function that returns those of the words that a language may have: any, if it has no words here, or
        if the word is too short to tell."""
        asked = list(words)
        beginnings = list(map(_beginning, asked))
        masks = self._masks_of(list({each for each in beginnings if len(each) >= _SHORTEST}))
        of_words = np.array([masks.get(each, _EVERY) for each in beginnings], np.int64)

        def of(language: str) -> list[str]:
            return [asked[number] for number in np.flatnonzero(of_words & self._bits.get(language, _EVERY))]

        return of

    def _masks_of(self, beginnings: Sequence[str]) -> dict[str, int]:
        if not self._hashes.size:
            return dict.fromkeys(beginnings, 0)
        hashes = np.fromiter((hash(each[:_LONGEST]) for each in of_all(fold, beginnings)), np.int64)
        places = np.minimum(np.searchsorted(self._hashes, hashes), self._hashes.size - 1)
        found = np.where(self._hashes[places] == hashes, self._masks[places], 0)
        return dict(zip(beginnings, found.tolist(), strict=True))


def _beginning(word: str) -> str:
    length = len(word) - _ENDING
    return word[: _LONGEST if length > _LONGEST else max(length, _SHORTEST)]


def _beginnings(words: Iterable[str]) -> set[str]:
    """Return the beginnings of all lengths."""
    longest = {fold(each)[:_LONGEST] for each in {word[:_LONGEST] for word in words}}
    return {each[:length] for each in longest for length in range(_SHORTEST, _LONGEST + 1)}
