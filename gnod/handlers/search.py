"""`search.*`: by keyword, by meaning, both together (hybrid), and documents similar to a given one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from msgspec import Raw

from gnod.handlers.hits import result_of
from gnod.handlers.wire_types import filters_of
from gnod.protocol import search as wire
from gnod.protocol.base import ProgressValue
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.hybrid.stages import HybridSettings, OnStage
from gnod.search.results import SearchRequest
from gnod.search.service import SearchService

# Seconds after which the progress of a stage is sent again: a client does not draw it at once.
_LASTS_S = 0.3


def handlers(searches: SearchService) -> Mapping[str, Handler]:
    async def search_lexical(params: wire.SearchLexicalParams, _: Call) -> wire.SearchResult | Raw:
        request, encode = _request(params, exact=params.exact), partial(result_of, params=params)
        return await searches.lexical(request, encode, prefix_last_term=params.prefix_last_term)

    async def search_vector(params: wire.SearchVectorParams, _: Call) -> wire.SearchResult:
        request = _request(params, exact=params.exact)._replace(loose=params.loose)
        return result_of(await searches.vector(request), params)

    async def search_similar(params: wire.SearchSimilarParams, _: Call) -> wire.SearchResult:
        request = request_of(params, params.where)
        return result_of(await searches.similar(request, params.ref, linked=params.by == "all"), params)

    async def search_query(params: wire.SearchQueryParams, call: Call) -> wire.SearchResult:
        options = HybridSettings(
            limit=params.limit + params.offset,
            min_score=params.min_score,
            candidates=params.candidates,
            expand=params.expand,
            rerank=params.rerank,
            floor=params.floor,
            loose=params.loose,
            fusion=params.fusion,
            budget_s=params.budget_s,
        )
        request = _request(params, exact=params.exact)
        return result_of(await searches.hybrid(request, options, _stage_reporter(call)), params)

    return named(search_lexical, search_vector, search_similar, search_query)


def request_of(params: wire.FilterParams, text: str) -> SearchRequest:
    """Raises InvalidParams for what is not a date."""
    return SearchRequest(
        text,
        filters_of(params),
        limit=params.limit,
        min_score=params.min_score,
        fresh=params.fresh,
        full=params.full,
        fields={name.lower(): tuple(values) for name, values in params.fields.items() if values},
    )


def _request(params: wire.SearchParams, *, exact: bool) -> SearchRequest:
    return request_of(params, params.query)._replace(
        exact=exact,
        sort=params.sort,
        facets=tuple(params.facets),
        facet_values=params.facet_values,
        passages=0 if params.columns else params.passages,
        columns=tuple(params.columns),
        offset=params.offset,
    )


def _stage_reporter(call: Call) -> OnStage:
    def report(stage: str) -> None:
        value = ProgressValue(stage=stage, done=0)
        call.progress(value)
        asyncio.get_running_loop().call_later(_LASTS_S, call.progress, value)

    return report
