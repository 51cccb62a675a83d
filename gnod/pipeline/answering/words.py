"""What a question is about, and how much of it stands in a text. Pure; an Analyzer belongs to one thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words
from gnod.analysis.terms import Analyzer, compounds, visible
from gnod.pipeline.passages import Spelling

# The English list keeps them, for commands and code; what a question asks for is said by other words.
_PREPOSITIONS = frozenset({"about", "as", "at", "by", "for", "from", "in", "into", "on", "with"})

# One word of a question, in the spellings that the languages of the index give it.
Word = tuple[Spelling, ...]


def content_words(question: str, analyzers: Sequence[Analyzer]) -> list[Word]:
    """Return the question's words without those that it is merely built with, each once; all, when there are no others.

    >>> content_words("How old is the cat?", [Analyzer("en")])
    [(('old',),), (('cat',),)]
    """
    by_language = list(zip(*(analyzer.units(question) for analyzer in analyzers), strict=True))
    languages = [analyzer.language for analyzer in analyzers]
    dropped = function_words((variants[0].surface for variants in by_language), languages)
    dropped |= ENGLISH_FUNCTION_WORDS | _PREPOSITIONS
    kept = [variants for variants in by_language if variants[0].surface.lower() not in dropped] or by_language
    words: dict[Word, None] = {}
    for variants in kept:
        if variants[0].unspaced:
            words |= {((pair,),): None for pair in variants[0].parts}
        else:
            words[tuple(dict.fromkeys(unit.parts for unit in variants))] = None
    return list(words)


class WordFinder:
    """Tells which words stand in the texts of one document, each analysed as the index has it."""

    def __init__(self, words: Sequence[Word], analyzer: Analyzer) -> None:
        self._words = words
        self._analyzer = analyzer
        self._wanted = frozenset(term for word in words for spelling in word for term in spelling)
        # Few of a text's words are in the question, and all come again and again.
        self._known: dict[str, frozenset[str]] = {}

    def find(self, text: str) -> frozenset[int]:
        """Return the numbers of the words that stand in `text`: all terms of one of their spellings, in any order."""
        known = self._known
        present: set[str] = set()
        for compound in set(compounds(visible(text))):
            terms = known.get(compound)
            if terms is None:
                terms = known[compound] = self._wanted.intersection(terms_of([compound], self._analyzer))
            present |= terms
        if not present:
            return frozenset()
        return frozenset(
            number for number, word in enumerate(self._words) if any(present.issuperset(spelling) for spelling in word)
        )


def terms_of(words: Iterable[str], analyzer: Analyzer) -> list[str]:
    """Return the terms of compounds, in order."""
    return [term for compound in words for term in analyzer.terms_of(compound)[0].split()]
