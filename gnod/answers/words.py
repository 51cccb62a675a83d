"""The content words of a question, and which of them a text contains. Pure; only one thread may use an Analyzer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words
from gnod.analysis.terms import Analyzer, compounds, visible

# These are function words in a question. The English list does not contain them, because commands and code need them.
_PREPOSITIONS = frozenset({"about", "as", "at", "by", "for", "from", "in", "into", "on", "with"})

# One word of a question: its variants in the languages of the index. Each one is a sequence of terms.
Word = tuple[tuple[str, ...], ...]


class QuestionWord(NamedTuple):
    """`surface`: the word as it is written; empty for a pair of characters of a script without spaces."""

    surface: str
    variants: Word


def content_words(question: str, analyzers: Sequence[Analyzer]) -> list[Word]:
    """Return the question's words without function words, each once. If it has function words only, return these.

    >>> content_words("How old is the cat?", [Analyzer("en")])
    [(('old',),), (('cat',),)]
    """
    return [word.variants for word in question_words(question, analyzers)]


def question_words(question: str, analyzers: Sequence[Analyzer]) -> list[QuestionWord]:
    """Return the words of `content_words` with their surfaces."""
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
        # Words are remembered, because texts repeat them and few of them are in the question.
        self._known: dict[str, frozenset[str]] = {}

    def find(self, text: str) -> frozenset[int]:
        """Return the numbers of the words in `text`: of those with all terms of one variant, in any order."""
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


def terms_of(words: Iterable[str], analyzer: Analyzer) -> list[str]:
    """Return the terms of compounds, in order."""
    return [term for compound in words for term in analyzer.terms_of(compound)[0].split()]
