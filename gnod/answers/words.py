"""Find the content words of a question, their weights in the index, and which of them a text contains. Only one thread
may use an Analyzer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from gnod.analysis.stemming import stemming_language
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words
from gnod.analysis.terms import Analyzer, compounds, visible
from gnod.search.keyword import lexical
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.keyword_index.fulltext import Term

# In a question, these are function words. The English list does not contain them, because commands and code need them.
_PREPOSITIONS = frozenset({"about", "as", "at", "by", "for", "from", "in", "into", "on", "with"})

# The weight of a pair of characters, in words, in a script without spaces: a word has about three pairs.
PAIR = 1 / 3

# One word of a question: its variants in the languages of the index. A variant is a sequence of terms.
Word = tuple[tuple[str, ...], ...]


class QuestionWord(NamedTuple):
    """`surface`: the word as it is written; empty for a pair of characters of a script without spaces."""

    surface: str
    variants: Word


def question_words(question: str, analyzers: Sequence[Analyzer]) -> list[QuestionWord]:
    """Return the question's words without function words and repetitions. If it has only function words, return those.

    >>> [word.surface for word in question_words("How old is the cat?", [Analyzer("en")])]
    ['old', 'cat']
    """
    by_language = list(zip(*(analyzer.units(question) for analyzer in analyzers), strict=True))
    languages = [analyzer.language for analyzer in analyzers]
    dropped = function_words((variants[0].surface for variants in by_language), languages)
    dropped |= ENGLISH_FUNCTION_WORDS | _PREPOSITIONS
    kept = [variants for variants in by_language if variants[0].surface.lower() not in dropped] or by_language
    words: dict[Word, str] = {}
    for variants in kept:
        if variants[0].unspaced:
            words |= {((pair,),): "" for pair in variants[0].parts}
        else:
            words.setdefault(tuple(dict.fromkeys(unit.parts for unit in variants)), variants[0].surface)
    return [QuestionWord(surface, word) for word, surface in words.items()]


class WordFinder:
    """Finds the words in texts of one language."""

    def __init__(self, words: Sequence[Word], analyzer: Analyzer) -> None:
        self._words = words
        self._analyzer = analyzer
        self._terms = frozenset(term for word in words for variant in word for term in variant)
        # A cache of words, because texts repeat them and few of them are in the question.
        self._known: dict[str, frozenset[str]] = {}

    def find(self, text: str) -> frozenset[int]:
        """Return the indices of the words in `text`. A word is in it if all terms of one variant are, in any order."""
        known = self._known
        present: set[str] = set()
        for compound in set(compounds(visible(text))):
            terms = known.get(compound)
            if terms is None:
                terms = known[compound] = self._terms.intersection(terms_of([compound], self._analyzer))
            present |= terms
        if not present:
            return frozenset()
        return frozenset(number for number, word in enumerate(self._words) if any(map(present.issuperset, word)))


class WeighedWords:
    """`weights`: of the words in the index, scaled to a sum of 1. `total`: the sum before scaling. `unknown`: words, in
    lower case, that no document has."""

    def __init__(self, connection: Connection, question: str) -> None:
        self.analyzers = lexical.analyzers_of_index(connection)
        self.words = question_words(question, self.analyzers)
        variants = [word.variants for word in self.words]
        terms = [Term(tuple(fulltext.quote(" ".join(variant)) for variant in word)) for word in variants]
        weighed = fulltext.weigh(connection, terms)
        # Text without spaces yields overlapping pairs of characters.
        counted = [1.0 if word.surface else PAIR for word in self.words]
        self.total = sum(word.weight * count for word, count in zip(weighed, counted, strict=True))
        whole = sum(word.weight for word in weighed) or 1.0
        self.weights = [word.weight / whole for word in weighed]
        self._surfaces = [word.surface.casefold() for word in self.words]
        self.unknown = frozenset(
            surface
            for surface, word in zip(self._surfaces, weighed, strict=True)
            if not any(count for _, count in word.frequencies)
        )
        self._finders = {analyzer.language: WordFinder(variants, analyzer) for analyzer in self.analyzers}

    def find(self, text: str, language: str | None) -> frozenset[int]:
        """Return the indices of the words in a text of a document in this language."""
        return self._finders[stemming_language(language)].find(text)

    def share(self, text: str, language: str | None, besides: Collection[str]) -> float:
        """Return the share of the words that a text has, by weight. `besides`: words to ignore, in lower case."""
        counted = {n: self.weights[n] for n, word in enumerate(self._surfaces) if word not in besides}
        return sum(counted.get(n, 0.0) for n in self.find(text, language)) / (sum(counted.values()) or 1.0)


def terms_of(words: Iterable[str], analyzer: Analyzer) -> list[str]:
    """Return the terms of compounds, in order."""
    return [term for compound in words for term in analyzer.terms_of(compound)[0].split()]
