"""What to look for in the texts of hits: which variants of the words each document has, and by which analysers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from gnod.analysis.markup import is_code
from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer
from gnod.search.keyword.expression import Expression
from gnod.search.keyword.marks import TermVariant
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.tables.documents import DocumentRow


def analyzers_of(documents: Mapping[int, DocumentRow], analyzers: Sequence[Analyzer]) -> dict[int, Sequence[Analyzer]]:
    """Return what has analysed each document: the analyser of its language, or any of the index, where that is not
    known."""
    by_language: dict[str, Sequence[Analyzer]] = {analyzer.language: (analyzer,) for analyzer in analyzers}
    found = {id_: by_language.get(stemming_language(each.language), analyzers) for id_, each in documents.items()}
    return {
        id_: [analyzer.for_code for analyzer in of_text] if is_code(documents[id_].mime) else of_text
        for id_, of_text in found.items()
    }


def variants_in(
    connection: Connection, expression: Expression, documents: Collection[int]
) -> dict[int, list[list[TermVariant]]]:
    """Return for each of the documents which variants of each word it has, and the words as written."""
    found: dict[int, set[str]] = {id_: set() for id_ in documents}
    for phrase in expression.phrases():
        for id_ in fulltext.matching(connection, [(phrase,)], documents):
            found[id_].add(phrase)
    kept = {phrases: _variants(expression, phrases) for phrases in set(map(frozenset, found.values()))}
    return {id_: kept[frozenset(each)] for id_, each in found.items()}


def _variants(expression: Expression, phrases: Collection[str]) -> list[list[TermVariant]]:
    words = dict.fromkeys([*expression.words, *expression.required])
    return [
        [*variants, word.written] if variants and word.written else variants
        for word, variants in zip(words, expression.query_terms(phrases), strict=True)
    ]
