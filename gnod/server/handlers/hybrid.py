"""`search.query`: words and meaning together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from gnod.config.model import Config
from gnod.pipeline import retrieval, subqueries
from gnod.pipeline.hybrid import Found, Ranked, Wishes
from gnod.protocol.params import SearchQueryParams
from gnod.protocol.results import Freshness, Hit, ProgressValue, SearchResult
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers import hits
from gnod.server.handlers.asked import filters_of, milliseconds_since
from gnod.server.handlers.hits import Span, hits_of, words_of
from gnod.server.handlers.stages import stages_of
from gnod.server.index import Index
from gnod.store.database import Connection

_LASTS_S = 0.3


def handlers(served: Index) -> Mapping[str, Handler]:
    async def search_query(params: SearchQueryParams, call: Call) -> SearchResult:
        served.configuration.check_known(params.collections)
        filters = filters_of(params)
        wishes = Wishes(
            limit=params.limit,
            min_score=params.min_score,
            candidates=params.candidates,
            expand=params.expand,
            rerank=params.rerank,
            floor=params.floor,
            method=params.fusion,
            budget_s=params.budget_s,
        )
        if params.fresh:
            await served.make_fresh(params.collections, embedded=True)
        config, started = served.configuration.current, time.perf_counter()

        def tell(stage: str) -> None:
            # Once more when it lasts: what comes at once is not worth drawing, for a client.
            value = ProgressValue(stage=stage, done=0)
            call.progress(value)
            asyncio.get_running_loop().call_later(_LASTS_S, call.progress, value)

        found = await served.querying.search(params.query, filters, wishes, tell)
        begun = time.perf_counter()

        def work(connection: Connection) -> tuple[list[Hit], Freshness]:
            shown = _hits(connection, config, found, params)
            return shown, served.freshness(connection, params.collections, embedded=True)

        shown, freshness = await served.read(work)
        stages = [*stages_of(found.stages), {"stage": "passages", "ran": True, "ms": milliseconds_since(begun)}]
        return SearchResult(
            query=params.query,
            mode="query",
            hits=shown,
            total=found.total,
            took_ms=milliseconds_since(started),
            freshness=freshness,
            by_words_only=_by_words_only(served, found),
            explain={"stages": stages} if params.explain else None,
        )

    return {"search.query": search_query}


def _by_words_only(served: Index, found: Found) -> str | None:
    """Return why nothing was searched by meaning; None where that was not to be, or the config wants no model."""
    if not any(served.embedding.wanted().values()):
        return None
    return next((stage.why for stage in found.stages if stage.name == "embed" and not stage.ran), None)


def _hits(connection: Connection, config: Config, found: Found, params: SearchQueryParams) -> list[Hit]:
    lines = retrieval.asked(params.query, subqueries.parse(params.query))
    words = words_of(connection, " ".join(line.query.text for line in lines if line.query.kind != "hyde"))
    return hits_of(connection, config, [_found(each) for each in found.ranked], words, params)


def _found(ranked: Ranked) -> hits.Found:
    """Where the words say more than the meaning, the passage is looked for in the whole document."""
    said = ranked.components
    near = ranked.near if said.get("vector", 0.0) >= said.get("lexical", 0.0) else None
    chunk = Span(near.start, near.end, near.start_line) if near else None
    return hits.Found(ranked.document_id, ranked.score, ranked.components, chunk)
