"""`search.save`, `search.list`, `search.remove`: saved searches, which are in the config file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gnod.config import edit
from gnod.config.model import SearchConfig
from gnod.configured.configuration import Configuration
from gnod.errors import InvalidName, InvalidParams
from gnod.handlers.wire_types import filters_of
from gnod.protocol import search as wire
from gnod.protocol.base import NoParams, copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.fields import reading
from gnod.search.query.parsing import parse_query
from gnod.store.database import Database
from gnod.types import COLLECTION_NAME


def handlers(configuration: Configuration, database: Database) -> Mapping[str, Handler]:
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

    return named(search_save, search_list, search_remove)


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
