"""Shortcuts for common methods: `client.search("kayak", limit=5)`. Declared once, for both clients.

A shortcut takes the fields of the parameters' struct, so type checkers and editors know every name and type. It returns
the method's result; `AsyncClient` returns a coroutine.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from gnod.protocol import memory as m
from gnod.protocol.base import Params, Result
from gnod.protocol.documents import (
    DocumentGetParams,
    DocumentListParams,
    DocumentListResult,
    DocumentMultiGetParams,
    DocumentMultiGetResult,
    DocumentText,
)
from gnod.protocol.index import (
    IndexStatusParams,
    IndexStatusResult,
    IndexSyncParams,
    IndexSyncResult,
    IndexWhyParams,
    IndexWhyResult,
)
from gnod.protocol.search import (
    AskParams,
    AskResult,
    SearchLexicalParams,
    SearchQueryParams,
    SearchResult,
    SearchSimilarParams,
    SearchVectorParams,
)

if TYPE_CHECKING:
    from gnod.client.asynchronous import AsyncClient
    from gnod.client.blocking import Client

P = ParamSpec("P")
R = TypeVar("R", bound=Result)


class Shortcut(Generic[P, R]):
    """A method of the wire as an attribute of a client."""

    def __init__(self, method: str, params: Callable[P, Params], result: type[R]) -> None:
        self.method = method
        self.params = params
        self.result = result

    @overload
    def __get__(self, client: None, owner: type) -> Shortcut[P, R]: ...
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


class Shortcuts:
    """The base of both clients. For the other methods, and for progress, use `call`."""

    search = Shortcut("search.lexical", SearchLexicalParams, SearchResult)
    vsearch = Shortcut("search.vector", SearchVectorParams, SearchResult)
    query = Shortcut("search.query", SearchQueryParams, SearchResult)
    similar = Shortcut("search.similar", SearchSimilarParams, SearchResult)
    get = Shortcut("document.get", DocumentGetParams, DocumentText)
    multi_get = Shortcut("document.multi_get", DocumentMultiGetParams, DocumentMultiGetResult)
    list = Shortcut("document.list", DocumentListParams, DocumentListResult)
    ask = Shortcut("ask.answer", AskParams, AskResult)
    remember = Shortcut("memory.store", m.MemoryStoreParams, m.MemoryStoreResult)
    recall = Shortcut("memory.search", m.MemorySearchParams, m.MemorySearchResult)
    status = Shortcut("index.status", IndexStatusParams, IndexStatusResult)
    sync = Shortcut("index.sync", IndexSyncParams, IndexSyncResult)
    why = Shortcut("index.why", IndexWhyParams, IndexWhyResult)
