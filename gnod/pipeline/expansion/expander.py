"""Query expansion: a language model writes variants of a query: keywords, questions, a HyDE passage (Gao et al. 2022).

A grammar constrains the form of its output, and the guard drops variants that lose a part of the query. Knows no
retrieval.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple

from gnod.analysis.languages import detect_query
from gnod.errors import QuerySyntaxError, StorageFailed
from gnod.models.generator import Generator
from gnod.pipeline.expansion import guard, prompts
from gnod.pipeline.query import Subquery, parse_clauses, parse_subqueries, render
from gnod.store import llm_cache
from gnod.store.database import Connection

LIMIT_S = 5.0
# If the writer is busy for longer, the expansion is not cached.
_WRITE_S = 0.25

Read = Callable[[Callable[[Connection], str | None]], Awaitable[str | None]]
Write = Callable[[Callable[[Connection], None]], Awaitable[None]]

_log = logging.getLogger(__name__)


class Expansion(NamedTuple):
    """`dropped`: variants that are not used, with the reasons. `language`: of the query; None: unclear. `timed_out`:
    the model was stopped at the limit, and its output is not used."""

    variants: list[Subquery]
    dropped: list[tuple[Subquery, str]]
    language: str | None
    cached: bool
    took_ms: float
    timed_out: bool


class Expander:
    """`read` and `write` run work on the database that caches expansions."""

    def __init__(self, generator: Generator, read: Read, write: Write) -> None:
        self._generator = generator
        self._read = read
        self._write = write

    async def expand(self, query: str, *, limit_s: float = LIMIT_S) -> Expansion:
        """Return the variants of a query. At the limit, the computation stops and there are no variants.

        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        started = time.monotonic()
        query = prompts.one_line(query)
        language = await asyncio.to_thread(detect_query, query)
        key = _key(self._generator.uri, query, language)
        written = _parsed(await self._read(partial(llm_cache.get, key=key)) or "")
        cached, timed_out = bool(written), False
        if not cached:
            text = await self._generated(query, language, limit_s - (time.monotonic() - started))
            timed_out = text is None
            written = _parsed(text or "")
            if written:
                await self._cache(key, render(written))
        variants, dropped = _check(query, written, language)
        took_ms = (time.monotonic() - started) * 1000
        return Expansion(variants, dropped, language, cached, took_ms, timed_out)

    async def _generated(self, query: str, language: str | None, left_s: float) -> str | None:
        """Return the complete lines of the output; None at the time limit."""
        if left_s <= 0:
            return None
        generated = await self._generator.generate(
            prompts.messages(query, language),
            max_tokens=prompts.MAX_TOKENS,
            grammar=prompts.GRAMMAR,
            limit_s=left_s,
        )
        if generated.finish == "time":
            return None
        return generated.text if generated.finish == "stop" else generated.text.rpartition("\n")[0]

    async def _cache(self, key: str, text: str) -> None:
        now = time.time()
        try:
            async with asyncio.timeout(_WRITE_S):
                await self._write(lambda connection: llm_cache.put(connection, key, text, now))
        except TimeoutError:
            _log.debug("expansion.not_kept")
        except StorageFailed as error:  # the disk is full: the expansion is still usable
            _log.warning("expansion.not_kept", extra={"fields": {"reason": error.message}})


def _key(uri: str, query: str, language: str | None) -> str:
    parts = json.dumps([prompts.VERSION, uri, query, language])
    return hashlib.sha256(parts.encode()).hexdigest()


def _parsed(text: str) -> list[Subquery]:
    """Return the variants in a text; none if its form is invalid (written without a grammar or by an older version)."""
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
