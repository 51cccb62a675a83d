"""Short forms of the everyday methods: `client.search("kayak", limit=5)`. Declared once, for both clients.

A short form takes what the parameters' struct takes, so a type checker and an editor know every name and every type.
It answers what the method answers; `AsyncClient` gives a coroutine of that.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from gnod.protocol import memory as m
from gnod.protocol import params as p
from gnod.protocol import results as r

if TYPE_CHECKING:
    from gnod.client.asynchronous import AsyncClient
    from gnod.client.blocking import Client

P = ParamSpec("P")
R = TypeVar("R", bound=r.Result)


class ShortForm(Generic[P, R]):
    """A method of the wire as an attribute of a client."""

    def __init__(self, method: str, params: Callable[P, p.Params], result: type[R]) -> None:
        self.method = method
        self.params = params
        self.result = result

    @overload
    def __get__(self, client: None, owner: type) -> ShortForm[P, R]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type) -> Any:
        if client is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.call(self.method, self.params(*args, **kwargs), self.result)

        return call


class Everyday:
    """The base of both clients. Every other method of the wire is reached by `call`, and so is progress."""

    search = ShortForm("search.lexical", p.SearchLexicalParams, r.SearchResult)
    vsearch = ShortForm("search.vector", p.SearchVectorParams, r.SearchResult)
    query = ShortForm("search.query", p.SearchQueryParams, r.SearchResult)
    similar = ShortForm("search.similar", p.SearchSimilarParams, r.SearchResult)
    get = ShortForm("document.get", p.DocumentGetParams, r.DocumentText)
    multi_get = ShortForm("document.multi_get", p.DocumentMultiGetParams, r.DocumentMultiGetResult)
    list = ShortForm("document.list", p.DocumentListParams, r.DocumentListResult)
    ask = ShortForm("ask.answer", p.AskParams, r.AskResult)
    remember = ShortForm("memory.store", m.MemoryStoreParams, m.MemoryStoreResult)
    recall = ShortForm("memory.search", m.MemorySearchParams, m.MemorySearchResult)
    status = ShortForm("index.status", p.IndexStatusParams, r.IndexStatusResult)
    sync = ShortForm("index.sync", p.IndexSyncParams, r.IndexSyncResult)
    why = ShortForm("index.why", p.IndexWhyParams, r.IndexWhyResult)
