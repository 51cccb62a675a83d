"""The words of an index in memory: which are known, near to one, or contain a part. Pure.

The words of one length and first letter are one string, in which `str.find` finds any part; their hashes tell whether
a word is known. A million words take about twenty megabytes. Edit distances: rapidfuzz.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from gnod.analysis.dictionaries import WordSet
from gnod.store.keyword_index.vocabulary import Words

# If there are more words, first those of one document are left out, and then the longest.
MAX_WORDS = 2_000_000
# The maximum number of words for a wildcard or a part of a word. More would take long to search, and say little.
MAX_ALTERNATIVES = 50


class _Bucket(NamedTuple):
    """Words of one length, joined."""

    length: int
    joined: str

    def words(self) -> list[str]:
        return [self.joined[start : start + self.length] for start in range(0, len(self.joined), self.length)]

    def containing(self, part: str) -> Iterator[str]:
        """Yield each word that contains the part, once."""
        place = self.joined.find(part)
        while place >= 0:
            start = place - place % self.length
            if place + len(part) <= start + self.length:
                yield self.joined[start : start + self.length]
                place = start + self.length - 1
            place = self.joined.find(part, place + 1)


class Vocabulary:
    def __init__(self, found: Iterable[Words], *, limit: int = MAX_WORDS) -> None:
        kept, self.size = _limited(sorted(found, key=lambda each: (not each.frequent, each.length)), limit)
        # By length, and then by the first letter
        self._buckets: dict[int, dict[str, list[_Bucket]]] = {}
        for each in kept:
            of_length = self._buckets.setdefault(each.length, {})
            of_length.setdefault(each.first, []).append(_Bucket(each.length, each.joined))
        self._words = WordSet(self.words())

    def words(self) -> Iterator[str]:
        return (word for length in self._buckets for bucket in self._of(length) for word in bucket.words())

    def known(self, words: Iterable[str]) -> set[str]:
        """Return those of the words that are in the vocabulary."""
        return self._words.known(words)

    def near(self, word: str, edits: int, limit: int) -> list[str]:
        """Return the words with the same first letter in this distance (optimal string alignment), nearest first."""
        lengths = range(len(word) - edits, len(word) + edits + 1)
        buckets = (self._buckets.get(length, {}).get(word[0], ()) for length in lengths)
        near = [each for bucket in chain.from_iterable(buckets) for each in bucket.words()]
        found = process.extract(word, near, scorer=OSA.distance, score_cutoff=edits, limit=limit)
        return [each for each, _, _ in found]

    def ending(self, part: str, limit: int) -> list[str]:
        """Return the words that end with the part, the shortest first."""
        return [word for word in self.containing(part, None) if word.endswith(part)][:limit]

    def containing(self, part: str, limit: int | None) -> list[str]:
        """Return the words that contain the part, the shortest first."""
        found: list[str] = []
        for length in sorted(length for length in self._buckets if length >= len(part)):
            found += sorted(word for bucket in self._of(length) for word in bucket.containing(part))
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def _of(self, length: int) -> Iterator[_Bucket]:
        return chain.from_iterable(self._buckets[length].values())


def _limited(found: Iterable[Words], limit: int) -> tuple[list[Words], int]:
    kept, size = [], 0
    for each in found:
        count = len(each.joined) // each.length
        if size + count <= limit:
            kept.append(each)
            size += count
    return kept, size
