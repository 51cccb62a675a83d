"""`search.vector` and `search.similar`: documents by meaning.

The query is embedded on the loop's side, the vectors are compared on a reader's thread. Nothing here waits for a model
to be downloaded: without one the answer is an error that names the command.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from gnod.config.model import Config
from gnod.errors import QuerySyntaxError
from gnod.pipeline import references, vector
from gnod.protocol.params import FilterParams, SearchSimilarParams, SearchVectorParams
from gnod.protocol.results import SearchResult
from gnod.server.dispatcher import Call, Handler
from gnod.server.embedding import QueryVectors
from gnod.server.handlers.asked import filters_of, milliseconds_since
from gnod.server.handlers.hits import Found, Span, Words, hits_of, words_of
from gnod.server.index import Index
from gnod.store.database import Connection
from gnod.store.filters import Filters
from gnod.types import format_uri


class _Search(NamedTuple):
    """One request while it is answered."""

    served: Index
    connection: Connection
    config: Config
    filters: Filters
    started: float


def handlers(served: Index) -> Mapping[str, Handler]:
    async def search_vector(params: SearchVectorParams, _: Call) -> SearchResult:
        served.configuration.check_known(params.collections)
        filters = filters_of(params)
        if not params.query.strip():
            raise QuerySyntaxError("the query has no words to search for", {"reason": "empty_query"})
        if params.fresh:
            await served.make_fresh(params.collections, embedded=True)
        config, started = served.configuration.current, time.perf_counter()
        query = await served.embedding.query_vectors(params.query, params.collections)

        def work(connection: Connection) -> SearchResult:
            return _search_vector(_Search(served, connection, config, filters, started), params, query)

        return await served.read(work)

    async def search_similar(params: SearchSimilarParams, _: Call) -> SearchResult:
        served.configuration.check_known(params.collections)
        filters = filters_of(params)
        if params.fresh:
            await served.make_fresh([], embedded=True)  # the document may be anywhere
        config, started = served.configuration.current, time.perf_counter()

        def work(connection: Connection) -> SearchResult:
            return _search_similar(_Search(served, connection, config, filters, started), params)

        return await served.read(work)

    return {"search.vector": search_vector, "search.similar": search_similar}


def _search_vector(search: _Search, params: SearchVectorParams, query: QueryVectors) -> SearchResult:
    begun = time.perf_counter()
    ranked = vector.search(
        search.connection,
        search.served.nearest,
        query.vectors,
        query.served,
        search.filters,
        limit=params.limit,
        min_score=params.min_score,
    )
    stages: list[dict[str, object]] = [
        {"stage": "embed", "ran": True, "ms": round(query.took_ms, 3), "models": sorted(query.vectors)},
        {"stage": "knn", "ran": True, "ms": milliseconds_since(begun)},
    ]
    words = words_of(search.connection, params.query)
    return _result(search, params, "vector", params.query, ranked, words, stages)


def _search_similar(search: _Search, params: SearchSimilarParams) -> SearchResult:
    document = references.resolve(search.connection, params.ref).document
    models = search.served.embedding.served()
    begun = time.perf_counter()
    ranked = vector.similar(
        search.connection,
        search.served.nearest,
        document,
        models,
        search.filters,
        limit=params.limit,
        min_score=params.min_score,
    )
    stages: list[dict[str, object]] = [
        {"stage": "knn", "ran": True, "ms": milliseconds_since(begun), "model": models[document.collection]}
    ]
    address = format_uri(document.collection, document.path)
    return _result(search, params, "similar", address, ranked, Words(), stages)


def _result(
    search: _Search,
    params: FilterParams,
    mode: str,
    query: str,
    ranked: list[vector.Ranked],
    words: Words,
    stages: list[dict[str, object]],
) -> SearchResult:
    begun = time.perf_counter()
    found = [Found(r.document_id, r.score, {"similarity": r.score}, Span(r.start, r.end, r.start_line)) for r in ranked]
    hits = hits_of(search.connection, search.config, found, words, params)
    stages.append({"stage": "passages", "ran": True, "ms": milliseconds_since(begun)})
    return SearchResult(
        query=query,
        mode=mode,
        hits=hits,
        total=len(hits),
        took_ms=milliseconds_since(search.started),
        freshness=search.served.freshness(search.connection, params.collections, embedded=True),
        explain={"stages": stages} if params.explain else None,
    )
