"""Both clients use this module for the methods: how long to wait, whether to repeat, and shortcuts for common ones.

A shortcut (`client.search("kayak", limit=5)`) takes the fields of the parameter struct, so type checkers and editors
know every name and type. It returns the method's result; `AsyncClient` returns a coroutine.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from gnod.client.connection import REPEAT_PAUSES_S, OnProgress
from gnod.protocol import documents as d
from gnod.protocol import evidence as e
from gnod.protocol import index as i
from gnod.protocol import memory as m
from gnod.protocol import search as s
from gnod.protocol.base import Params, ProgressValue, Result
from gnod.protocol.methods import LONG_S, METHODS, SHORT_S

P = ParamSpec("P")
R = TypeVar("R", bound=Result)


class Blocking(Protocol):
    def call(self, method: str, params: Params, result_type: type[R]) -> R: ...


class Asynchronous(Protocol):
    async def call(self, method: str, params: Params, result_type: type[R]) -> R: ...


class Shortcut(Generic[P, R]):
    """A method of the wire as an attribute of a client."""

    def __init__(self, method: str, params: Callable[P, Params], result: type[R]) -> None:
        self.method = method
        self.params = params
        self.result = result

    @overload
    def __get__(self, client: None, owner: type) -> Shortcut[P, R]: ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, client: Asynchronous, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: Blocking | Asynchronous | None, owner: type) -> Any:
        if client is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.call(self.method, self.params(*args, **kwargs), self.result)

        return call


class Shortcuts:
    """The base of both clients. Use `call` for the other methods and for progress."""

    search = Shortcut("search.lexical", s.SearchLexicalParams, s.SearchResult)
    vsearch = Shortcut("search.vector", s.SearchVectorParams, s.SearchResult)
    query = Shortcut("search.query", s.SearchQueryParams, s.SearchResult)
    similar = Shortcut("search.similar", s.SearchSimilarParams, s.SearchResult)
    get = Shortcut("document.get", d.DocumentGetParams, d.DocumentText)
    multi_get = Shortcut("document.multi_get", d.DocumentMultiGetParams, d.DocumentMultiGetResult)
    list = Shortcut("document.list", d.DocumentListParams, d.DocumentListResult)
    evidence = Shortcut("evidence.gather", e.EvidenceParams, e.EvidenceResult)
    ask = Shortcut("ask.answer", s.AskParams, s.AskResult)
    remember = Shortcut("memory.store", m.MemoryStoreParams, m.MemoryStoreResult)
    recall = Shortcut("memory.search", m.MemorySearchParams, m.MemorySearchResult)
    status = Shortcut("index.status", i.IndexStatusParams, i.IndexStatusResult)
    sync = Shortcut("index.sync", i.IndexSyncParams, i.IndexSyncResult)
    why = Shortcut("index.why", i.IndexWhyParams, i.IndexWhyResult)


def pauses_s(method: str) -> tuple[float, ...]:
    """Return the pauses before repetitions of a call whose connection was lost; empty if it must not be repeated."""
    known = METHODS.get(method)
    return REPEAT_PAUSES_S if known is not None and known.is_repeatable else ()


def waiting(method: str, timeout_s: float | None, on_progress: OnProgress | None) -> tuple[float, OnProgress | None]:
    """Return the seconds to wait between two messages, and the receiver of progress. Long calls always request
    progress, so that messages arrive within the limit."""
    known = METHODS.get(method)
    limit_s = known.limit_s if known is not None else SHORT_S
    return timeout_s or limit_s, on_progress or (_ignore if limit_s == LONG_S else None)


def _ignore(_: ProgressValue) -> None:
    pass
