"""The checks of `doctor.run` that run each model once for its purpose."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from gnod.config import model_uris
from gnod.config.model import Use
from gnod.config.model_uris import LocalFile, endpoint_of
from gnod.configured.endpoints import EndpointUse, EndpointUses
from gnod.configured.models import ModelFactory, ModelService
from gnod.egress import Purpose, Role
from gnod.errors import GnoError, ModelCorrupt, ModelRejected, TimedOut
from gnod.handlers.wire_types import iso
from gnod.models.run.roles import Embedder, Generator, Message, Reranker
from gnod.protocol.daemon import Check

LIMIT_S = 60
_TOKENS = 16
_QUESTION = "how do I know that this works"
_TEXTS = ("It works when the last step of the check says so.", "Potatoes are planted in April.")

# The consequence of a missing model, by role.
_WITHOUT = {
    "embed": "only keyword search, no vector search",
    "rerank": "no reranking",
    "expand": "no query expansion",
    "answer": "`gnoctl ask` cannot answer",
}

_PLACES = {"local": "on this machine", "lan": "in the local network", "any": "outside the local network"}

T = TypeVar("T")
Ask = Callable[[ModelFactory, str, Role], Awaitable[str]]


async def checks(
    models: ModelService, factory: ModelFactory, endpoints: EndpointUses, unused: Mapping[str, str]
) -> list[Check]:
    """Return a check for each model in the config. No request goes to a server that no collection may use. `unused`: as
    in EmbeddingService."""
    found: dict[str, list[Use]] = {}
    for use in models.uses():
        found.setdefault(use.uri, []).append(use)
    servers = {each.uri: each for each in await endpoints()}
    return [_unused(uri, unused) for uri in dict.fromkeys(unused.values())] + [
        await _check_server(factory, servers[uri], uses) if uri in servers else await _check(models, factory, uri, uses)
        for uri, uses in found.items()
        if uri in servers or endpoint_of(uri) is None
    ]


def _unused(uri: str, unused: Mapping[str, str]) -> Check:
    names = ", ".join(name for name, model in unused.items() if model == uri)
    message = f"index.yml does not name {uri} for {names}: nothing is sent, and its vectors are not searched"
    return Check(f"model {model_uris.short_name(model_uris.parse(uri))}", "warning", message, "gnoctl models use auto")


async def _check_server(factory: ModelFactory, server: EndpointUse, uses: Sequence[Use]) -> Check:
    """Report where a server is, and which collections may use it. If any may, run its model."""
    name = f"model {model_uris.short_name(model_uris.parse(server.uri))}"
    where = _PLACES[server.scope] if server.scope else "unknown"
    key = f"; its key is in the {server.key}" if server.key else ""
    left_out = f"; nothing is sent from {', '.join(server.left_out)} (`egress`)" if server.left_out else ""
    if server.problem:
        return Check(name, "warning", server.problem, "correct the address in index.yml")
    if not server.allowed:
        message = f"{server.uri} is {where}, and `egress` does not allow that{left_out}"
        return Check(name, "warning", message, f"set `egress: {server.scope}`, or another model, in index.yml")
    sent = f"; last sent {iso(server.last_sent)}" if server.last_sent else "; nothing was sent yet"
    server_for = f"{server.uri}, {where}, for {', '.join(server.roles)}"
    message = f"{server_for}: gets texts and queries from {', '.join(server.allowed)}{left_out}{key}{sent}"
    try:
        return Check(name, "ok", "; ".join([message, *await _results(factory, server.uri, uses)]))
    except GnoError as error:
        return Check(name, "error", f"{error} ({message})", "start or repair the server, or name another model")


async def _check(models: ModelService, factory: ModelFactory, uri: str, uses: Sequence[Use]) -> Check:
    name = f"model {model_uris.short_name(model_uris.parse(uri))}"
    if await asyncio.to_thread(models.find, uri) is None:
        return _missing(name, uri, uses)
    try:
        return Check(name, "ok", "; ".join(await _results(factory, uri, uses)))
    except GnoError as error:
        is_bad = isinstance(error, ModelCorrupt | ModelRejected) and not isinstance(model_uris.parse(uri), LocalFile)
        remedy = f"gnoctl models pull --force {uri}" if is_bad else "gnoctl daemon logs"
        return Check(name, "error", f"cannot {uses[0].role}: {error}", remedy)


async def _results(factory: ModelFactory, uri: str, uses: Sequence[Use]) -> list[str]:
    """Run the model once for each of its uses. Raises GnoError."""
    try:
        return [await asyncio.wait_for(ask(factory, uri, role), LIMIT_S) for ask, role in _asks(uses)]
    except TimeoutError:
        raise TimedOut(f"no answer within {LIMIT_S} s") from None


def _missing(name: str, uri: str, uses: Sequence[Use]) -> Check:
    """Report what does not work without the model."""
    without = []
    for role in dict.fromkeys(use.role for use in uses):
        owners = [use.collection for use in uses if use.role == role]
        where = "" if None in owners else f" in {', '.join(filter(None, owners))}"
        without.append(_WITHOUT[role] + where)
    is_local = isinstance(model_uris.parse(uri), LocalFile)
    remedy = "put the file there, or name another in index.yml" if is_local else f"gnoctl models pull {uses[0].role}"
    message = f"{uri} is not on this machine: {'; '.join(without)}"
    return Check(name, "warning", message, remedy)


async def _embeds(factory: ModelFactory, uri: str, role: Role) -> str:
    embedder = factory.make(Embedder, uri, Purpose(role, "check"))
    vector, took = await _twice(lambda: embedder.query(_QUESTION))
    return f"embeds a query in {took} ({len(vector)} dimensions)"


async def _reranks(factory: ModelFactory, uri: str, role: Role) -> str:
    reranker = factory.make(Reranker, uri, Purpose(role, "check"))
    _, took = await _twice(lambda: reranker.score(_QUESTION, _TEXTS))
    return f"reranks {len(_TEXTS)} sentences in {took}"


async def _writes(factory: ModelFactory, uri: str, role: Role) -> str:
    generator = factory.make(Generator, uri, Purpose(role, "check"))
    said = await generator.generate([Message("user", "Count to ten.")], max_tokens=_TOKENS)
    return f"writes {said.tokens / max(said.took_s, 1e-3):.0f} tokens a second"


async def _twice(work: Callable[[], Awaitable[T]]) -> tuple[T, str]:
    """Run `work` twice, because the first call may load the model. Returns the result and the duration as text."""
    took_ms = []
    for _ in range(2):
        started = time.perf_counter()
        result = await work()
        took_ms.append((time.perf_counter() - started) * 1000)
    first, second = took_ms
    loaded = f" and {first - second:,.0f} ms more to load it" if first > 10 * second else ""
    return result, f"{second:.0f} ms{loaded}"


def _asks(uses: Sequence[Use]) -> list[tuple[Ask, Role]]:
    """Return each distinct check with one of its roles: expansion and answers run the same check."""
    return list({_ASKS[use.role]: use.role for use in reversed(uses)}.items())


_ASKS: Mapping[Role, Ask] = {"embed": _embeds, "rerank": _reranks, "expand": _writes, "answer": _writes}
