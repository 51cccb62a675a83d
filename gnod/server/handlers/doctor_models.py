"""The part of `doctor.run` that asks each model to do what it is for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from gnod.errors import GnoError, ModelCorrupt, ModelRejected
from gnod.models import uris
from gnod.models.generator import Generator, Message
from gnod.models.presets import Use
from gnod.models.reranker import Reranker
from gnod.models.uris import LocalFile
from gnod.protocol.results import Check
from gnod.server.index import Index

LIMIT_S = 60
_TOKENS = 16
_QUESTION = "how do I know that this works"
_TEXTS = ("It works when the last step of the check says so.", "Potatoes are planted in April.")

# What a search does without the model.
_WITHOUT = {
    "embed": "there is keyword search, but no search by meaning",
    "rerank": "the best documents of a query are not read again",
    "expand": "queries are asked in their own words only",
    "answer": "`gnoctl ask` cannot answer",
}

T = TypeVar("T")
Ask = Callable[[Index, str], Awaitable[str]]


async def checks(served: Index) -> list[Check]:
    """Return a check for each model that the config asks for."""
    found: dict[str, list[Use]] = {}
    for use in served.models.uses():
        found.setdefault(use.uri, []).append(use)
    return [await _check(served, uri, uses) for uri, uses in found.items()]


async def _check(served: Index, uri: str, uses: Sequence[Use]) -> Check:
    name = f"model {uris.short_name(uris.parse(uri))}"
    if await asyncio.to_thread(served.models.find, uri) is None:
        return _missing(name, uri, uses)
    # Two that only differ in what they are asked to write are one.
    asks = dict.fromkeys(_ASKS[use.role] for use in uses)
    said = []
    for ask in asks:
        try:
            said.append(await asyncio.wait_for(ask(served, uri), LIMIT_S))
        except (GnoError, TimeoutError) as error:
            is_bad = isinstance(error, ModelCorrupt | ModelRejected) and not isinstance(uris.parse(uri), LocalFile)
            return Check(
                name=name,
                status="error",
                message=f"cannot {uses[0].role}: {str(error) or f'no answer within {LIMIT_S} s'}",
                remedy=f"gnoctl models pull --force {uri}" if is_bad else "gnoctl daemon logs",
            )
    return Check(name=name, status="ok", message="; ".join(said))


def _missing(name: str, uri: str, uses: Sequence[Use]) -> Check:
    """Say what does not work without the model."""
    without = []
    for role in dict.fromkeys(use.role for use in uses):
        owners = [use.collection for use in uses if use.role == role]
        where = "" if None in owners else f" in {', '.join(filter(None, owners))}"
        without.append(_WITHOUT[role] + where)
    is_local = isinstance(uris.parse(uri), LocalFile)
    remedy = "put the file there, or name another in index.yml" if is_local else f"gnoctl models pull {uses[0].role}"
    message = f"{uri} is not on this machine: {'; '.join(without)}"
    return Check(name=name, status="warning", message=message, remedy=remedy)


async def _embeds(served: Index, uri: str) -> str:
    embedder = served.embedding.embedder(uri)
    vector, took = await _twice(lambda: embedder.query(_QUESTION))
    return f"embeds a query in {took} ({len(vector)} dimensions)"


async def _reranks(served: Index, uri: str) -> str:
    reranker = served.running.make(Reranker, uri)
    _, took = await _twice(lambda: reranker.score(_QUESTION, _TEXTS))
    return f"reranks {len(_TEXTS)} sentences in {took}"


async def _writes(served: Index, uri: str) -> str:
    generator = served.running.make(Generator, uri)
    said = await generator.generate([Message("user", "Count to ten.")], max_tokens=_TOKENS)
    return f"writes {said.tokens / max(said.took_s, 1e-3):.0f} tokens a second"


async def _twice(work: Callable[[], Awaitable[T]]) -> tuple[T, str]:
    """Do it twice, because the first may have to load the model. Returns how long it takes, in words."""
    took_ms = []
    for _ in range(2):
        started = time.perf_counter()
        result = await work()
        took_ms.append((time.perf_counter() - started) * 1000)
    first, second = took_ms
    loaded = f" and {first - second:,.0f} ms more to load it" if first > 10 * second else ""
    return result, f"{second:.0f} ms{loaded}"


_ASKS: Mapping[str, Ask] = {"embed": _embeds, "rerank": _reranks, "expand": _writes, "answer": _writes}
