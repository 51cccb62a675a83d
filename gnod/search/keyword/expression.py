"""Make FTS5 expressions from a query's clauses. Uses the analyser and FTS5's operators, but no storage.

A query is too short to detect its language. So each word is searched by its stems in every language of the index, and
in the language that the query's function words show. Words are OR-ed; phrases are required; negated clauses are
excluded. Other spellings (`plug-in` for `plugin`, 2026-05-04 for `4 May 2026`) count a little less than the typed one.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from gnod.analysis import stopwords
from gnod.analysis.common_words import is_common, is_of, language_of
from gnod.analysis.figures import figures
from gnod.analysis.prose import ENGLISH_WORDS
from gnod.analysis.stemming import fold, normalise, stemming_language
from gnod.analysis.stopwords import function_words
from gnod.analysis.terms import SPELLED, Analyzer, QueryUnit, compounds, is_name, is_unspaced, visible
from gnod.caches import Cache, Computed
from gnod.errors import QuerySyntaxError
from gnod.search.keyword.marks import ANY_ENDING, TermVariant, as_written
from gnod.search.query.parsing import PROSE_WORDS, Clause
from gnod.store.keyword_index.fulltext import Conditions, Term, quote
from gnod.store.tables.filters import Filters

# A longer query is usually a pasted page: more words cost time and add no meaning.
MAX_WORDS = 64
# Too many words begin with a shorter prefix.
_MIN_PREFIX = 3
# The weight of another spelling as a share of the word's weight, so that a document with the typed spelling comes
# first.
_SPELLING = 0.8
# Two words of a query may be written as one if each has this many letters, and both together have this many.
_MIN_JOINED, _MIN_JOINED_TOGETHER = 2, 5

# This many function words show that a query is in a language without documents.
_FUNCTION_WORDS = 2

_JOINERS = re.compile(r"[_.:/\\@&]")
_DIGIT = re.compile(r"\d")


Languages = tuple[frozenset[str] | None, ...]


class QueryTerm(NamedTuple):
    """One word, identifier or quoted phrase of a query, as FTS5 phrases. `variants`: one per stem. `wholes`: an
    identifier in one piece, which is rarer and so scores on top. `spellings`: other spellings. `languages`: for each of
    the first variants, the languages of this stem (None: all). `written`: the words as written; passages with these
    words come before those with their stems."""

    variants: tuple[str, ...]
    wholes: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    languages: Languages = ()
    written: TermVariant = ()

    @property
    def phrases(self) -> tuple[str, ...]:
        return (*self.variants, *self.wholes, *self.spellings)

    def with_spellings(self, occurs: Callable[[str], bool]) -> QueryTerm:
        """Keep only the spellings that occur. If a hyphenated spelling occurs, the two words are also searched."""
        found = tuple(filter(occurs, self.spellings))
        if not found:
            return self._replace(spellings=())
        stems = [phrase.strip('"') for phrase in self.variants]
        joined = [stem for stem in stems if quote(f"{stem}{SPELLED}") in found]
        divided = (quote(f"{word[:i]} {word[i:]}") for word in joined for i in range(2, len(word) - 1))
        return self._replace(spellings=(*found, *filter(occurs, divided)))

    def scored(self) -> list[Term]:
        """Return the terms that score. Spellings share the frequency of the variants, so a rare spelling does not weigh
        more."""
        wholes = [Term(self.wholes)] if self.wholes else []
        if not self.spellings:
            return [Term(self.variants, languages=self.languages), *wholes]
        together = Term((*self.variants, *self.spellings), _SPELLING, self.languages)
        return [together, Term(self.variants, 1 - _SPELLING, self.languages), *wholes]

    @property
    def expression(self) -> str:
        return f"({' OR '.join(self.phrases)})"


class Expression(NamedTuple):
    """`words` score, each as often as it is in the query. All of `required` must match, and none of `excluded`."""

    words: list[QueryTerm]
    required: list[QueryTerm]
    excluded: list[QueryTerm]

    def terms(self) -> list[Term]:
        """Return the terms that score. A repeated word weighs double."""
        weights: dict[tuple[tuple[str, ...], Languages], float] = {}
        for term in [term for word in (*self.words, *self.required) for term in word.scored()]:
            phrases = (term.phrases, term.languages)
            weights[phrases] = weights.get(phrases, 0) + term.weight
        return [Term(phrases, weight, languages) for (phrases, languages), weight in weights.items()]

    def with_spellings(self, occurs: Callable[[str], bool]) -> Expression:
        """Keep only the spellings that occur."""
        return self._replace(words=[word.with_spellings(occurs) for word in self.words])

    def phrases(self) -> list[str]:
        """Return every phrase that scores, once."""
        words = [*self.words, *self.required]
        return list(dict.fromkeys(phrase for word in words for phrase in word.phrases))

    def query_terms(self, among: Collection[str] | None = None) -> list[list[TermVariant]]:
        """Return the variants of each word as index terms, to mark a text. An identifier in one piece is marked by its
        parts, unless it is one word (`github` for `GitHub`). `among`: only these phrases."""
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
        """Return the conditions for documents: the filters and the phrases."""
        excluded = tuple(phrase for word in self.excluded for phrase in word.phrases)
        return Conditions(filters, [word.phrases for word in self.required], excluded)


def build(
    clauses: Sequence[Clause],
    analyzers: Sequence[Analyzer],
    *,
    own: Analyzer | None = None,
    prefix_last_term: bool = False,
) -> Expression:
    """Return the expression. `analyzers`: of the languages of the index. `own`: the analyser of the query's language,
    if the index does not have this language: languages share words. `prefix_last_term`: words that begin with the last
    word are its variants. Common words alone say little, so they also count as a phrase: `to be or not to be`.

    Raises QuerySyntaxError when nothing searchable is left.
    """
    terms = _plain_words(clauses)
    every = [*analyzers, own] if own else analyzers
    units = _spelled([_variants(text, every) for text in terms], terms, every)
    languages = [analyzer.language for analyzer in every]
    surfaces = [unit[0].surface.lower() for unit in units]
    dropped = function_words(surfaces, languages)
    shown = _shown_language(surfaces) if len(analyzers) > 1 and own is None else None
    words = [
        _word(unit, languages, shown if shown in languages else None)
        for unit in _loosened(units)
        if unit[0].surface.lower() not in dropped
    ]
    if prefix_last_term and words and not (clauses[-1].is_phrase or clauses[-1].is_negated or clauses[-1].is_wildcard):
        words[-1] = _with_prefix(words[-1], units[-1][0])
    if len(units) > 1 and all(map(is_common, surfaces)):
        words += _phrases([Clause(" ".join(terms), is_phrase=True)], analyzers)
    words += [QueryTerm(c.alternatives) for c in clauses if c.alternatives and not c.is_negated]
    required = _phrases([c for c in clauses if c.is_phrase and not c.is_negated], analyzers)
    excluded = _phrases([c for c in clauses if c.is_negated], analyzers)
    if not words and not required:
        raise QuerySyntaxError("the query has no words: add some", {"reason": "empty_query"})
    return Expression(words[:MAX_WORDS], required, excluded)


def own_language(clauses: Sequence[Clause]) -> str | None:
    """Return the stemmer of the language that several function words of a query show. A single one may be part of a
    name (`los angeles`)."""
    words = [word.lower() for word in compounds(" ".join(_plain_words(clauses)))]
    language = language_of({*words})
    is_shown = language and sum(is_of(word, language) for word in words) >= _FUNCTION_WORDS
    return stemming_language(language) if is_shown else None


def _plain_words(clauses: Sequence[Clause]) -> list[str]:
    return [c.text for c in clauses if not (c.is_negated or c.is_phrase or c.alternatives)]


def _shown_language(words: Sequence[str]) -> str | None:
    language = language_of({*words})
    return stemming_language(language) if language else None


def _variants(text: str, analyzers: Sequence[Analyzer]) -> list[tuple[QueryUnit, ...]]:
    """Return each unit of the text as every language analyses it; runs of unspaced scripts as pairs."""
    known = _known_variants(tuple(analyzer.language for analyzer in analyzers))
    units = known.get(text)
    if units is None:
        units = known.keep(text, _analysed(text, analyzers))
    return units


@lru_cache(8)
def _known_variants(_languages: tuple[str, ...]) -> Cache[str, list[tuple[QueryUnit, ...]]]:
    """Return the cache of analysed words for these languages, which all threads share. A query is analysed several
    times, and after the next keystroke most of its words are the same."""
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


def _spelled(
    units: Sequence[Sequence[tuple[QueryUnit, ...]]], texts: Sequence[str], analyzers: Sequence[Analyzer]
) -> list[tuple[QueryUnit, ...]]:
    """Return the units of all texts. Texts that together form a number, a date or one word get that as a spelling.
    Names get their parts, as in code."""
    spellings: list[dict[str, None]] = [{} for _ in texts]
    # In prose, words are not typed in pieces. (nDCG@10 of xquad-de, whose queries are questions: .934 with pairs, .936
    # without.)
    for number, text in enumerate(texts[1:] if len(texts) < PROSE_WORDS else (), 1):
        for joined in _joined(texts[number - 1], text, analyzers):
            spellings[number - 1][joined] = spellings[number][joined] = None
    for number, text in enumerate(texts):
        if is_name(text):
            spellings[number] |= dict.fromkeys(analyzer.for_code.terms_of(text)[0] for analyzer in analyzers)
    ends = list(accumulate(len(visible(text)) + 1 for text in texts))
    for figure in figures(" ".join(map(visible, texts))):
        for number in range(bisect_right(ends, figure.start), bisect_left(ends, figure.end) + 1):
            spellings[number][figure.form] = None
    return [
        (unit[0]._replace(spelled=(*unit[0].spelled, *more)), *unit[1:]) if more else unit
        for of_text, more in zip(units, spellings, strict=True)
        for unit in of_text
    ]


def _joined(first: str, second: str, analyzers: Sequence[Analyzer]) -> set[str]:
    """Return the terms of two words written as one: `log in` may be `login`, but `to day` is not `today`."""
    are_words = first.isalpha() and second.isalpha() and min(len(first), len(second)) >= _MIN_JOINED
    if not are_words or len(first + second) < _MIN_JOINED_TOGETHER or is_unspaced(first) or is_unspaced(second):
        return set()
    is_english = first.lower() in ENGLISH_WORDS
    if is_english or any(first.lower() in stopwords.of(analyzer.language) for analyzer in analyzers):
        return set()
    return {analyzer.terms_of((first + second).lower())[0] for analyzer in analyzers}


def _loosened(units: list[tuple[QueryUnit, ...]]) -> list[tuple[QueryUnit, ...]]:
    """If the query has other words, add the parts of a hyphenated compound as words: `state-of-the-art parser` should
    also find pages with another spelling. A compound alone is searched as written. (nDCG@10: xquad-de .930 to .935,
    claude-docs-rag .729 to .738, scifact .689 to .694; none lower by .002.)
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
                    loosened.append(tuple(QueryUnit("", (part,)) for part in parts))  # a stem is not a written word
    return loosened


def _word(units: tuple[QueryUnit, ...], languages: Sequence[str], shown: str | None) -> QueryTerm:
    """`languages`: of the analysers that returned the units; pairs of characters are the same in all. `shown`: the
    language that the query shows. Words count fully in its documents; without it, stems count fully in documents of
    their own languages."""
    by_parts: dict[tuple[str, ...], list[str]] = {}
    for unit, language in zip(units, languages, strict=False):
        by_parts.setdefault(unit.parts, []).append(shown or language)
    variants = tuple(_quoted(parts, units[0].unspaced) for parts in by_parts)
    wholes = dict.fromkeys(quote(unit.whole) for unit in units if unit.whole)
    spellings = dict.fromkeys(spelling for unit in units for spelling in _spellings(unit))
    of_some = map(frozenset, by_parts.values()) if shown or len(variants) > 1 else ()
    return QueryTerm(variants, tuple(wholes), tuple(spellings), tuple(of_some), _written(units[:1]))


def _written(units: Sequence[QueryUnit]) -> TermVariant:
    words = [word for unit in units for word in unit.surface.split("-")]
    if any(unit.unspaced for unit in units) or not all(map(str.isalnum, words)):
        return ()
    return tuple(map(as_written, words))


def _spellings(unit: QueryUnit) -> Iterator[str]:
    """Yield the phrases of other spellings of a term of the query, or of terms that may be one in documents."""
    own = unit.whole or unit.parts[0]
    if (unit.whole or len(unit.parts) == 1) and not unit.unspaced and own[-1] != SPELLED:
        yield quote(f"{own}{SPELLED}")
    for other in unit.spelled:
        yield quote(other.replace("-", " "))  # the parts of an ISO date
        if _DIGIT.search(other):  # documents index a spelling with letters also as the query's
            yield quote(f"{other}{SPELLED}")


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
    found = [
        (c.alternatives or tuple(dict.fromkeys(p for a in _readers(c, analyzers) if (p := _phrase(c.text, a)))), c)
        for c in clauses
    ]
    return [
        QueryTerm(alternatives, written=() if c.alternatives else _written(analyzers[0].units(c.text)))
        for alternatives, c in found
        if alternatives
    ]


def _readers(clause: Clause, analyzers: Sequence[Analyzer]) -> Sequence[Analyzer]:
    """Return the analysers for a phrase: for prose, and also for code if the phrase has a name."""
    has_name = any(map(is_name, clause.text.split()))
    return [*analyzers, *(analyzer.for_code for analyzer in analyzers)] if has_name else analyzers


def _phrase(text: str, analyzer: Analyzer) -> str | None:
    units = analyzer.units(text)
    # The index does not have symbols and signs at their place in the text.
    units = [unit for unit in units if unit.parts[0][-1] != SPELLED] or units[:1]
    if not units:
        return None
    *before, last = units
    # In the index, an unspaced run ends with a single character. The last run of a phrase may continue there.
    parts = [part for unit in before for part in unit.indexed_parts()] + list(last.parts)
    return _quoted(tuple(parts), last.unspaced)


def _quoted(parts: tuple[str, ...], unspaced: bool) -> str:
    # The index has a single character of an unspaced script as the start of a pair.
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
    """Return whether these terms can be found in a text. An identifier in one piece cannot: it is found by its
    parts."""
    return all(term[-1] in f"+#{SPELLED}" or not _JOINERS.search(term) for term in terms)
