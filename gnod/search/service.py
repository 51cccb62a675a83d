"""The search service does the work between a request and its results. Every kind of search takes the same steps:

    check ─► sync if requested ─► read the fields ─► correct and parse ─► retrieve and rank ─► sort, facets, hits

Query vectors are computed in parallel with the first steps. Steps that read the index run on a reader thread. No search
waits for the download of a model: if a model is missing, the answer is an error that names the command. Must not depend
on the wire types.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Raw

from gnod.configured.configuration import Configuration
from gnod.errors import InvalidParams, QuerySyntaxError
from gnod.freshness.read_your_writes import FreshnessReport, KnownFreshness, reported
from gnod.models.readability import Readability
from gnod.search.correction.correctable_words import Occurrences
from gnod.search.correction.correction_service import Corrector
from gnod.search.correction.query_correction import Corrected
from gnod.search.fields import reading
from gnod.search.hits import Copies, copies_of
from gnod.search.hybrid import across_indexes
from gnod.search.hybrid.across_indexes import Joined, Source, Sources
from gnod.search.hybrid.budget import Embed, Stage, embedded_texts, stage
from gnod.search.hybrid.stages import (
    BUDGET_S,
    HybridResult,
    HybridSettings,
    OnStage,
    SearchDependencies,
    present_search,
)
from gnod.search.keyword import lexical
from gnod.search.keyword.expression import Expression
from gnod.search.meaning import vector_search as vector
from gnod.search.meaning.vector_search import Nearest
from gnod.search.query import references
from gnod.search.query.parsing import ParsedQuery, parse_clauses, parse_query, parse_question
from gnod.search.ranking.ranked import RankedDocument
from gnod.search.related import related_documents
from gnod.search.results import (
    AskedQuery,
    Found,
    KeywordSearch,
    Results,
    SearchRequest,
    compared,
    correct_stage,
    definitions_first,
    keyword_results,
    listed,
    results_of,
    search_keywords,
    vector_results,
    with_lag,
)
from gnod.store.connection import Connection, Read
from gnod.store.database import Database
from gnod.store.readers.readers import Readers
from gnod.store.tables.filters import Condition

_NOT_LISTED = "attached collections cannot be listed: add a word to the query"
_SHOWN_CHARS = 60
T = TypeVar("T")


class FreshnessSource(Protocol):
    """Reports how current the index is, and makes it current."""

    async def refresh(self, collections: list[str], *, embedded: bool = False) -> None: ...
    def known(self, collections: list[str]) -> KnownFreshness: ...
    def report(self, connection: Connection, collections: list[str], *, embedded: bool = False) -> FreshnessReport: ...


class QueryModels(Protocol):
    """The models for queries: from the configuration, or from a measurement."""

    def served(self) -> Mapping[str, str]:
        """Return the model that serves each collection with vectors."""

    def are_wanted(self) -> bool:
        """Return whether any collection has vectors, or should have them."""

    def readability(self, uri: str) -> Readability | None:
        """Return what a model can read; None: not measured yet. Callable from any thread."""

    def ahead(
        self, queries: Sequence[str], passages: Sequence[str], collections: Sequence[str]
    ) -> AbstractAsyncContextManager[Embed]:
        """Start to embed texts that will probably be needed (gnod.search.hybrid.budget)."""

    async def dependencies(
        self, read: Read, embed: Embed, collections: Sequence[str], sources: Sequence[Source]
    ) -> SearchDependencies:
        """Return the dependencies of a hybrid query over these collections."""


class PreparedQuery:
    """A question in one snapshot of the index. The first read that needs the correction makes it, once. `shared`: the
    indexes that are searched. `written`: the query as `parse` read it."""

    def __init__(
        self,
        asked: AskedQuery,
        shared: Joined,
        embed: Embed,
        models: QueryModels,
        corrector: Corrector,
        parse: Callable[[str], ParsedQuery],
        written: ParsedQuery,
    ) -> None:
        self.asked = asked
        self.shared = shared
        self.read = shared.read
        self.corrected = Corrected(asked.query.text)
        self.stages: list[Stage] = []
        self._embed = embed
        self._models = models
        self._corrector = corrector
        self._parse = parse
        self._written = written
        self._query: ParsedQuery | None = None

    @property
    def text(self) -> str:
        """Return the question with its corrections."""
        return self.corrected.text

    def prepared(self, connection: Connection) -> ParsedQuery:
        if self._query is None:
            self._query = self._searched(connection, _corrected_by(self._corrector, self.asked, connection))
        return self._query

    async def correct_unless_known(self) -> None:
        """Correct the query, unless another source knows its words."""
        corrected = await self.read(partial(_corrected_by, self._corrector, self.asked))
        corrected = await _unless_known(self.shared, corrected, self.asked.query.text)
        self._query = await self.read(partial(self._searched, corrected=corrected))

    def _searched(self, connection: Connection, corrected: Corrected) -> ParsedQuery:
        self.corrected, self.stages = corrected, correct_stage(corrected, self.asked.started)
        query = self._parse(corrected.text) if corrected.corrections else self._written
        return self._corrector.resolved_query(connection, query)

    async def find(self, options: HybridSettings) -> HybridResult:
        """Return the documents that answer the question."""
        return await self.present(lambda _, found: found, options)

    async def present(
        self,
        present: Callable[[Connection, HybridResult], T],
        options: HybridSettings,
        on_stage: OnStage = lambda _: None,
    ) -> T:
        """See `present_search`."""
        filters = self.asked.filters
        given = (self.read, self._embed, filters.collections, self.shared.sources)
        dependencies = await self._models.dependencies(*given)
        return await present_search(dependencies, self.prepared, present, filters, options, on_stage)

    async def copies(self, ids: Collection[int]) -> dict[int, Copies]:
        return await self.read(lambda connection: copies_of(connection, ids, self.asked.filters))

    async def freshness(self) -> FreshnessReport:
        return with_lag(await self.read(self.asked.report), self.shared)

    def notes(self, found: HybridResult) -> list[str]:
        """Return which parts of the search were left out, and why."""
        return list(dict.fromkeys((*found.left_out, *self.shared.notes)))


class SearchService:
    """`readers` run keyword searches that need only the local index, while many clients search."""

    def __init__(
        self,
        configuration: Configuration,
        database: Database,
        freshness: FreshnessSource,
        models: QueryModels,
        nearest: Nearest,
        corrector: Corrector,
        readers: Readers,
        sources: Sources,
    ) -> None:
        self._configuration = configuration
        self._database = database
        self._freshness = freshness
        self._models = models
        self._nearest = nearest
        self._corrector = corrector
        self._readers = readers
        self._sources = sources

    async def lexical(
        self, request: SearchRequest, encode: Callable[[Results], T], *, prefix_last_term: bool = False
    ) -> T | Raw:
        """Search by keyword. Returns the output of `encode` for the results, or that output as JSON if another process
        did both. So `encode` must be a module-level function."""
        asked = await self._asked(request, embedded=False)
        if asked.query.is_filter_only:
            return encode(await self._listed(asked))
        text = asked.query.text
        is_unfinished = prefix_last_term and not text[-1:].isspace()
        written = KeywordSearch(asked, parse_clauses(text), is_unfinished, Corrected(text))
        if self._sources.concerns(asked.filters):
            async with self._searching(asked) as shared:
                return encode(await self._lexical_jointly(written, shared))
        return await self._readers.run(
            (_search_as_written, (encode, written, self._corrector.languages)),
            lambda connection: (encode, self._worded(connection, written, self._corrected(connection, written))),
            search_keywords,
        )

    async def vector(self, request: SearchRequest) -> Results:
        """Search by meaning."""
        if not request.text.strip():
            raise QuerySyntaxError("the query has no words: add some", {"reason": "empty_query"})
        asked = await self._asked(request)
        if asked.query.is_filter_only:
            return await self._listed(asked)
        text = asked.query.text
        async with self._models.ahead([text], [], request.collections) as embed:
            corrected = await self._database.read(partial(_corrected_by, self._corrector, asked))
            # A model cannot use parts of words.
            if any("*" in correction.searched for correction in corrected.corrections):
                corrected = Corrected(text)
            stages = correct_stage(corrected, asked.started)
            started = time.perf_counter()
            vectors = await embed([corrected.text], [])
        stages.append(stage("embed", started, {"models": sorted(vectors.rows)}))
        started = time.perf_counter()
        limit, min_score = asked.depth if asked.speakers.roles else request.end, request.min_score
        async with self._searching(asked) as shared:
            ranked: list[RankedDocument] | None = None
            if shared.sources:
                given = (shared.read, self._nearest, shared.sources, vectors, asked.filters)
                ranked = await across_indexes.search_vectors(*given, limit=limit, min_score=min_score)

            def present(connection: Connection) -> Results:
                here = vector.survey(connection, self._nearest, vectors, 0, asked.filters, limit=limit)
                found = vector.distinct(connection, here.ranked, limit, min_score) if ranked is None else ranked
                stages.append(stage("knn", started, {}))
                given = (connection, asked, here._replace(ranked=found), corrected, vectors, stages, shared)
                return vector_results(*given, self._models.readability)

            return await shared.read(present)

    async def hybrid(
        self, request: SearchRequest, options: HybridSettings, on_stage: OnStage = lambda _: None
    ) -> Results:
        """Search by keyword and by meaning, in one ranking."""
        asked = await self._asked(request, is_plain=False)
        if asked.query.is_filter_only:
            return await self._listed(asked)
        if asked.speakers.roles:
            options = options._replace(limit=asked.depth)
        async with self._prepared(asked, parse_query, options.budget_s) as question:
            shared = question.shared

            def present(connection: Connection, result: HybridResult) -> Results:
                reason = self.lexical_only_reason(result)
                words = lexical.expression_of(connection, result.query.terms)
                found = Found(
                    mode="hybrid",
                    ranked=definitions_first(asked, connection, result.shown()),
                    words=words,
                    stages=[*question.stages, *result.stages],
                    matches=compared(result.compared, connection, asked, words),
                    corrected=question.corrected,
                    total=result.total,
                    vectors=result.vectors,
                    notes=[note for note in result.left_out if note != reason],
                    lexical_only_reason=reason,
                    loose=result.loose,
                )
                return results_of(connection, asked, found, shared)

            return await question.present(present, options, on_stage)

    async def similar(self, request: SearchRequest, reference: str, *, linked: bool) -> Results:
        """Return documents that are similar to one. `linked`: also return documents that links connect with it. The
        text of the request may have only fields."""
        if self._sources.find(reference):
            raise InvalidParams(
                f"{reference} is in a shared collection, for which similar documents cannot be searched"
            )
        asked = await self._asked(request, among=[])  # the document may be in any collection
        if words := asked.query.text.strip():
            raise InvalidParams(f"`where` takes only fields, such as tag:work, and {words[:_SHOWN_CHARS]!r} is not one")
        served = self._models.served()

        def present(connection: Connection) -> Results:
            document = references.resolve(connection, reference).document
            started = time.perf_counter()
            find = related_documents.related if linked else vector.similar
            given = (connection, self._nearest, document, served, asked.filters)
            ranked = find(*given, limit=request.limit, min_score=request.min_score)
            name, details = "related" if linked else "knn", {"model": served.get(document.collection)}
            stages = [stage(name, started, details)]
            found = Found("similar", ranked, Expression([], [], []), stages, lambda _, __: (), Corrected(""))
            results = results_of(connection, asked, found)
            return results._replace(query=document.uri)

        return await self._database.read(present)

    @asynccontextmanager
    async def question(self, request: SearchRequest) -> AsyncIterator[PreparedQuery]:
        """Yield a prepared question in one snapshot. Raises QuerySyntaxError if the text has only fields."""
        asked = await self._asked(request, is_plain=False)
        if not asked.query.text.strip():
            raise QuerySyntaxError("the question is empty: add some words", {"reason": "empty_query"})
        async with self._prepared(asked, parse_question) as question:
            await question.read(question.prepared)
            yield question

    async def current(self, request: SearchRequest) -> FreshnessReport:
        """Sync the collections first if the request wants that, and return how current they are."""
        self._configuration.check_known(request.collections)
        if request.fresh:
            await self._freshness.refresh(request.collections, embedded=True)
        return await self._database.read(
            partial(self._freshness.report, collections=request.collections, embedded=True)
        )

    async def read_document(self, reference: str, work: Callable[[Connection], T]) -> T:
        """Read a document in the index that has it: the index of this machine, or an attached one."""
        if shared := self._sources.find(reference):
            return await shared.get(reference, work)
        return await self._database.read(work)

    def lexical_only_reason(self, found: HybridResult) -> str | None:
        """Return why there was no vector search; None if there was one, or if no collection should have vectors."""
        if not self._models.are_wanted():
            return None
        return next((stage.why for stage in found.stages if stage.name == "embed" and not stage.ran), None)

    async def _asked(
        self, request: SearchRequest, *, among: list[str] | None = None, embedded: bool = True, is_plain: bool = True
    ) -> AskedQuery:
        """Check the filters, sync the collections `among` first if the request wants that, and read the fields.
        `is_plain`: the query cannot be structured."""
        self._configuration.check_known(request.collections)
        if request.fresh:
            await self._freshness.refresh(request.collections if among is None else among, embedded=embedded)
        started = time.perf_counter()
        config = self._configuration.current
        query = await reading.read_in(self._database.read, request.text, config.saved_queries, is_plain=is_plain)
        report: Callable[[Connection], FreshnessReport]
        if embedded:
            report = partial(self._freshness.report, collections=request.collections, embedded=True)
        else:
            report = partial(reported, known=self._freshness.known(request.collections))
        chosen: Mapping[str, Condition] = {}
        if request.fields:
            chosen = await self._database.read(partial(reading.chosen, fields=request.fields))
        filters = query.within(request.filters)
        filters = filters._replace(conditions=(*filters.conditions, *chosen.values()))
        return AskedQuery(request, query, filters, config.contexts, started, report, chosen)

    @asynccontextmanager
    async def _searching(self, asked: AskedQuery) -> AsyncIterator[Joined]:
        async with self._database.snapshot() as read, self._sources.searching(read, asked.filters) as shared:
            yield shared

    @asynccontextmanager
    async def _prepared(
        self, asked: AskedQuery, parse: Callable[[str], ParsedQuery], budget_s: float = BUDGET_S
    ) -> AsyncIterator[PreparedQuery]:
        """Yield the query in one snapshot. Its vectors are computed meanwhile."""
        written = parse(asked.query.text)
        # Wildcards change the texts. If the time budget is zero, no model is used.
        is_expected = "*" not in asked.query.text and budget_s > 0
        texts = embedded_texts(written.lines) if is_expected else ([], [])
        async with (
            self._models.ahead(*texts, asked.filters.collections) as embed,
            self._searching(asked) as shared,
        ):
            question = PreparedQuery(asked, shared, embed, self._models, self._corrector, parse, written)
            if shared.sources:
                await question.correct_unless_known()
            yield question

    async def _listed(self, asked: AskedQuery) -> Results:
        notes = [_NOT_LISTED] if self._sources.concerns(asked.filters) else []
        return await self._database.read(lambda connection: listed(connection, asked)._replace(notes=notes))

    def _corrected(self, connection: Connection, written: KeywordSearch) -> Corrected:
        return _corrected_by(self._corrector, written.asked, connection, is_unfinished=written.is_unfinished)

    def _worded(self, connection: Connection, written: KeywordSearch, corrected: Corrected) -> KeywordSearch:
        """Add to the search its corrections and the words that its wildcards match."""
        clauses = parse_clauses(corrected.text) if corrected.corrections else written.clauses
        return written._replace(corrected=corrected, clauses=self._corrector.resolved(connection, clauses))

    async def _lexical_jointly(self, written: KeywordSearch, shared: Joined) -> Results:
        asked = written.asked
        corrected = await shared.read(partial(self._corrected, written=written))
        corrected = await _unless_known(shared, corrected, asked.query.text)
        worded = await shared.read(partial(self._worded, written=written, corrected=corrected))
        found = await across_indexes.search_words(
            shared.read,
            shared.sources,
            worded.clauses,
            asked.filters,
            limit=asked.depth,
            min_score=asked.request.min_score,
            prefix_last_term=worded.is_unfinished,
        )
        return await shared.read(partial(keyword_results, worded=worded, result=found, shared=shared))


def _corrected_by(
    corrector: Corrector, asked: AskedQuery, connection: Connection, *, is_unfinished: bool = False
) -> Corrected:
    """Return the query with its corrections, unless it is to be searched as written."""
    text = asked.query.text
    return Corrected(text) if asked.request.exact else corrector.correct(connection, text, unfinished=is_unfinished)


async def _unless_known(shared: Joined, corrected: Corrected, text: str) -> Corrected:
    """Search for the query as written if another source has a word that the local index does not have."""
    written = " ".join(correction.written for correction in corrected.corrections)
    if shared.sources and written and await across_indexes.is_known(shared.read, shared.sources, written):
        return Corrected(text)
    return corrected


def _search_as_written(
    connection: Connection, encode: Callable[[Results], T], written: KeywordSearch, languages: frozenset[str] | None
) -> T | None:
    """Search in another process, which does not have the words of the index. None: the query needs these words, for a
    correction or for wildcards. `languages`: see `Corrector.languages`."""
    text = written.asked.query.text
    if any(clause.is_wildcard for clause in written.clauses):
        return None
    query = Occurrences(connection, text, unfinished=written.is_unfinished, languages=languages)
    if not written.asked.request.exact and query.needs_correction():
        return None
    return search_keywords(connection, encode, written)
