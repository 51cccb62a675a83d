"""The words of an index in memory. They answer which words are known, near to a word or contain a part, how documents
write them, and which languages have words with the same beginning.

The index has stems, but people read words: `Surfaces` has the words of a sample of the texts. A candidate for a
correction is analysed only in the languages of its beginning, so many languages in an index take little more time than
one. Each beginning takes 16 bytes, with a bit for each language; there are few of them.

All words with the same length and first letter are one string, in which `str.find` finds any part. Their hashes show
whether a word is known. A million words take about twenty megabytes. Edit distances: rapidfuzz.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from gnod.analysis.dictionaries import WordSet
from gnod.analysis.stemming import fold, of_all, stemming_language
from gnod.analysis.terms import Analyzer, terms_of_many
from gnod.caches import Cache
from gnod.search.correction.correctable_words import MIN_LETTERS
from gnod.search.keyword.folding import fold_in_place
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.keyword_index.vocabulary import Words
from gnod.store.tables import texts

# If there are more words, leave out first the words of a single document, then the longest.
MAX_WORDS = 2_000_000
# The maximum number of words for a wildcard or a part of a word. A search for more would take long and say little.
MAX_ALTERNATIVES = 50

# A sample of this length has most words, and takes about a third of a second.
SAMPLE_CHARACTERS = 8_000_000
# The beginnings of a few documents show the usual forms of a term.
_DOCUMENTS = 4
_CHARACTERS = 50_000

_SHORTEST, _LONGEST = 3, 5
# A word may differ from the form in documents by this many letters at its end.
_ENDING = 2
_EVERY = -1


class KnownWords(NamedTuple):
    """The known words of an index. `languages`: the languages with many documents."""

    vocabulary: Vocabulary
    surfaces: Surfaces
    languages: frozenset[str]


class Vocabulary:
    def __init__(self, found: Iterable[Words], *, limit: int = MAX_WORDS) -> None:
        kept, self.size = _limited(sorted(found, key=lambda each: (not each.frequent, each.length)), limit)
        # By length, then by first letter
        self._buckets: dict[int, dict[str, list[Words]]] = {}
        for each in kept:
            of_length = self._buckets.setdefault(each.length, {})
            of_length.setdefault(each.first, []).append(each)
        self._words = WordSet(self.words())

    def words(self) -> Iterator[str]:
        return (word for length in self._buckets for bucket in self._of(length) for word in _split(bucket))

    def known(self, words: Iterable[str]) -> set[str]:
        """Return the words that are in the vocabulary."""
        return self._words.known(words)

    def near(self, word: str, edits: int, limit: int) -> list[str]:
        """Return the words with the same first letter within this distance (optimal string alignment), nearest
        first."""
        lengths = range(len(word) - edits, len(word) + edits + 1)
        buckets = (self._buckets.get(length, {}).get(word[0], ()) for length in lengths)
        near = [each for bucket in chain.from_iterable(buckets) for each in _split(bucket)]
        found = process.extract(word, near, scorer=OSA.distance, score_cutoff=edits, limit=limit)
        return [each for each, _, _ in found]

    def ending(self, part: str, limit: int) -> list[str]:
        """Return the words that end with the part, shortest first."""
        return [word for word in self.containing(part, None) if word.endswith(part)][:limit]

    def containing(self, part: str, limit: int | None) -> list[str]:
        """Return the words that contain the part, shortest first."""
        found: list[str] = []
        for length in sorted(length for length in self._buckets if length >= len(part)):
            found += sorted(word for bucket in self._of(length) for word in _containing(bucket, part))
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def _of(self, length: int) -> Iterator[Words]:
        return chain.from_iterable(self._buckets[length].values())


def _limited(found: Iterable[Words], limit: int) -> tuple[list[Words], int]:
    kept, size = [], 0
    for each in found:
        count = len(each.joined) // each.length
        if size + count <= limit:
            kept.append(each)
            size += count
    return kept, size


def _split(bucket: Words) -> list[str]:
    return [bucket.joined[start : start + bucket.length] for start in range(0, len(bucket.joined), bucket.length)]


def _containing(bucket: Words, part: str) -> Iterator[str]:
    """Yield each word of one length that contains the part, once."""
    length, joined = bucket.length, bucket.joined
    place = joined.find(part)
    while place >= 0:
        start = place - place % length
        if place + len(part) <= start + length:
            yield joined[start : start + length]
            place = start + length - 1
        place = joined.find(part, place + 1)


class Surfaces:
    """The words in a sample of the texts, and the forms of single terms, for one state of the index."""

    def __init__(self, connection: Connection, vocabulary: Vocabulary) -> None:
        sample: dict[str, set[str]] = {}
        for language, text in texts.sample(connection, SAMPLE_CHARACTERS):
            sample.setdefault(stemming_language(language), set()).update(_words(text))
        # Shorter words resemble too many others.
        self._sample = WordSet(word for words in sample.values() for word in words if len(word) >= MIN_LETTERS)
        self.beginnings = Beginnings(sample, vocabulary.words())
        self._forms: Cache[str, frozenset[str]] = Cache()

    def seen(self, words: Iterable[str]) -> set[str]:
        """Return the words that the sample has. `words`: in lower case."""
        return self._sample.known(words)

    def terms(self, words: Collection[str], analyzers: Sequence[Analyzer]) -> dict[str, set[str]]:
        """Return the terms of each word, in the languages with words of the same beginning. For other languages, the
        index cannot have its terms."""
        return terms_of_many(words, analyzers, self.beginnings.possible(words))

    def forms(self, connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> frozenset[str]:
        """Return words with this term, in lower case."""
        found = self._forms.get(term)
        return self._forms.keep(term, _forms(connection, term, analyzers)) if found is None else found


@cache
def _letter() -> str:
    """Return the pattern of a letter with its combining marks. Without the marks, words of many scripts would be split.
    The list of marks takes 10 ms, so it is not made at the start of the daemon."""
    marks = "".join(chr(code) for code in range(0x300, 0x10000) if unicodedata.category(chr(code))[0] == "M")
    return rf"[^\W\d_][{marks}]*+"


def _words(text: str) -> list[str]:
    return re.findall(f"(?:{_letter()}){{3,32}}", unicodedata.normalize("NFC", text).lower())


def _forms(connection: Connection, term: str, analyzers: Sequence[Analyzer]) -> frozenset[str]:
    # A stem may end with another letter than its words: "studi", "study".
    whole = re.compile(f"(?:{_letter()})*")
    start = re.compile(rf"(?<![^\W\d_]){re.escape(term[: max(len(term) - 1, 3)])}")
    found: set[str] = set()
    for text in fulltext.texts(connection, fulltext.quote(term), _DOCUMENTS, _CHARACTERS):
        rests = (whole.match(text, match.start()) for match in start.finditer(fold_in_place(text)))
        found |= {rest[0].lower() for rest in rests if rest}
    return frozenset(word for word, terms in terms_of_many(found, analyzers).items() if term in terms)


class Beginnings:
    """Finds the languages with words that begin with the same letters as a word. `by_language`: words of each language.
    `others`: words of unknown languages, which count only for beginnings that no language has."""

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
        """Return a function that returns the words that a language may have. All are possible for a language without
        known words, and short words are possible in any language."""
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
    """Return the beginnings of the words, of all lengths."""
    longest = {fold(each)[:_LONGEST] for each in {word[:_LONGEST] for word in words}}
    return {each[:length] for each in longest for length in range(_SHORTEST, _LONGEST + 1)}
