"""`search.*`: search by keyword, by meaning, or by both (hybrid); find similar documents; save searches in the config
file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from msgspec import Raw

from gnod.config import edit
from gnod.config.model import SearchConfig
from gnod.configured.configuration import Configuration
from gnod.errors import InvalidName, InvalidParams
from gnod.handlers.hits import result_of
from gnod.handlers.wire_types import filters_of
from gnod.protocol import search as wire
from gnod.protocol.base import NoParams, ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.fields import reading
from gnod.search.hybrid.stages import HybridSettings, OnStage
from gnod.search.query.parsing import parse_query
from gnod.search.results import SearchRequest
from gnod.search.service import SearchService
from gnod.store.database import Database
from gnod.types import COLLECTION_NAME

# Seconds after which the progress of a stage is sent again, because a client does not draw the first one.
_LASTS_S = 0.3


def handlers(searches: SearchService, configuration: Configuration, database: Database) -> Mapping[str, Handler]:
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

    async def search_save(params: wire.SearchSaveParams, _: Call) -> wire.SearchSaveResult:
        if not COLLECTION_NAME.match(params.name):
            raise InvalidName(f"{params.name!r} is not a valid name: use lower-case letters, digits, '-' and '_'")
        configuration.check_known(params.collections)
        filters_of(params)
        if unsayable := [name for name in params.fields if reading.names(f"{name}:x") != {name.lower()}]:
            raise InvalidParams(f"a query cannot name the field {unsayable[0]!r}: save the search without this filter")
        query = " ".join(filter(None, (params.query.strip(), _as_fields(params))))
        found = await reading.read_in(database.read, query)
        if not found.is_filter_only:
            parse_query(found.text)
        search = SearchConfig(name=params.name, query=query)
        await configuration.edit(partial(edit.save_search, search=search))
        return wire.SearchSaveResult(search=copied(wire.SavedSearch, search), config_file=str(configuration.path))

    async def search_list(_: NoParams, __: Call) -> wire.SearchListResult:
        searches = configuration.current.searches
        return wire.SearchListResult(searches=[copied(wire.SavedSearch, search) for search in searches])

    async def search_remove(params: wire.SearchRemoveParams, _: Call) -> wire.SearchRemoveResult:
        removed = await configuration.edit(partial(edit.remove_search, name=params.name))
        return wire.SearchRemoveResult(removed=copied(wire.SavedSearch, removed))

    return named(
        *(search_lexical, search_vector, search_similar, search_query),
        *(search_save, search_list, search_remove),
    )


def request_of(params: wire.FilterParams, text: str) -> SearchRequest:
    """Raises InvalidParams for an invalid date."""
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


def _as_fields(params: wire.DocumentFilters) -> str:
    fields = [
        ("collection", params.collections),
        *(("tag", [tag]) for tag in params.tags_all),
        ("tag", params.tags_any),
        ("lang", params.languages),
        ("type", params.types),
        ("path", [f"/{params.path_prefix.lstrip('/')}"] if params.path_prefix else []),
        ("author", [params.author] if params.author else []),
        ("after", [params.since] if params.since else []),
        *params.fields.items(),
    ]
    texts = [f"{name}:{','.join(map(_quoted, values))}" for name, values in fields if values]
    return " ".join([*texts, *([f"date:..{params.until.strip()}"] if params.until else [])])


def _quoted(value: str) -> str:
    plain = value.replace('"', " ").strip()
    return plain if plain.replace("-", "").replace("_", "").isalnum() else f'"{plain}"'
