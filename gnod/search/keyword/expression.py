"""From a query's clauses to FTS5 expressions. Knows the analyser and FTS5's operators, no storage.

A query is too short to detect its language, so each word is searched in the stem of every language of the index.
Words are OR-ed; phrases are required; negated clauses are excluded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from gnod.analysis.common_words import is_common, language_of
from gnod.analysis.stemming import fold, normalise, stemming_language
from gnod.analysis.stopwords import function_words
from gnod.analysis.terms import Analyzer, QueryUnit
from gnod.caches import Cache, Computed
from gnod.errors import QuerySyntaxError
from gnod.search.keyword.marks import ANY_ENDING, TermVariant
from gnod.search.query.parsing import Clause
from gnod.store.keyword_index.fulltext import Term, quote
from gnod.store.keyword_index.postings.searching import Conditions
from gnod.store.tables.filters import Filters

# A longer query is a pasted page: more words cost time and add no meaning.
MAX_WORDS = 64
# Too many words begin with fewer letters.
_MIN_PREFIX = 3

_JOINERS = re.compile(r"[_.:/\\@&]")


class QueryTerm(NamedTuple):
    """One word, identifier or quoted phrase of a query, as FTS5 phrases: `variants`, one per stem, and `wholes`, an
    identifier in one piece, which is rarer and so scores on top. `languages`: of each of the first variants, those
    whose stem it is (None: of all)."""

    variants: tuple[str, ...]
    wholes: tuple[str, ...] = ()
    languages: tuple[frozenset[str] | None, ...] = ()

    @property
    def phrases(self) -> tuple[str, ...]:
        return (*self.variants, *self.wholes)

    @property
    def expression(self) -> str:
        return f"({' OR '.join(self.phrases)})"


class Expression(NamedTuple):
    """`words` score, each as often as it is in the query; all of `required` must match, and none of `excluded`."""

    words: list[QueryTerm]
    required: list[QueryTerm]
    excluded: list[QueryTerm]

    def terms(self) -> list[Term]:
        """Return what is scored: a repeated word weighs double."""
        words = [*self.words, *self.required]
        parts = [part for word in words for part in ((word.variants, word.languages), (word.wholes, ())) if part[0]]
        return [Term(phrases, weight, languages) for (phrases, languages), weight in Counter(parts).items()]

    def phrases(self) -> list[str]:
        """Return every phrase that scores, once."""
        words = [*self.words, *self.required]
        return list(dict.fromkeys(phrase for word in words for phrase in word.phrases))

    def query_terms(self, among: Collection[str] | None = None) -> list[list[TermVariant]]:
        """Return the variants of each word as index terms, for marking a text. An identifier in one piece is marked by
        its parts, unless it is one word (`github` for `GitHub`). `among`: only these phrases."""
        words = dict.fromkeys([*self.words, *self.required])
        return [
            [
                terms
                for phrase in word.phrases
                if (among is None or phrase in among) and is_findable(terms := terms_of(phrase))
            ]
            for word in words
        ]

    def every_word(self) -> list[tuple[str, ...]]:
        """Return the phrases of each word, once."""
        return list(dict.fromkeys(word.phrases for word in [*self.words, *self.required]))

    def identifiers(self) -> set[str]:
        """Return the phrases of identifiers that are one word but not the name of a file: `tokenBucket`, not
        `bucket.py`."""
        return {whole for word in [*self.words, *self.required] for whole in word.wholes if not set("./") & set(whole)}

    def required_phrases(self) -> str | None:
        return " AND ".join(word.expression for word in self.required) or None

    def conditions(self, filters: Filters) -> Conditions:
        """Return what documents must pass, besides filters."""
        excluded = tuple(phrase for word in self.excluded for phrase in word.phrases)
        return Conditions(filters, [word.phrases for word in self.required], excluded)


def build(clauses: Sequence[Clause], analyzers: Sequence[Analyzer], *, prefix_last_term: bool = False) -> Expression:
    """Return the expression. `prefix_last_term`: words that begin with the last one are variants of it. Common words
    alone say little, so they also count as a phrase: `to be or not to be`.

    Raises QuerySyntaxError when nothing searchable is left.
    """
    terms = [c.text for c in clauses if not (c.is_negated or c.is_phrase or c.alternatives)]
    units = [unit for text in terms for unit in _variants(text, analyzers)]
    languages = [analyzer.language for analyzer in analyzers]
    dropped = function_words((unit[0].surface for unit in units), languages)
    shown = _shown_language(units, languages)
    words = [_word(unit, languages, shown) for unit in _loosened(units) if unit[0].surface.lower() not in dropped]
    if prefix_last_term and words and not (clauses[-1].is_phrase or clauses[-1].is_negated or clauses[-1].is_wildcard):
        words[-1] = _with_prefix(words[-1], units[-1][0])
    if len(units) > 1 and all(is_common(unit[0].surface.lower()) for unit in units):
        words += _phrases([Clause(" ".join(terms), is_phrase=True)], analyzers)
    words += [QueryTerm(c.alternatives) for c in clauses if c.alternatives and not c.is_negated]
    required = _phrases([c for c in clauses if c.is_phrase and not c.is_negated], analyzers)
    excluded = _phrases([c for c in clauses if c.is_negated], analyzers)
    if not words and not required:
        raise QuerySyntaxError("the query has no words: add some", {"reason": "empty_query"})
    return Expression(words[:MAX_WORDS], required, excluded)


def _variants(text: str, analyzers: Sequence[Analyzer]) -> list[tuple[QueryUnit, ...]]:
    """Return each unit of the text as every language analyses it; runs of unspaced scripts as pairs."""
    known = _known_variants(tuple(analyzer.language for analyzer in analyzers))
    units = known.get(text)
    if units is None:
        units = known.keep(text, _analysed(text, analyzers))
    return units


@lru_cache(8)
def _known_variants(_languages: tuple[str, ...]) -> Cache[str, list[tuple[QueryUnit, ...]]]:
    """Return what is known of the words of queries in these languages, for all threads: a query is analysed several
    times, and the next keystroke has its words again."""
    return Cache()


def _analysed(text: str, analyzers: Sequence[Analyzer]) -> list[tuple[QueryUnit, ...]]:
    by_language = zip(*(analyzer.units(text) for analyzer in analyzers), strict=True)
    units: list[tuple[QueryUnit, ...]] = []
    for variants in by_language:
        first = variants[0]
        if first.unspaced and len(first.parts) > 1:
            units += [(QueryUnit(pair, (pair,), unspaced=True),) for pair in first.parts]
        else:
            units.append(variants)
    return units


def _loosened(units: list[tuple[QueryUnit, ...]]) -> list[tuple[QueryUnit, ...]]:
    """Beside other words, add the parts of a hyphenated compound as words: `state-of-the-art parser` should not miss a
    page for its spelling. Alone, the compound is searched as written.
    (nDCG@10: xquad-de .930 to .935, claude-docs-rag .729 to .738, scifact .689 to .694; none lower by .002.)
    """
    if len(units) < 2:
        return units
    loosened: list[tuple[QueryUnit, ...]] = []
    for variants in units:
        loosened.append(variants)
        first = variants[0]
        if len(first.parts) > 1 and not first.whole and not first.unspaced:
            for parts in zip(*(variant.parts for variant in variants), strict=True):
                if len(parts[0]) > 1:
                    loosened.append(tuple(QueryUnit(part, (part,)) for part in parts))
    return loosened


def _shown_language(units: Sequence[tuple[QueryUnit, ...]], languages: Sequence[str]) -> str | None:
    """Return which of the languages the query shows to be its own, by its function words."""
    language = language_of({unit[0].surface.lower() for unit in units}) if len(languages) > 1 else None
    return code if language and (code := stemming_language(language)) in languages else None


def _word(units: tuple[QueryUnit, ...], languages: Sequence[str], shown: str | None) -> QueryTerm:
    """`languages`: of the analysers that returned the units; pairs of characters are the same in all. Words count fully
    in documents of the language that the query shows; if it shows none, stems in those of their own languages."""
    by_parts: dict[tuple[str, ...], list[str]] = {}
    for unit, language in zip(units, languages, strict=False):
        by_parts.setdefault(unit.parts, []).append(shown or language)
    variants = tuple(_quoted(parts, units[0].unspaced) for parts in by_parts)
    wholes = dict.fromkeys(quote(unit.whole) for unit in units if unit.whole)
    of_some = map(frozenset, by_parts.values()) if shown or len(variants) > 1 else ()
    return QueryTerm(variants, tuple(wholes), tuple(of_some))


def _with_prefix(word: QueryTerm, unit: QueryUnit) -> QueryTerm:
    """Add the words that begin with the unit, unless the term was made of another unit."""
    prefix = fold(normalise(unit.surface))
    if unit.unspaced or not unit.surface.isalnum() or len(prefix) < _MIN_PREFIX:
        return word
    if _quoted(unit.parts, unspaced=False) not in word.variants:
        return word  # the last word is a function word
    return word._replace(variants=(*word.variants, prefix_phrase(prefix)))


def prefix_phrase(prefix: str) -> str:
    return f"{quote(prefix)} *"


def _phrases(clauses: Sequence[Clause], analyzers: Sequence[Analyzer]) -> list[QueryTerm]:
    """Return each clause as one phrase, with one variant per language."""
    found = (c.alternatives or tuple(dict.fromkeys(p for a in analyzers if (p := _phrase(c.text, a)))) for c in clauses)
    return [QueryTerm(alternatives) for alternatives in found if alternatives]


def _phrase(text: str, analyzer: Analyzer) -> str | None:
    units = analyzer.units(text)
    if not units:
        return None
    *before, last = units
    # In the index, an unspaced run ends with a single character. The last run of a phrase may continue there.
    parts = [part for unit in before for part in unit.indexed_parts()] + list(last.parts)
    return _quoted(tuple(parts), last.unspaced)


def _quoted(parts: tuple[str, ...], unspaced: bool) -> str:
    # One character of an unspaced script is indexed as the start of a pair.
    prefix = " *" if unspaced and len(parts[-1]) == 1 else ""
    return quote(" ".join(parts)) + prefix


def _terms_of_phrase(phrase: str) -> TermVariant:
    terms = tuple(phrase.removesuffix(" *").strip('"').split())
    is_prefix = phrase.endswith(" *") and len(terms[-1]) >= _MIN_PREFIX
    return (*terms[:-1], terms[-1] + ANY_ENDING) if is_prefix else terms


_terms = Computed(_terms_of_phrase)


def terms_of(phrase: str) -> TermVariant:
    """Return the index terms of a phrase."""
    return _terms[phrase]


def is_findable(terms: TermVariant) -> bool:
    """Tell whether these terms can be found in a text: an identifier in one piece is found by its parts."""
    return all(term[-1] in "+#" or not _JOINERS.search(term) for term in terms)
