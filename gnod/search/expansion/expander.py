"""A language model writes variants of a query: keywords, questions, and a HyDE passage (Gao et al. 2022).

A grammar constrains the form of its output, and the guard drops variants that lose a part of the query. Must not depend
on retrieval.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import NamedTuple

from gnod.analysis.short_texts import detect_query
from gnod.errors import QuerySyntaxError, StorageFailed
from gnod.models.run.roles import Generator
from gnod.search.expansion import guard, prompts
from gnod.search.query.parsing import Subquery, parse_clauses, parse_subqueries, render
from gnod.store.connection import Connection
from gnod.store.tables import llm_cache

LIMIT_S = 5.0
# An unfinished expansion continues for this time, at low priority.
UNFINISHED_LIMIT_S = 120.0
# If the writer is busy for longer, the expansion is not cached.
_WRITE_S = 0.25

Read = Callable[[Callable[[Connection], str | None]], Awaitable[str | None]]
Write = Callable[[Callable[[Connection], None]], Awaitable[None]]

_log = logging.getLogger(__name__)


class Expansion(NamedTuple):
    """`dropped`: unused variants, with the reasons. `language`: of the query; None: unclear. `timed_out`: the model did
    not finish within the limit, so its output is not used. `goes_on`: it still writes, for the cache."""

    variants: list[Subquery]
    dropped: list[tuple[Subquery, str]]
    language: str | None
    cached: bool
    took_ms: float
    timed_out: bool
    goes_on: bool = False


class Writing:
    """The expansion that a model currently writes: one at a time. It may outlive its query."""

    def __init__(self) -> None:
        self._task: asyncio.Task[str | None] | None = None

    @property
    def is_busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self, work: Coroutine[None, None, str | None]) -> asyncio.Task[str | None]:
        self._task = asyncio.create_task(work, name="expansion")
        # Retrieve the exception, because no caller may wait for the task any more.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._task


class Expander:
    """`read`, `write`: run work on the database that caches expansions. `writing`: the current expansion of this
    model."""

    def __init__(self, generator: Generator, read: Read, write: Write, writing: Writing | None = None) -> None:
        self._generator = generator
        self._read = read
        self._write = write
        self._writing = writing or Writing()

    async def expand(self, query: str, *, limit_s: float = LIMIT_S) -> Expansion:
        """Return the variants of a query; none if the model reaches the limit. The model then continues at low
        priority, so that the cache has the variants the next time. Meanwhile, other queries can use only the cache.

        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        started = time.monotonic()
        query = prompts.one_line(query)
        language = await asyncio.to_thread(detect_query, query)
        key = _key(self._generator.uri, query, language)
        written = _parsed(await self._read(partial(llm_cache.get, key=key)) or "")
        cached, timed_out, goes_on = bool(written), False, False
        left_s = limit_s - (time.monotonic() - started)
        if not cached:
            goes_on = left_s > 0 and not self._writing.is_busy
            text = await self._written(query, language, key, left_s) if goes_on else None
            timed_out = text is None
            goes_on &= timed_out
            written = _parsed(text or "")
        variants, dropped = _check(query, written, language)
        took_ms = (time.monotonic() - started) * 1000
        return Expansion(variants, dropped, language, cached, took_ms, timed_out, goes_on)

    async def _written(self, query: str, language: str | None, key: str, left_s: float) -> str | None:
        """Return the output; None if it is not complete at the limit. The cancellation of the query stops the model."""
        task = self._writing.begin(self._generate(query, language, key, left_s))
        try:
            async with asyncio.timeout(left_s):
                return await asyncio.shield(task)
        except TimeoutError:
            return None
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def _generate(self, query: str, language: str | None, key: str, left_s: float) -> str | None:
        """Let the model write, and cache the complete lines of its output; None if it did not finish."""
        generated = await self._generator.generate(
            prompts.messages(query, language),
            max_tokens=prompts.MAX_TOKENS,
            grammar=prompts.GRAMMAR,
            limit_s=max(left_s, UNFINISHED_LIMIT_S),
            yields_after_s=left_s,
        )
        if generated.finish == "time":
            return None
        text = generated.text if generated.finish == "stop" else generated.text.rpartition("\n")[0]
        if written := _parsed(text):
            await self._cache(key, render(written))
        return text

    async def _cache(self, key: str, text: str) -> None:
        now = time.time()
        try:
            async with asyncio.timeout(_WRITE_S):
                await self._write(lambda connection: llm_cache.put(connection, key, text, now))
        except TimeoutError:
            _log.debug("expansion.not_kept")
        except StorageFailed as error:  # if the disk is full, the expansion is still usable
            _log.warning("expansion.not_kept", extra={"fields": {"reason": error.message}})


def _key(uri: str, query: str, language: str | None) -> str:
    parts = json.dumps([prompts.VERSION, uri, query, language])
    return hashlib.sha256(parts.encode()).hexdigest()


def _parsed(text: str) -> list[Subquery]:
    """Return the variants in a text; none if its form is invalid (without a grammar)."""
    try:
        return parse_subqueries(text) or []
    except QuerySyntaxError:
        return []


def _check(
    query: str, written: list[Subquery], language: str | None
) -> tuple[list[Subquery], list[tuple[Subquery, str]]]:
    """Return the usable variants, and the others with the reasons."""
    used: dict[tuple[str, str], Subquery] = {}
    dropped: list[tuple[Subquery, str]] = []
    for each in written:
        form = (each.kind, _form(each.text))
        if fault := _repeats(form, query, used) or _unreadable(each) or "; ".join(guard.losses(query, each, language)):
            dropped.append((each, fault))
        else:
            used[form] = each
    return list(used.values()), dropped


def _repeats(form: tuple[str, str], query: str, used: dict[tuple[str, str], Subquery]) -> str:
    if form[1] == _form(query):
        return "the same as the query"
    return f"the same as another {form[0]} line" if form in used else ""


def _unreadable(variant: Subquery) -> str:
    if variant.kind == "lex":
        try:
            parse_clauses(variant.text)
        except QuerySyntaxError as error:
            return error.message
    return ""


def _form(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?!.。？！ ")
