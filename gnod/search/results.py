"""Requests of clients, and their results: sorted, counted by facet, each with its passages.

May run in another process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from gnod.config.model import ContextConfig
from gnod.freshness.read_your_writes import FreshnessReport
from gnod.search.correction.query_correction import Corrected, WordCorrection
from gnod.search.fields import field_values
from gnod.search.fields.conditions import negated
from gnod.search.fields.field_values import MAX_VALUES, Count, DocumentValues
from gnod.search.fields.reading import FieldedQuery
from gnod.search.hits import DocumentHit, HitOptions, hits_of
from gnod.search.hybrid import retrieval
from gnod.search.hybrid.across_indexes import Joined
from gnod.search.hybrid.budget import ReadabilityOf, Stage, milliseconds_since, stage
from gnod.search.keyword import lexical, listing, symbols
from gnod.search.keyword.expression import Expression
from gnod.search.keyword.lexical import LexicalResult
from gnod.search.meaning.vector_search import QueryVectors, SurveyedVectors
from gnod.search.query.messages import Speakers
from gnod.search.query.parsing import Clause, parse_text
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection
from gnod.store.tables.filters import Condition, Filters

T = TypeVar("T")
# Among this many of the best documents, keep those with a message of the role that has the words.
MESSAGES_DEPTH = 200


class SearchRequest(NamedTuple):
    """`text`: the query as written, with its fields. `exact`: do not correct words that no document has. `fresh`: sync
    the collections first. `sort`: a field, with a minus before it for descending. `passages`: at most this many of each
    document; 0 returns the documents alone. `full`: also return the whole texts. `loose`: also return documents that
    are only loosely similar. `fields`: filters; a document must have one of the values of each field. `facet_values`:
    return at most this many. `columns`: return the values of these fields. `offset`: leave out this many of the first
    results."""

    text: str
    filters: Filters = Filters()
    limit: int = 10
    min_score: float = 0.0
    exact: bool = False
    fresh: bool = False
    sort: str | None = None
    fields: Mapping[str, tuple[str, ...]] = {}
    facets: tuple[str, ...] = ()
    facet_values: int = MAX_VALUES
    passages: int = 1
    full: bool = False
    loose: bool = True
    columns: tuple[str, ...] = ()
    offset: int = 0

    @property
    def end(self) -> int:
        """Return the number of best results that are needed."""
        return self.offset + self.limit

    @property
    def collections(self) -> list[str]:
        """Return the collections that are searched; all when empty."""
        return list(self.filters.collections)


class Results(NamedTuple):
    """`mode`: lexical, vector, query, similar or list. `query`: as the client sent it; for similar, the document's
    address. `total`, `loose`: as in the wire's SearchResult. `lexical_only_reason`: why a hybrid search used keywords
    alone, if it did. `explain`: explanations besides the stages."""

    mode: str
    query: str
    hits: list[DocumentHit]
    total: int
    took_ms: float
    freshness: FreshnessReport
    stages: Sequence[Stage]
    corrections: Sequence[WordCorrection] = ()
    notes: Sequence[str] = ()
    hints: Sequence[str] = ()
    facets: Mapping[str, Sequence[Count]] = {}
    lexical_only_reason: str | None = None
    explain: Mapping[str, object] = {}
    loose: int = 0
    rows: Sequence[DocumentValues] = ()


class AskedQuery(NamedTuple):
    """A request after its fields were read. `query`: without the fields. `filters`: from the fields, then from
    `chosen`. `report`: returns how current the index is. For a keyword search the request can be sent to any
    process."""

    request: SearchRequest
    query: FieldedQuery
    filters: Filters
    contexts: tuple[ContextConfig, ...]
    started: float
    report: Callable[[Connection], FreshnessReport]
    chosen: Mapping[str, Condition] = {}

    @property
    def beside(self) -> dict[str, Filters]:
        """Return for each field that is a filter: the filters for documents that pass all others, but not this one."""
        found = {name: self._but(name) for name in self.chosen}
        if names := self.filters.collections:
            marks = ",".join("?" * len(names))
            other = Condition(f"d.collection_id NOT IN (SELECT id FROM collections WHERE name IN ({marks}))", names)
            conditions = (*self.filters.conditions, other)
            found["collection"] = self.filters._replace(collections=(), conditions=conditions)
        return found

    def _but(self, name: str) -> Filters:
        conditions = self.filters.conditions
        kept = conditions[: len(conditions) - len(self.chosen)]
        others = (condition for other, condition in self.chosen.items() if other != name)
        return self.filters._replace(conditions=(*kept, *others, negated(self.chosen[name])))

    @property
    def depth(self) -> int:
        """Return how many documents to rank: more than needed if they will be sorted, or if messages decide."""
        many = field_values.MOST_SORTED if self.request.sort else MESSAGES_DEPTH if self.speakers.roles else 0
        return max(many, self.request.end)

    @property
    def speakers(self) -> Speakers:
        """Return the speakers whose messages are searched, from the query and from the filters."""
        roles, names = (tuple(map(str.casefold, self.request.fields.get(name, ()))) for name in ("role", "from"))
        return Speakers(self.query.speakers.roles + roles, self.query.speakers.names + names)


class Found(NamedTuple):
    """The result of retrieval, before it is sorted and shown. `total`: None means the number of hits. `words`: the
    words to mark. `matches` returns at most this number of documents that pass the filters, for facets to count.
    `loose`: how many documents are only loosely similar, returned or left out."""

    mode: str
    ranked: Sequence[RankedDocument]
    words: Expression
    stages: list[Stage]
    matches: Callable[[Filters, int], Sequence[int]]
    corrected: Corrected
    total: int | None = None
    vectors: QueryVectors | None = None
    notes: Sequence[str] = ()
    lexical_only_reason: str | None = None
    explain: Mapping[str, object] = {}
    loose: int = 0


class KeywordSearch(NamedTuple):
    """A parsed keyword search. `is_unfinished`: the user still types the last word."""

    asked: AskedQuery
    clauses: list[Clause]
    is_unfinished: bool
    corrected: Corrected


def search_keywords(connection: Connection, encode: Callable[[Results], T], worded: KeywordSearch) -> T:
    """Search, and encode the results. May run in another process."""
    asked = worded.asked
    found = lexical.search(
        connection,
        worded.clauses,
        asked.filters,
        limit=asked.depth,
        min_score=asked.request.min_score,
        prefix_last_term=worded.is_unfinished,
    )
    return encode(keyword_results(connection, worded, found))


def keyword_results(
    connection: Connection, worded: KeywordSearch, result: LexicalResult, shared: Joined | None = None
) -> Results:
    asked, expression = worded.asked, result.expression
    stages = correct_stage(worded.corrected, asked.started)
    stages.append(stage("bm25", asked.started, {"matches": result.total}))
    found = Found(
        mode="keyword",
        ranked=definitions_first(asked, connection, result.ranked),
        words=expression,
        stages=stages,
        matches=lambda filters, most: _matches(connection, result, filters, most),
        corrected=worded.corrected,
        total=result.total,
        explain={
            "words": [word.expression for word in expression.words],
            "required": [word.expression for word in expression.required],
            "excluded": [word.expression for word in expression.excluded],
            "languages": [analyzer.language for analyzer in lexical.analyzers_of_index(connection)],
        },
    )
    return results_of(connection, asked, found, shared)


def vector_results(
    connection: Connection,
    asked: AskedQuery,
    surveyed: SurveyedVectors,
    corrected: Corrected,
    vectors: QueryVectors,
    stages: list[Stage],
    shared: Joined,
    readability: ReadabilityOf,
) -> Results:
    words = lexical.expression_of(connection, parse_text(corrected.text))
    facts = retrieval.facts_of(connection, [each.id for each in surveyed.ranked])
    loose = retrieval.loose_documents(connection, [words], {0: surveyed}, facts, vectors, readability)
    marked = [each._replace(is_loose=each.id in loose) for each in surveyed.ranked]
    shown = marked if asked.request.loose else [each for each in marked if not each.is_loose]
    ranked = definitions_first(asked, connection, shown)
    found = Found(
        mode="vector",
        ranked=ranked,
        words=words,
        stages=stages,
        matches=compared([each.id for each in ranked], connection, asked, words),
        corrected=corrected,
        vectors=vectors,
        notes=vectors.left_out,
        loose=len(loose),
    )
    return results_of(connection, asked, found, shared)


def _matches(connection: Connection, found: LexicalResult, filters: Filters, most: int) -> list[int]:
    """Return the documents that facets count: all matches in the local index, and those that other indexes returned."""
    return [*lexical.all_matches(connection, found.expression, filters, most), *found.elsewhere]


def compared(
    ids: Sequence[int], connection: Connection, asked: AskedQuery, words: Expression
) -> Callable[[Filters, int], Sequence[int]]:
    """Return what facets count in a search by a model: the documents that the model compared. With other filters the
    model would have compared other documents. Of these, only the documents with words of the query are known."""

    def matches(filters: Filters, most: int) -> Sequence[int]:
        if filters is asked.filters:
            return ids
        return lexical.all_matches(connection, words, filters, most)

    return matches


def listed(connection: Connection, asked: AskedQuery) -> Results:
    """Return the newest documents that pass the filters, for a query without words to rank by."""
    excluded = asked.query.clauses
    newest = listing.newest(connection, excluded, asked.filters, limit=asked.depth)
    found = Found(
        mode="list",
        ranked=definitions_first(asked, connection, newest.ranked),
        words=lexical.expression_of(connection, asked.query.terms),
        stages=[stage("list", asked.started, {"matches": newest.total})],
        matches=lambda filters, most: listing.ids(connection, excluded, filters, limit=most),
        corrected=Corrected(asked.query.text),
        total=newest.total,
    )
    return results_of(connection, asked, found)


def results_of(connection: Connection, asked: AskedQuery, found: Found, shared: Joined | None = None) -> Results:
    """Sort the documents that were found, and return them as hits."""
    request, started = asked.request, time.perf_counter()
    ranked = _page(connection, request, found)
    hits = _hits(connection, asked, found, ranked)
    fields = {"fields": list(asked.query.fields)} if asked.query.fields else {}
    report, notes = asked.report(connection), found.notes
    if shared is not None:
        report, notes = with_lag(report, shared), [*notes, *dict.fromkeys(shared.notes)]
    return Results(
        mode=found.mode,
        query=request.text,
        hits=hits,
        total=_total(asked, found, len(hits)),
        took_ms=milliseconds_since(asked.started),
        freshness=report,
        stages=[*found.stages, stage("passages", started, {})],
        corrections=found.corrected.corrections,
        notes=notes,
        hints=asked.query.hints_for(len(hits)),
        facets=_facets(connection, asked, found) if request.facets else {},
        lexical_only_reason=found.lexical_only_reason,
        explain={**fields, **found.explain},
        loose=found.loose,
        rows=field_values.rows(connection, [each.document.id for each in hits], request.columns)
        if request.columns
        else (),
    )


def _hits(connection: Connection, asked: AskedQuery, found: Found, page: Sequence[RankedDocument]) -> list[DocumentHit]:
    request = asked.request
    options = HitOptions(asked.contexts, request.passages, request.full, asked.filters, asked.speakers)
    if not asked.speakers.roles:
        return hits_of(connection, page, found.words, options, found.vectors)
    # A conversation is a hit only if a message of the role has a word of the query.
    hits = list[DocumentHit]()
    ranked = field_values.ordered(connection, found.ranked, request.sort) if request.sort else found.ranked
    for start in range(0, len(ranked), request.end):
        hits += hits_of(connection, ranked[start : start + request.end], found.words, options, found.vectors)
        if len(hits) >= request.end:
            break
    return hits[request.offset : request.end]


def _total(asked: AskedQuery, found: Found, hits: int) -> int:
    is_known = found.total is not None and not (asked.speakers.roles and hits < asked.request.limit)
    return found.total if found.total is not None and is_known else hits


def _page(connection: Connection, request: SearchRequest, found: Found) -> Sequence[RankedDocument]:
    """Return the page, sorted. Rankings by models are sorted page by page, because their length differs from page to
    page."""
    page = slice(request.offset, request.end)
    if not request.sort:
        return found.ranked[page]
    if found.mode in ("hybrid", "vector"):
        return field_values.ordered(connection, found.ranked[page], request.sort)
    return field_values.ordered(connection, found.ranked, request.sort)[page]


def _facets(connection: Connection, asked: AskedQuery, found: Found) -> dict[str, list[Count]]:
    """Count the values of a field that is a filter as if it were not one. So a user can also choose its other
    values."""
    names, most = asked.request.facets, asked.request.facet_values
    ids = found.matches(asked.filters, field_values.MAX_DOCUMENTS)
    counts = field_values.count(connection, names, ids, most)
    for name, filters in asked.beside.items():
        if name in names or (field_values.OWN in names and field_values.is_own(connection, name)):
            others = found.matches(filters, field_values.MAX_DOCUMENTS)
            counts |= field_values.count(connection, [name], [*ids, *others], most)
    return counts


def with_lag(report: FreshnessReport, shared: Joined) -> FreshnessReport:
    """Add the changes that other sources do not have yet."""
    return report._replace(pending=report.pending + shared.behind)


def definitions_first(asked: AskedQuery, connection: Connection, ranked: list[RankedDocument]) -> list[RankedDocument]:
    """Put the documents that define the name after `symbol:` before those that use it."""
    if not asked.query.symbols:
        return ranked
    found = symbols.with_definitions(connection, asked.query.symbols, asked.filters, ranked, asked.depth)
    return [each for each in found if each.score >= asked.request.min_score]


def correct_stage(corrected: Corrected, started: float) -> list[Stage]:
    """Return the stage for `explain` about the corrections of a query; an empty list if there are none."""
    if not corrected.corrections:
        return []
    return [stage("correct", started, {"corrections": [f"{w} → {s}" for w, s in corrected.corrections]})]
