"""Other wordings of a query, by a language model: keywords, questions, and a passage that would answer it (HyDE: Gao et
al. 2022). What the model writes is bound to a form by a grammar, and checked for what the query must not lose.

An expansion may be missing; it is never waited for longer than the limit says. Knows no retrieval.
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
from gnod.pipeline import query_language, subqueries
from gnod.pipeline.expanding import guard, prompts
from gnod.pipeline.subqueries import Subquery
from gnod.store import llm_cache
from gnod.store.database import Connection

LIMIT_S = 5.0
# The writer may be in the middle of something long: then this answer is not kept.
_WRITE_S = 0.25

Read = Callable[[Callable[[Connection], str | None]], Awaitable[str | None]]
Write = Callable[[Callable[[Connection], None]], Awaitable[None]]

_log = logging.getLogger(__name__)


class Expansion(NamedTuple):
    """`dropped`: what the model wrote as well, and why it is not used. `language`: of the query; None is unclear.
    `timed_out`: the model was stopped, and nothing of it is used."""

    variants: list[Subquery]
    dropped: list[tuple[Subquery, str]]
    language: str | None
    cached: bool
    took_ms: float
    timed_out: bool


class Expander:
    """`read` and `write` run work on the database that keeps what the model wrote."""

    def __init__(self, generator: Generator, read: Read, write: Write) -> None:
        self._generator = generator
        self._read = read
        self._write = write

    async def expand(self, query: str, *, limit_s: float = LIMIT_S) -> Expansion:
        """Return the variants of a query in the query language. At the limit, the computation ends and there are none.

        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        started = time.monotonic()
        query = prompts.settled(query)
        language = await asyncio.to_thread(detect_query, query)
        key = _key(self._generator.uri, query, language)
        written = _parsed(await self._read(partial(llm_cache.get, key=key)) or "")
        cached, timed_out = bool(written), False
        if not cached:
            text = await self._generated(query, language, limit_s - (time.monotonic() - started))
            timed_out = text is None
            written = _parsed(text or "")
            if written:
                await self._keep(key, subqueries.render(written))
        variants, dropped = _sorted_out(query, written, language)
        took_ms = (time.monotonic() - started) * 1000
        return Expansion(variants, dropped, language, cached, took_ms, timed_out)

    async def _generated(self, query: str, language: str | None, left_s: float) -> str | None:
        """Return the lines that the model has completed; None when the time was up."""
        if left_s <= 0:
            return None
        said = await self._generator.generate(
            prompts.messages(query, language),
            max_tokens=prompts.MAX_TOKENS,
            grammar=prompts.GRAMMAR,
            limit_s=left_s,
        )
        if said.finish == "time":
            return None
        return said.text if said.finish == "stop" else said.text.rpartition("\n")[0]

    async def _keep(self, key: str, text: str) -> None:
        now = time.time()
        try:
            async with asyncio.timeout(_WRITE_S):
                await self._write(lambda connection: llm_cache.put(connection, key, text, now))
        except TimeoutError:
            _log.debug("expansion.not_kept")
        except StorageFailed as error:  # a full disk is no reason to answer nothing
            _log.warning("expansion.not_kept", extra={"fields": {"reason": error.message}})


def _key(uri: str, query: str, language: str | None) -> str:
    parts = json.dumps([prompts.VERSION, uri, query, language])
    return hashlib.sha256(parts.encode()).hexdigest()


def _parsed(text: str) -> list[Subquery]:
    """Return the lines of a text; none when it is not of the form (a model without a grammar, an older version)."""
    try:
        return subqueries.parse(text) or []
    except QuerySyntaxError:
        return []


def _sorted_out(
    query: str, written: list[Subquery], language: str | None
) -> tuple[list[Subquery], list[tuple[Subquery, str]]]:
    """Return what can be used, and the rest with the reasons."""
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
            query_language.parse(variant.text)
        except QuerySyntaxError as error:
            return error.message
    return ""


def _form(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip("?!.。？！ ")
