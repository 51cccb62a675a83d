"""`search.lexical`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gnod.config.model import Config
from gnod.pipeline import lexical
from gnod.protocol.params import SearchLexicalParams
from gnod.protocol.results import SearchResult
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.asked import filters_of, milliseconds_since
from gnod.server.handlers.hits import Found, Words, hits_of
from gnod.server.index import Index
from gnod.store.database import Connection
from gnod.store.filters import Filters


def handlers(served: Index) -> Mapping[str, Handler]:
    async def search_lexical(params: SearchLexicalParams, _: Call) -> SearchResult:
        served.configuration.check_known(params.collections)
        filters = filters_of(params)
        if params.fresh:
            await served.make_fresh(params.collections)
        config = served.configuration.current

        def work(connection: Connection) -> SearchResult:
            return _search_lexical(served, connection, params, filters, config)

        return await served.read(work)

    return {"search.lexical": search_lexical}


def _search_lexical(
    served: Index, connection: Connection, params: SearchLexicalParams, filters: Filters, config: Config
) -> SearchResult:
    started = time.perf_counter()
    result = lexical.search(
        connection,
        params.query,
        filters,
        limit=params.limit,
        min_score=params.min_score,
        unfinished=params.unfinished,
    )
    ranked_ms = milliseconds_since(started)
    found = [
        Found(r.document_id, r.score, {"bm25": r.bm25, "every_word": float(r.has_every_word)}) for r in result.ranked
    ]
    words = Words(result.expression.sought(), result.analyzers)
    hits = hits_of(connection, config, found, words, params)
    explain = _explain(result, ranked_ms, milliseconds_since(started)) if params.explain else None
    return SearchResult(
        query=params.query,
        mode="lexical",
        hits=hits,
        total=result.total,
        took_ms=milliseconds_since(started),
        freshness=served.freshness(connection, params.collections),
        explain=explain,
    )


def _explain(found: lexical.LexicalResult, ranked_ms: float, all_ms: float) -> dict[str, object]:
    wanted = found.expression
    return {
        "words": [word.expression for word in wanted.words],
        "required": [word.expression for word in wanted.required],
        "excluded": [word.expression for word in wanted.excluded],
        "languages": [analyzer.language for analyzer in found.analyzers],
        "stages": [
            {"stage": "bm25", "ran": True, "ms": ranked_ms, "matches": found.total},
            {"stage": "passages", "ran": True, "ms": round(all_ms - ranked_ms, 3)},
        ],
    }
