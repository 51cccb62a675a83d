"""Turn ranked documents into hits: the best passage of each document, its place in the source, and the document's data.

Runs on a reader thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gnod.analysis.markup import is_code
from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer
from gnod.config.model import ContextConfig, contexts_for
from gnod.errors import LimitExceeded
from gnod.ingest.text.outline import headings_above
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import Expression
from gnod.search.keyword.marks import TermFinder, TermVariant, numbered, worth_of
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.passages.best_passage import (
    DocumentMatches,
    ShownPassage,
    beside,
    best_passage,
    best_passage_of,
    matches_in,
)
from gnod.search.passages.code_passages import best_definition
from gnod.search.query import messages
from gnod.search.query.messages import Speakers
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection, by_id
from gnod.store.keyword_index import fulltext
from gnod.store.tables import copies, definitions, documents, texts
from gnod.store.tables.copies import CopyPath
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.filters import Filters
from gnod.store.tables.records import StoredDefinition
from gnod.types import is_markdown

# The maximum length of all whole texts together. A message cannot be longer.
MAX_TEXT_CHARACTERS = 16 * 1024 * 1024
MAX_COPIES = 10
_WITHOUT_HEADINGS = ("code/", "text/")
# The words of a question are scattered over a function. So the words of a definition need only this share of the worth
# of the words in the best window (docs/BENCHMARKS.md has the figures).
DEFINITION_SHARE = 0.8


class Copies(NamedTuple):
    """Other files with the same bytes as a document: at most MAX_COPIES, and the number of the rest."""

    shown: list[CopyPath]
    left_out: int


NO_COPIES = Copies([], 0)


class DocumentHit(NamedTuple):
    """A document in the results. `passages`: best first, with lines of the canonical text. `definition`: the innermost
    definition around the best passage. `text`: the whole text, if it was requested. `matches`: counted if several
    passages were requested."""

    document: DocumentRow
    ranked: RankedDocument
    passages: list[ShownPassage]
    columns: documents.Columns
    context: str | None
    copies: Copies
    definition: StoredDefinition | None = None
    text: str | None = None
    matches: DocumentMatches | None = None


class HitOptions(NamedTuple):
    """`passages`: at most this many of each document; 0 for the documents alone. `full`: also return the whole texts.
    `filters`: the filters of the search, which copies must pass too. `speakers`: passages are from their messages."""

    contexts: Sequence[ContextConfig] = ()
    passages: int = 1
    full: bool = False
    filters: Filters = Filters()
    speakers: Speakers = Speakers()


class _SearchedText(NamedTuple):
    """A document with the data for the choice of its passages. `terms`: for each word of the query, the variants that
    the document has. `finder`: None for a very long text. `said`: the ranges of the speakers' messages; None if the
    document is not a conversation, or if the query names no speakers."""

    document: DocumentRow
    ranked: RankedDocument
    terms: Sequence[Sequence[TermVariant]]
    analyzers: Sequence[Analyzer]
    finder: TermFinder | None
    said: Sequence[tuple[int, int]] | None
    is_code: bool


def hits_of(
    connection: Connection,
    ranked: Sequence[RankedDocument],
    words: Expression,
    options: HitOptions,
    vectors: QueryVectors | None = None,
) -> list[DocumentHit]:
    """Return the hits in order, each with its best passage: inside the document's span if it has one. Leaves out
    documents that have left the index, and conversations in which no message of the role is a hit. `vectors`: the
    query's vectors, for further passages. Raises LimitExceeded if the whole texts are too long for an answer."""
    known = {each.id: each for each in ranked}
    analyzers = lexical.analyzers_of_index(connection)
    hits = _hits_of(connection, list(known), known, words, analyzers, options, vectors)
    return [hits[each.id] for each in ranked if each.id in hits]


def copies_of(
    connection: Connection, ids: Collection[int], filters: Filters, wanted: Expression | None = None
) -> dict[int, Copies]:
    """Return the copies of documents that pass the filters, by document id. Documents without copies are left out.

    `wanted`: the phrases that a copy must contain, or must not contain.
    """
    found = copies.others(connection, ids, filters)
    every = [each.id for group in found.values() for each in group]
    kept = lexical.allowed(connection, wanted, every) if wanted and every else set(every)
    shown = {id_: [each for each in group if each.id in kept] for id_, group in found.items()}
    return {id_: Copies(group[:MAX_COPIES], max(len(group) - MAX_COPIES, 0)) for id_, group in shown.items()}


@by_id
def _hits_of(
    connection: Connection,
    ids: Collection[int],
    ranked: Mapping[int, RankedDocument],
    words: Expression,
    analyzers: Sequence[Analyzer],
    options: HitOptions,
    vectors: QueryVectors | None,
) -> dict[int, DocumentHit]:
    found = {id_: each for id_, each in documents.by_ids(connection, ids).items() if each.active}
    if not options.passages and not options.speakers.roles:
        return {
            id_: DocumentHit(each, ranked[id_], [], documents.Columns(), None, NO_COPIES) for id_, each in found.items()
        }
    also = copies_of(connection, found, options.filters, words)
    known = documents.shown(connection, found)
    full = _full_texts(connection, found) if options.full else {}
    hits: dict[int, DocumentHit] = {}
    for searched in _searched(connection, found, ranked, known, words, analyzers, options.speakers):
        if (best := _best(connection, searched, options.speakers)) is None:
            continue
        more, matches = _further(connection, searched, best, options, vectors) if options.passages > 1 else ([], None)
        document = searched.document
        hits[document.id] = DocumentHit(
            document,
            searched.ranked,
            _with_headings(document, [best, *more], searched.finder) if options.passages else [],
            known[document.id].columns,
            contexts_for(options.contexts, document.collection, document.path),
            also.get(document.id, NO_COPIES),
            definitions.around(connection, document.id, best.line) if searched.is_code else None,
            full.get(document.id),
            matches,
        )
    return hits


def analyzers_of(documents: Mapping[int, DocumentRow], analyzers: Sequence[Analyzer]) -> dict[int, Sequence[Analyzer]]:
    """Return the analysers of each document: the one of its language, or all of the index if its language is
    unknown."""
    by_language: dict[str, Sequence[Analyzer]] = {analyzer.language: (analyzer,) for analyzer in analyzers}
    found = {id_: by_language.get(stemming_language(each.language), analyzers) for id_, each in documents.items()}
    return {
        id_: [analyzer.for_code for analyzer in of_text] if is_code(documents[id_].mime) else of_text
        for id_, of_text in found.items()
    }


def variants_in(
    connection: Connection, expression: Expression, documents: Collection[int]
) -> dict[int, list[list[TermVariant]]]:
    """Return for each document the variants that it has of each word, and the words as written."""
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


def _full_texts(connection: Connection, found: Mapping[int, DocumentRow]) -> dict[int, str]:
    full: dict[int, str] = {}
    room = MAX_TEXT_CHARACTERS
    for id_, document in found.items():
        full[id_] = documents.markdown(connection, document.mirror_hash)
        room -= len(full[id_])
        if room < 0:
            raise LimitExceeded("the whole texts of these documents are too long for one answer: lower the limit")
    return full


def _searched(
    connection: Connection,
    found: Mapping[int, DocumentRow],
    ranked: Mapping[int, RankedDocument],
    known: Mapping[int, documents.Shown],
    words: Expression,
    of_index: Sequence[Analyzer],
    speakers: Speakers,
) -> Iterator[_SearchedText]:
    analyzers = analyzers_of(found, of_index)
    variants = variants_in(connection, words, found)
    for id_, document in found.items():
        text = known[id_].text
        if text is None:
            text = texts.whole(connection, document.mirror_hash)
        finder = None if text is None else TermFinder(text, analyzers[id_])
        said = messages.ranges_of(finder.text, document.locations, speakers) if finder and any(speakers) else None
        yield _SearchedText(
            document, ranked[id_], variants[id_], analyzers[id_], finder, said, is_code=known[id_].is_code
        )


def _best(connection: Connection, searched: _SearchedText, speakers: Speakers) -> ShownPassage | None:
    """Return the best passage; None for a conversation in which no message of the roles is a hit."""
    if searched.said is None:
        return _passage(connection, searched)
    best = _best_message(searched)
    return best if best or speakers.roles else _passage(connection, searched)


def _further(
    connection: Connection,
    searched: _SearchedText,
    best: ShownPassage,
    options: HitOptions,
    vectors: QueryVectors | None,
) -> tuple[list[ShownPassage], DocumentMatches]:
    """Return the passages after the best one, and the matches of the whole document."""
    document, terms, said, span = searched.document, searched.terms, searched.said, searched.ranked.span
    finder = searched.finder or TermFinder(documents.markdown(connection, document.mirror_hash), searched.analyzers)
    nearest = vectors if span and span.line <= best.line <= span.end_line else None
    more = beside(connection, document, finder, best, terms, options.passages - 1, nearest)
    if said and options.speakers.roles:
        more = [each for each in more if any(low < each.line_end <= high for low, high in said)]
    return more, matches_in(finder, terms)


def _best_message(searched: _SearchedText) -> ShownPassage | None:
    """Return the best passage in one of the messages: with the words, or else the nearest by vector. If the query has
    no words, return the first message."""
    finder, terms, said, span = searched.finder, searched.terms, searched.said, searched.ranked.span
    if finder is None or not said:
        return None
    window = TermFinder(messages.alone(finder.text, said), finder.analyzers).for_words(terms).window(terms)
    low, high = (window[0].start, window[0].end) if window else (0, len(finder.text))
    if not window and span:
        low, high = span.start, span.end
    elif not window and terms:
        return None
    found = next((each for each in said if each[0] < high and low < each[1]), None)
    return best_passage(finder, terms, within=found) if found else None


def _with_headings(
    document: DocumentRow, passages: list[ShownPassage], finder: TermFinder | None
) -> list[ShownPassage]:
    """Return the passages as a reader sees them, with the headings above them, but without the title. `finder`: None
    for a very long text; its headings are not looked up."""
    shown = [each.as_read() if is_markdown(document.converter) else each.as_written() for each in passages]
    if finder is None or document.converter.startswith(_WITHOUT_HEADINGS):
        return shown
    above = [headings_above(finder.text, each.line_end) for each in passages]
    paths = [path[1:] if path[:1] == [document.title] else path for path in above]
    return [each._replace(heading=" > ".join(path)) for each, path in zip(shown, paths, strict=True)]


def _passage(connection: Connection, searched: _SearchedText) -> ShownPassage:
    """Return the best passage, with the lines of the whole text.

    The words decide, unless the words of another part are worth as much as those in the best window. This part is the
    nearest one by vector or, at a slightly lower worth, the best matching definition. If only vectors found the
    document, the passage is in the nearest part.
    """
    finder, terms = searched.finder, searched.terms
    if finder is None:
        return _passage_of_parts(connection, searched)
    part = _part(connection, searched, finder)
    if part is None or _is_whole(part, finder):
        return best_passage(finder, terms)
    worth = finder.worth(finder.words(terms, part), terms) / (DEFINITION_SHARE if searched.is_code else 1.0)
    if not (_only_vectors_found(searched.ranked) or worth >= finder.worth(_every(terms), terms)):
        passage = best_passage(finder, terms)
        if worth < finder.worth(passage.words, terms):
            return passage
    return best_passage(finder, terms, within=part)


def _every(terms: Sequence[Sequence[TermVariant]]) -> set[int]:
    return {number for _, number in numbered(terms)}


def _passage_of_parts(connection: Connection, searched: _SearchedText) -> ShownPassage:
    """Do as `_passage` for a text that is too long to be read at once. The frequencies of its words are unknown."""
    mirror, terms, analyzers = searched.document.mirror_hash, searched.terms, searched.analyzers
    near: ShownPassage | None = None
    if span := searched.ranked.span:
        finder = TermFinder(texts.stretch(connection, mirror, span.start, span.end), analyzers)
        near = best_passage(finder, terms).below(span.line - 1)
        words = finder.words(terms, (0, len(finder.text)))
        if _only_vectors_found(searched.ranked) or words >= _every(terms):
            return near
    passage = best_passage_of(texts.parts(connection, mirror), terms, analyzers)
    alike = [1] * len(terms)
    return near if near and worth_of(words, alike) >= worth_of(passage.words, alike) else passage


def _only_vectors_found(ranked: RankedDocument) -> bool:
    return ranked.span is not None and "lexical" not in ranked.components


def _is_whole(part: tuple[int, int], finder: TermFinder) -> bool:
    return part[0] <= 0 and part[1] >= len(finder.text.rstrip())


def _part(connection: Connection, searched: _SearchedText, finder: TermFinder) -> tuple[int, int] | None:
    """Return the range of the best definition, or of the nearest part by vector; None without either."""
    span = searched.ranked.span
    # A search for a symbol asks for the definition itself, which is then the span.
    if searched.is_code and "symbol" not in searched.ranked.components:
        found = best_definition(connection, searched.document, finder, searched.terms, span)
        if found is not None:
            return found
    return span and (max(span.start, 0), max(span.end, 0))
