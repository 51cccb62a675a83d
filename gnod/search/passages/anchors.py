"""What to look for in the texts of hits: which variants of the words, and which of them leads to the best passage.

In a short text, all are looked for. Of a longer one, the full-text table is asked which it contains, which takes much
less time than reading it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from gnod.analysis.markup import is_code
from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer
from gnod.search.keyword.expression import Expression, is_findable, terms_of
from gnod.search.keyword.marks import Mark, TermVariant, best_window, numbered, worth_of
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.tables.documents import DocumentRow

# In a shorter body, it is faster to look for all words everywhere than to look up where each one occurs.
_LONG = 1000
_POSITION = array("I").itemsize
# Sums have rounding errors.
_DIGITS = 9
# A more frequent word does not narrow the search.
_MAX_PLACES = 50
# The number of terms in a passage.
_WINDOW = 40


class AnchorTerms(NamedTuple):
    """`terms`: the variants of each word that a document may contain. `counts`: how often it has each word, where that
    was looked up, else 1. `anchor`: the rarest variant in its best window; None: not known."""

    terms: Sequence[Sequence[TermVariant]]
    counts: Sequence[int]
    anchor: TermVariant | None

    def worth(self, words: Iterable[int]) -> float:
        """Return what words say about the place that they are in: the rarer they are, the more."""
        return round(worth_of(words, self.counts), _DIGITS)

    def greatest_worth(self) -> float:
        """Return what a place with all of the words says."""
        return self.worth({number for _, number in numbered(self.terms)})


def analyzers_of(documents: Mapping[int, DocumentRow], analyzers: Sequence[Analyzer]) -> dict[int, Sequence[Analyzer]]:
    """Return what has analysed each document: the analyser of its language, or any of the index, where that is not
    known."""
    by_language: dict[str, Sequence[Analyzer]] = {analyzer.language: (analyzer,) for analyzer in analyzers}
    found = {id_: by_language.get(stemming_language(each.language), analyzers) for id_, each in documents.items()}
    return {
        id_: [analyzer.for_code for analyzer in of_text] if is_code(documents[id_].mime) else of_text
        for id_, of_text in found.items()
    }


def wanted(
    connection: Connection, expression: Expression, documents: Collection[int], texts: Collection[int]
) -> dict[int, AnchorTerms]:
    """Return what to look for in each of the documents. `texts`: those whose text is short."""
    long = set(fulltext.with_long_bodies(connection, list(documents), _LONG))
    found: dict[int, dict[str, bytes]] = {id_: {} for id_ in documents}
    # In a text, these may be parts of a longer identifier.
    wholes = {whole for word in (*expression.words, *expression.required) for whole in word.wholes}
    for phrase, terms in [(phrase, terms_of(phrase)) for phrase in expression.phrases()]:
        if not is_findable(terms):
            continue
        asked = []
        for id_ in fulltext.matching(connection, [(phrase,)], documents):
            if id_ in texts and id_ not in long and phrase not in wholes:
                found[id_][phrase] = b""
            else:
                asked.append(id_)
        for id_, positions in fulltext.body_positions(connection, phrase, asked) if asked else ():
            found[id_][phrase] = positions
    kept = {phrases: _terms(expression, phrases) for phrases in {frozenset(each) for each in found.values()}}
    return {
        id_: AnchorTerms(kept[frozenset(each)], _counts(expression, each), _anchor(each) if id_ in long else None)
        for id_, each in found.items()
    }


def _terms(expression: Expression, phrases: Collection[str]) -> list[list[TermVariant]]:
    words = dict.fromkeys([*expression.words, *expression.required])
    return [
        [*variants, word.written] if variants and word.written else variants
        for word, variants in zip(words, expression.query_terms(phrases), strict=True)
    ]


def _counts(expression: Expression, found: Mapping[str, bytes]) -> list[int]:
    words = dict.fromkeys([*expression.words, *expression.required])
    return [max(1, *(len(found.get(phrase, b"")) // _POSITION for phrase in word.phrases)) for word in words]


def _anchor(found: Mapping[str, bytes]) -> TermVariant | None:
    """Return the rarest variant in the best window."""
    positions = {terms_of(phrase): array("I", data) for phrase, data in found.items()}
    if max((each[-1] for each in positions.values()), default=0) < _LONG:
        return None
    rare = [(terms, each) for terms, each in positions.items() if len(each) <= _MAX_PLACES]
    marks = [Mark(start, start + 1, number) for number, (_, each) in enumerate(rare) for start in each]
    if not marks:
        return None
    terms, _ = min((rare[mark.term] for mark in best_window(sorted(marks), _WINDOW)), key=lambda pair: len(pair[1]))
    return terms
