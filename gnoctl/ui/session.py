"""The current search: query, mode and filters. Sends the searches, and drops outdated ones.

Keyword results arrive with each keystroke, the results of models when typing pauses. Old results stay until new ones
arrive. Must not depend on the screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Protocol, TypeVar

from msgspec.structs import replace

from gnoctl.ui.narrowing import Narrowing
from gnod.errors import GnoError
from gnod.protocol import search as wire
from gnod.protocol.base import Params, Result

MODES: dict[str, tuple[str, type[wire.SearchParams]]] = {
    "hybrid": ("search.query", wire.SearchQueryParams),
    "keyword": ("search.lexical", wire.SearchLexicalParams),
    "vector": ("search.vector", wire.SearchVectorParams),
}
PAUSE_S = 0.2
"""Seconds. The pauses between the letters of a word are shorter."""
LATE_S = 0.5
"""Seconds. After this time without an answer, the results count as outdated."""
QUIET_S = 0.25
"""The minimum time in seconds between two searches because of changes on the disk."""
FIRST_LIMIT = 20
"""With each keystroke, the daemon needs time for each passage."""
MOST = 1000
EVERYTHING = "size:>=0"
"""A query that lists all documents."""

R = TypeVar("R", bound=Result)


class Daemon(Protocol):
    async def call(self, method: str, params: Params, result_type: type[R]) -> R: ...


class UiSession:
    """One search box. `shown` is called when `result` or `problem` changed.

    `has_models`: whether hybrid search differs from keyword search. `first_limit`: the number of hits that are fetched
    at first, at least as many as are visible.
    """

    def __init__(self, daemon: Daemon, shown: Callable[[], None]) -> None:
        self.query = ""
        self.mode = next(iter(MODES))
        self.narrowing = Narrowing()
        self.similar_to: wire.Hit | None = None
        self.shows_loose = False
        self.result: wire.SearchResult | None = None
        self.problem: str | None = None
        self.has_models = False
        self.is_new = True
        """Whether the results belong to a new query; otherwise they update the results of the same query."""
        self.is_late = False
        """Whether the daemon does not answer, so that the results still belong to the previous query."""
        self._late: asyncio.TimerHandle | None = None
        self._daemon = daemon
        self._shown = shown
        self.first_limit = FIRST_LIMIT
        self._limit = FIRST_LIMIT
        self._running: asyncio.Task[None] | None = None
        self._changed = False

    @property
    def is_blank(self) -> bool:
        """Whether nothing is searched."""
        return not (self.query.strip() or self.similar_to or any(self.narrowing))

    @property
    def is_searching(self) -> bool:
        return self._running is not None and not self._running.done()

    def search_for(self, query: str) -> None:
        if query != self.query or self.similar_to:
            self.query, self.similar_to = query, None
            self._ask()

    def use(self, mode: str) -> None:
        self.mode = mode
        self._ask()

    def toggle_loose(self) -> None:
        self.shows_loose = not self.shows_loose
        self._ask()

    def narrow(self, narrowing: Narrowing) -> None:
        self.narrowing = narrowing
        self._ask()

    def find_similar(self, hit: wire.Hit | None) -> None:
        """Show documents that are similar to a hit; None: return to the query."""
        self.similar_to = hit
        self._ask()

    def more(self) -> None:
        """Fetch more results of the same search, if there are more."""
        result = self.result
        is_full = result is not None and len(result.hits) >= self._limit
        if is_full and self._limit < MOST and not self.is_searching:
            self._limit = min(MOST, self._limit * 4)
            self._start(self._again)

    def again(self) -> None:
        """Repeat the search after a change of the index."""
        if self.is_searching:
            self._changed = True
        else:
            self._start(self._again)

    def close(self) -> None:
        self._stop_waiting()
        self._stop()

    def _stop(self) -> None:
        if self._running is not None:
            self._running.cancel()

    def _ask(self) -> None:
        self._limit, self.is_new = self.first_limit, True
        if self._late is None:
            self._late = asyncio.get_running_loop().call_later(LATE_S, self._be_late)
        self._start(self._find)

    def _be_late(self) -> None:
        self.is_late = True
        self._shown()

    def _stop_waiting(self) -> None:
        self.is_late = False
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self._stop()
        self._changed = False
        self._running = asyncio.create_task(self._run(work))

    async def _run(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        await self._guarded(work)
        while self._changed:
            self._changed = False
            await asyncio.sleep(QUIET_S)
            await self._guarded(self._again)

    async def _guarded(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        try:
            await work()
        except (GnoError, OSError) as error:
            self._show(self.result, str(error))

    async def _find(self) -> None:
        """Search by keyword immediately, and with models when typing pauses."""
        if self._has_quick_results:
            self._show(await self._by_keyword())
        if not self._is_by_keyword_alone:
            await asyncio.sleep(PAUSE_S if self._has_quick_results or self.query else 0)
            await self._with_models()

    async def _again(self) -> None:
        self.is_new = False
        if self._is_by_keyword_alone:
            self._show(await self._by_keyword())
        else:
            await self._with_models()

    @property
    def _is_by_keyword_alone(self) -> bool:
        """A query with only fields is a list: no model ranks it."""
        if self.similar_to:
            return False
        return self.mode == "keyword" or not self.query.strip() or (self.mode == "hybrid" and not self.has_models)

    @property
    def _has_quick_results(self) -> bool:
        return not self.similar_to and (self.mode != "vector" or not self.query.strip())

    async def _by_keyword(self) -> wire.SearchResult:
        """Search; without words, list the documents, the latest changes first."""
        asked = {"query": self.query} if self.query.strip() else {"query": EVERYTHING, "sort": "-modified"}
        params = self._params(wire.SearchLexicalParams, prefix_last_term=True, **asked)
        return await self._daemon.call("search.lexical", params, wire.SearchResult)

    async def _with_models(self) -> None:
        found = await self._by_models()
        # The last word may be incomplete. Then hybrid search may find less than the keyword search for its beginning.
        if found.hits or not (self.result and self.result.hits) or found.mode != "hybrid":
            self._show(found)

    async def _by_models(self) -> wire.SearchResult:
        if self.similar_to:
            similar = self._params(wire.SearchSimilarParams, ref=self.similar_to.uri)
            return await self._daemon.call("search.similar", similar, wire.SearchResult)
        method, kind = MODES[self.mode]
        params = self._params(kind, query=self.query, loose=self.shows_loose)
        found = await self._daemon.call(method, params, wire.SearchResult)
        return replace(found, hits=sorted(found.hits, key=lambda hit: hit.loose))

    def _params(self, kind: type[P], **more: object) -> P:
        return kind(limit=self._limit, **self.narrowing.params(), **more)  # type: ignore[arg-type]

    def _show(self, result: wire.SearchResult | None, problem: str | None = None) -> None:
        self._stop_waiting()
        self.result, self.problem = result, problem
        self._shown()


P = TypeVar("P", bound=wire.FilterParams)
