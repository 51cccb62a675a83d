"""`search.*`: by keyword, by vector, both together (hybrid), and documents similar to a given one.

Query vectors are computed first, on the event loop's side; everything that reads the index runs on a reader thread.
Nothing here waits for a model to be downloaded: without one the answer is an error that names the command.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Raw
from msgspec.structs import replace

from gnod.config.model import ContextConfig
from gnod.errors import InvalidParams, QuerySyntaxError
from gnod.handlers.attached import with_lag
from gnod.handlers.hits import Marked, hits_of, marked
from gnod.handlers.wire_types import (
    Stages,
    corrected_stage,
    corrections_of,
    filters_of,
    freshness_of,
    milliseconds_since,
    stages_of,
)
from gnod.pipeline import joint, lexical, listing, references, related, symbols, vector
from gnod.pipeline.correction.correcting import Corrected, needs_correction
from gnod.pipeline.correction.corrector import Corrector
from gnod.pipeline.fields import facets, ordering, reading
from gnod.pipeline.fields.reading import FieldedQuery
from gnod.pipeline.hybrid import HybridResult, OnStage, SearchOptions, embedded_texts
from gnod.pipeline.lexical import LexicalResult
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.query import Clause, ParsedQuery, parse_clauses, parse_query, parse_text
from gnod.pipeline.ranked import RankedDocument
from gnod.pipeline.vector import QueryVectors
from gnod.protocol import search as wire
from gnod.protocol.base import ProgressValue
from gnod.rpc.dispatcher import Call, Handler
from gnod.rpc.flights import Flights
from gnod.services.attached import AttachedCollections, Joined
from gnod.services.configuration import Configuration
from gnod.services.embedding import EmbeddingService
from gnod.services.readers import Readers
from gnod.services.search import HybridSearch
from gnod.store import joined
from gnod.store.database import Connection, Database
from gnod.store.documents.filters import Filters
from gnod.sync.freshness import FreshnessReport, FreshnessService, reported
from gnod.types import format_uri

_LASTS_S = 0.3
_NOT_LISTED = "attached collections are not listed: a search over them needs a word"
_SHOWN_CHARS = 60


class _Services(NamedTuple):
    configuration: Configuration
    database: Database
    freshness: FreshnessService
    embedding: EmbeddingService
    nearest: Nearest
    corrector: Corrector


class _Request(NamedTuple):
    """One request while it is answered. `query`: without the fields, which are in `filters`. `report` of how current
    the index is. That of a keyword search is data, for any process."""

    contexts: tuple[ContextConfig, ...]
    query: FieldedQuery
    filters: Filters
    started: float
    report: Callable[[Connection], FreshnessReport]

    def corrected(
        self,
        connection: Connection,
        corrector: Corrector,
        params: wire.SearchLexicalParams | wire.SearchVectorParams | wire.SearchQueryParams,
        *,
        is_unfinished: bool = False,
    ) -> Corrected:
        return (
            Corrected(self.query.text)
            if params.exact
            else corrector.correct(connection, self.query.text, unfinished=is_unfinished)
        )


def handlers(
    configuration: Configuration,
    database: Database,
    freshness: FreshnessService,
    embedding: EmbeddingService,
    nearest: Nearest,
    hybrid_search: HybridSearch,
    corrector: Corrector,
    flights: Flights,
    readers: Readers,
    attached: AttachedCollections,
) -> Mapping[str, Handler]:
    """`flights`: identical searches are answered once. `readers` do keyword searches in the local index alone."""
    services = _Services(configuration, database, freshness, embedding, nearest, corrector)

    async def request(
        params: wire.FilterParams, text: str, *, among: list[str], embedded: bool = True, is_plain: bool = True
    ) -> _Request:
        """Check the filters, sync the collections `among` first where that is wanted, and read the fields of `text`.
        `is_plain`: it is no structured query."""
        configuration.check_known(params.collections)
        filters = filters_of(params)
        if params.fresh:
            await freshness.refresh(among, embedded=embedded)
        started = time.perf_counter()
        query = await reading.read_in(database.read, text, configuration.current.saved_queries, is_plain=is_plain)
        report: Callable[[Connection], FreshnessReport]
        if embedded:
            report = partial(freshness.report, collections=params.collections, embedded=True)
        else:
            report = partial(reported, known=freshness.known(params.collections))
        return _Request(configuration.current.contexts, query, query.within(filters), started, report)

    async def listed(asked: _Request, params: wire.SearchParams) -> wire.SearchResult:
        result = await database.read(lambda connection: _list(asked, connection, params))
        return replace(result, notes=[_NOT_LISTED]) if attached.concerns(asked.filters) else result

    async def search_lexical(params: wire.SearchLexicalParams, _: Call) -> wire.SearchResult | Raw:
        asked = await request(params, params.query, among=params.collections, embedded=False)
        if asked.query.is_filter_only:
            return await listed(asked, params)
        clauses = parse_clauses(asked.query.text)  # a query with an error is not corrected
        if attached.concerns(asked.filters):
            async with database.snapshot() as read, attached.searching(read, asked.filters) as shared:
                return await _search_lexical_jointly(asked, params, corrector, shared)
        return await readers.run(
            (_search_as_written, (asked, params, clauses, corrector.languages)),
            lambda connection: (_worded(asked, connection, params, corrector),),
            _search_lexical,
        )

    async def search_vector(params: wire.SearchVectorParams, _: Call) -> wire.SearchResult:
        if not params.query.strip():
            raise QuerySyntaxError("the query has no words to search for", {"reason": "empty_query"})
        asked = await request(params, params.query, among=params.collections)
        if asked.query.is_filter_only:
            return await listed(asked, params)
        async with embedding.ahead([asked.query.text], [], params.collections) as embed:
            corrected = _for_meaning(
                asked.query.text, await database.read(lambda connection: asked.corrected(connection, corrector, params))
            )
            stages = corrected_stage(corrected, asked.started)
            begun = time.perf_counter()
            vectors = await embed([corrected.text], [])
        stages.append({"stage": "embed", "ran": True, "ms": milliseconds_since(begun), "models": sorted(vectors.rows)})
        if attached.concerns(asked.filters):
            async with database.snapshot() as read, attached.searching(read, asked.filters) as shared:
                given = (read, nearest, shared.sources, vectors, asked.filters)
                ranked = await joint.search_vectors(*given, limit=params.limit, min_score=params.min_score)
                result = await shared.read(
                    lambda connection: _vector_result(asked, connection, params, corrected, vectors, stages, ranked)
                )
                return _with_notes(result, shared)
        return await database.read(
            lambda connection: _search_vector(services, asked, connection, params, corrected, vectors, stages)
        )

    async def search_similar(params: wire.SearchSimilarParams, _: Call) -> wire.SearchResult:
        if attached.find(params.ref):
            raise InvalidParams(f"{params.ref} is shared: documents similar to it are not searched for")
        asked = await request(params, params.where, among=[])  # the document may be anywhere
        if words := asked.query.text.strip():
            raise InvalidParams(f"`where` takes only fields, such as tag:work, and {words[:_SHOWN_CHARS]!r} is none")
        return await database.read(lambda connection: _search_similar(services, asked, connection, params))

    async def search_query(params: wire.SearchQueryParams, call: Call) -> wire.SearchResult:
        asked = await request(params, params.query, among=params.collections, is_plain=False)
        if asked.query.is_filter_only:
            return await listed(asked, params)
        query = parse_query(asked.query.text)
        # Wildcards change the texts; without a time budget, no model is asked.
        is_expected = "*" not in asked.query.text and params.budget_s > 0
        texts = embedded_texts(query.lines) if is_expected else ([], [])
        async with (
            embedding.ahead(*texts, asked.filters.collections) as embed,
            database.snapshot() as local,
            attached.searching(local, asked.filters) as shared,
        ):
            read = shared.read
            corrected = await read(lambda connection: asked.corrected(connection, corrector, params))
            corrected = await _unless_known(shared, corrected, asked.query.text)
            stages = corrected_stage(corrected, asked.started)
            if corrected.corrections:
                query = parse_query(corrected.text)
            if "*" in corrected.text:
                query = await read(lambda connection: corrector.resolved_query(connection, query))
            found = await hybrid_search.search(
                read, query, asked.filters, _options(params), _stage_reporter(call), shared.sources, embed
            )
            result = await read(
                lambda connection: _hybrid_result(services, asked, connection, params, query, found, stages)
            )
        return replace(_with_notes(result, shared), corrections=corrections_of(corrected))

    searches: dict[str, Handler] = {
        "search.lexical": search_lexical,
        "search.vector": search_vector,
        "search.similar": search_similar,
        "search.query": search_query,
    }
    return {name: flights.shared(handler, unless=_syncs_first) for name, handler in searches.items()}


def _syncs_first(params: wire.FilterParams) -> bool:
    """A search that waits for a sync sees a later state than one that runs already."""
    return params.fresh


class _Worded(NamedTuple):
    """A keyword search as data: its words were corrected, and wildcards are what they stand for."""

    asked: _Request
    params: wire.SearchLexicalParams
    corrected: Corrected
    clauses: list[Clause]
    is_unfinished: bool


def _worded(asked: _Request, connection: Connection, params: wire.SearchLexicalParams, corrector: Corrector) -> _Worded:
    is_unfinished = _is_unfinished(asked, params)
    corrected = asked.corrected(connection, corrector, params, is_unfinished=is_unfinished)
    clauses = corrector.resolved(connection, parse_clauses(corrected.text))
    return _Worded(asked, params, corrected, clauses, is_unfinished)


def _is_unfinished(asked: _Request, params: wire.SearchLexicalParams) -> bool:
    return (params.prefix_last_term or params.unfinished) and not asked.query.text[-1:].isspace()


async def _search_lexical_jointly(
    asked: _Request, params: wire.SearchLexicalParams, corrector: Corrector, shared: Joined
) -> wire.SearchResult:
    worded = await shared.read(lambda connection: _worded(asked, connection, params, corrector))
    corrected = await _unless_known(shared, worded.corrected, asked.query.text)
    if corrected is not worded.corrected:
        worded = worded._replace(corrected=corrected, clauses=parse_clauses(corrected.text))
    found = await joint.search_words(
        shared.read,
        shared.sources,
        worded.clauses,
        asked.filters,
        limit=ordering.DEPTH if params.sort else params.limit,
        min_score=params.min_score,
        prefix_last_term=worded.is_unfinished,
    )

    def result(connection: Connection) -> wire.SearchResult:
        analyzers = lexical.analyzers_of_index(connection)
        return _lexical_result(connection, worded, found._replace(analyzers=analyzers))

    return _with_notes(await shared.read(result), shared)


def _with_notes(result: wire.SearchResult, shared: Joined) -> wire.SearchResult:
    notes = [*result.notes, *dict.fromkeys(shared.notes)]
    return replace(result, notes=notes, freshness=with_lag(result.freshness, shared))


async def _unless_known(shared: Joined, corrected: Corrected, text: str) -> Corrected:
    """Search for the query as it stands if an attached collection has a word that the local index does not know."""
    written = " ".join(each.written for each in corrected.corrections)
    if shared.sources and written and await joint.is_known(shared.read, shared.sources, written):
        return Corrected(text)
    return corrected


def _search_as_written(
    connection: Connection,
    asked: _Request,
    params: wire.SearchLexicalParams,
    clauses: list[Clause],
    languages: frozenset[str] | None,
) -> wire.SearchResult | None:
    """Search in another process, which does not have the words of the index; None: they are needed, to correct the
    query or for its wildcards. `languages`: as `Corrector.languages`."""
    text, is_unfinished = asked.query.text, _is_unfinished(asked, params)
    if any(clause.is_wildcard for clause in clauses):
        return None
    if not params.exact and needs_correction(connection, text, unfinished=is_unfinished, languages=languages):
        return None
    return _search_lexical(connection, _Worded(asked, params, Corrected(text), clauses, is_unfinished))


def _search_lexical(connection: Connection, worded: _Worded) -> wire.SearchResult:
    """May run in another process."""
    asked, params, _, clauses, is_unfinished = worded
    found = lexical.search(
        connection,
        clauses,
        asked.filters,
        limit=ordering.DEPTH if params.sort else params.limit,
        min_score=params.min_score,
        prefix_last_term=is_unfinished,
    )
    return _lexical_result(connection, worded, found)


def _lexical_result(connection: Connection, worded: _Worded, found: LexicalResult) -> wire.SearchResult:
    asked, params, corrected, *_ = worded
    stages = corrected_stage(corrected, asked.started)
    stages.append({"stage": "bm25", "ran": True, "ms": milliseconds_since(asked.started), "matches": found.total})
    wanted = found.expression
    explain = {
        "words": [word.expression for word in wanted.words],
        "required": [word.expression for word in wanted.required],
        "excluded": [word.expression for word in wanted.excluded],
        "languages": [analyzer.language for analyzer in found.analyzers],
    }
    words = Marked(wanted, found.analyzers)
    ranked = _sorted(connection, _definitions_first(asked, connection, params, found.ranked), params)
    result = _result(asked, connection, params, "lexical", params.query, ranked, words, stages, explain)
    return replace(
        result,
        total=found.total,
        corrections=corrections_of(corrected),
        facets=_facets(connection, params, lambda most: _matches(connection, found, asked.filters, most)),
    )


def _matches(connection: Connection, found: LexicalResult, filters: Filters, most: int) -> list[int]:
    """Return the documents that facets count: all that match here, and what other indexes returned."""
    elsewhere = [each.id for each in found.ranked if joined.number_of(each.id)]
    return [*lexical.all_matches(connection, found.expression, filters, most), *elsewhere]


def _list(asked: _Request, connection: Connection, params: wire.SearchParams) -> wire.SearchResult:
    excluded, limit = asked.query.clauses, ordering.DEPTH if params.sort else params.limit
    found = listing.newest(connection, excluded, asked.filters, limit=limit)
    stages: Stages = [{"stage": "list", "ran": True, "ms": milliseconds_since(asked.started), "matches": found.total}]
    words = marked(connection, asked.query.terms)
    ranked = _sorted(connection, _definitions_first(asked, connection, params, found.ranked), params)
    return replace(
        _result(asked, connection, params, "list", params.query, ranked, words, stages),
        total=found.total,
        facets=_facets(connection, params, lambda most: listing.ids(connection, excluded, asked.filters, limit=most)),
    )


def _for_meaning(query: str, corrected: Corrected) -> Corrected:
    """Return the corrections for a search by meaning, which has no use for parts of words."""
    return Corrected(query) if any("*" in each.searched for each in corrected.corrections) else corrected


def _search_vector(
    services: _Services,
    asked: _Request,
    connection: Connection,
    params: wire.SearchVectorParams,
    corrected: Corrected,
    vectors: QueryVectors,
    stages: Stages,
) -> wire.SearchResult:
    begun = time.perf_counter()
    nearest, limit, min_score = services.nearest, params.limit, params.min_score
    ranked = vector.search(connection, nearest, vectors, asked.filters, limit=limit, min_score=min_score)
    stages.append({"stage": "knn", "ran": True, "ms": milliseconds_since(begun)})
    return _vector_result(asked, connection, params, corrected, vectors, stages, ranked)


def _vector_result(
    asked: _Request,
    connection: Connection,
    params: wire.SearchVectorParams,
    corrected: Corrected,
    vectors: QueryVectors,
    stages: Stages,
    ranked: list[RankedDocument],
) -> wire.SearchResult:
    words = marked(connection, parse_text(corrected.text))
    ranked = _definitions_first(asked, connection, params, ranked)
    ids = [each.id for each in ranked]
    ranked = _sorted(connection, ranked, params)
    result = _result(asked, connection, params, "vector", params.query, ranked, words, stages, vectors=vectors)
    return replace(
        result,
        notes=list(vectors.left_out),
        corrections=corrections_of(corrected),
        facets=_facets(connection, params, lambda _: ids),
    )


def _search_similar(
    services: _Services, asked: _Request, connection: Connection, params: wire.SearchSimilarParams
) -> wire.SearchResult:
    document = references.resolve(connection, params.ref).document
    served = services.embedding.served()
    begun = time.perf_counter()
    nearest, limit, min_score = services.nearest, params.limit, params.min_score
    find = related.related if params.by == "all" else vector.similar
    ranked = find(connection, nearest, document, served, asked.filters, limit=limit, min_score=min_score)
    model = served.get(document.collection)
    stage = "related" if params.by == "all" else "knn"
    stages: Stages = [{"stage": stage, "ran": True, "ms": milliseconds_since(begun), "model": model}]
    address = format_uri(document.collection, document.path)
    return _result(asked, connection, params, "similar", address, ranked, marked(connection, []), stages)


def _hybrid_result(
    services: _Services,
    asked: _Request,
    connection: Connection,
    params: wire.SearchQueryParams,
    query: ParsedQuery,
    found: HybridResult,
    stages: Stages,
) -> wire.SearchResult:
    ranked = _definitions_first(asked, connection, params, [_shown(each) for each in found.shown()])
    ranked = _sorted(connection, ranked, params)
    words = marked(connection, query.terms)
    stages = [*stages, *stages_of(found.stages)]
    result = _result(asked, connection, params, "query", params.query, ranked, words, stages, vectors=found.vectors)
    reason = lexical_only_reason(services.embedding, found)
    notes = [note for note in found.left_out if note != reason]
    return replace(
        result,
        total=found.total,
        lexical_only_reason=reason,
        by_words_only=reason,
        notes=notes,
        facets=_facets(connection, params, lambda _: found.compared),
    )


def _result(
    asked: _Request,
    connection: Connection,
    params: wire.FilterParams,
    mode: str,
    query: str,
    ranked: Sequence[RankedDocument],
    words: Marked,
    stages: Stages,
    explain: Mapping[str, object] | None = None,
    vectors: QueryVectors | None = None,
) -> wire.SearchResult:
    """Return the result with its hits. `explain`: what is said besides the stages. `vectors`: of the query."""
    begun = time.perf_counter()
    hits = hits_of(connection, asked.contexts, ranked, words, params, vectors, asked.filters)
    fields = {"fields": list(asked.query.fields)} if asked.query.fields else {}
    stages.append({"stage": "passages", "ran": True, "ms": milliseconds_since(begun)})
    return wire.SearchResult(
        query=query,
        mode=mode,
        hits=hits,
        total=len(hits),
        took_ms=milliseconds_since(asked.started),
        freshness=freshness_of(asked.report(connection)),
        hints=asked.query.hints_for(len(hits)),
        explain={**fields, **(explain or {}), "stages": stages} if params.explain else None,
    )


def _sorted(
    connection: Connection, ranked: Sequence[RankedDocument], params: wire.SearchParams
) -> list[RankedDocument]:
    """Return the documents in the order that was asked for, at most `limit`."""
    found = ordering.ordered(connection, ranked, params.sort) if params.sort else ranked
    return list(found[: params.limit])


def _facets(
    connection: Connection, params: wire.SearchParams, matches: Callable[[int], Sequence[int]]
) -> dict[str, list[wire.FacetCount]]:
    """`matches` returns the documents that count, at most so many."""
    if not params.facets:
        return {}
    counted = facets.count(connection, params.facets, matches(facets.MAX_DOCUMENTS))
    return {name: [wire.FacetCount(*each) for each in counts] for name, counts in counted.items()}


def _definitions_first(
    asked: _Request, connection: Connection, params: wire.SearchParams, ranked: list[RankedDocument]
) -> list[RankedDocument]:
    """Put the documents that define what `symbol:` asks for before those that use it."""
    if not asked.query.symbols:
        return ranked
    limit = ordering.DEPTH if params.sort else params.limit
    found = symbols.with_definitions(connection, asked.query.symbols, asked.filters, ranked, limit)
    return [each for each in found if each.score >= params.min_score]


def _options(params: wire.SearchQueryParams) -> SearchOptions:
    return SearchOptions(
        limit=params.limit,
        min_score=params.min_score,
        candidates=params.candidates,
        expand=params.expand,
        rerank=params.rerank,
        floor=params.floor,
        method=params.fusion,
        budget_s=params.budget_s,
    )


def _stage_reporter(call: Call) -> OnStage:
    def report(stage: str) -> None:
        # Once more if it lasts: a client does not draw what is done at once.
        value = ProgressValue(stage=stage, done=0)
        call.progress(value)
        asyncio.get_running_loop().call_later(_LASTS_S, call.progress, value)

    return report


def lexical_only_reason(embedding: EmbeddingService, found: HybridResult) -> str | None:
    """Return why there was no vector search; None where none was wanted, or the config wants no model, and never
    did."""
    if not any(embedding.wanted().values()) and not embedding.served():
        return None
    return next((stage.why for stage in found.stages if stage.name == "embed" and not stage.ran), None)


def _shown(ranked: RankedDocument) -> RankedDocument:
    """Where keywords score higher than the vector, the passage is searched in the whole document."""
    components = ranked.components
    is_near = components.get("vector", 0.0) >= components.get("lexical", 0.0)
    return ranked if is_near else ranked._replace(span=None)
