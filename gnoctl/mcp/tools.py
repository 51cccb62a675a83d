"""The tools: name, description for the agent's model, and the daemon's method behind it. Must not depend on MCP."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec import UNSET

from gnoctl.mcp import arguments as a
from gnoctl.mcp import memory_text, output_text, pages
from gnod.client import AsyncClient
from gnod.client.connection import OnProgress
from gnod.errors import Conflict, DocumentNotFound, InvalidParams, NotFound, Refused
from gnod.protocol.base import NoParams, Params
from gnod.protocol.collections import ContextListResult
from gnod.protocol.documents import (
    DocumentGetParams,
    DocumentMultiGetParams,
    DocumentMultiGetResult,
    DocumentText,
    SkippedReference,
)
from gnod.protocol.index import IndexStatusParams, IndexStatusResult
from gnod.protocol.methods import METHODS

P = TypeVar("P", bound=Params)
Run = Callable[[AsyncClient, Any, OnProgress | None], Awaitable[str]]


class Tool(NamedTuple):
    """One tool. `effect`: what it does on this machine; a second identical call has no further effect."""

    name: str
    title: str
    description: str
    arguments: type[a.Arguments]
    run: Run
    effect: Literal["reads", "adds", "removes"] = "reads"


# `search` requests this many when it fills a number of tokens.
_MOST_DOCUMENTS, _MOST_PASSAGES = 50, 5
# `read` requests this many documents of any size, and cuts them by tokens.
_MOST_READ, _ANY_BYTES = 100, 10**9
# Seconds. An agent calls deep recall after the normal search, and accepts a delay.
_DEEP_BUDGET_S = 5.0


def _params(kind: type[P], given: a.Arguments, **changes: object) -> P:
    """Return the parameters of a method, taken from the arguments with the same names."""
    values = {name: getattr(given, name) for name in given.__struct_fields__ if name in kind.__struct_fields__}
    return kind(**{name: value for name, value in values.items() if value is not UNSET} | changes)


def _calls(method: str, rendered: Callable[[Any], str], **changes: object) -> Run:
    """Return a function that calls a method and renders its result."""
    called: Any = METHODS[method]

    async def run(daemon: AsyncClient, given: a.Arguments, on_progress: OnProgress | None) -> str:
        params = _params(called.params, given, **changes)
        return rendered(await daemon.call(method, params, called.result, on_progress=on_progress))

    return run


SEARCHES = {"hybrid": "search.query", "keyword": "search.lexical", "vector": "search.vector"}


async def _search(daemon: AsyncClient, given: a.SearchArguments, on_progress: OnProgress | None) -> str:
    wide = {"limit": _MOST_DOCUMENTS, "passages": _MOST_PASSAGES} if given.tokens else {}
    # `fields` is a filter on the wire.
    asked = {"columns": given.fields, "fields": {}, **wide}
    run = _calls(SEARCHES[given.mode], lambda found: output_text.search(found, given), **asked)
    return await run(daemon, given, on_progress)


_GLOB = re.compile(r"[*?\[{]")


async def _read(daemon: AsyncClient, given: a.ReadArguments, on_progress: OnProgress | None) -> str:
    ref, *others = given.refs
    if others:
        found = [await _found(daemon, each, given.tokens, on_progress) for each in dict.fromkeys(given.refs)]
        return pages.several(found, given.tokens)
    start = None if given.start_line is UNSET else given.start_line
    try:
        return pages.document(await _document(daemon, ref, given.tokens, start), given.tokens)
    except DocumentNotFound:
        if not _GLOB.search(ref):  # file names and headings may also contain these characters
            raise
    return pages.several([await _matching(daemon, ref, on_progress)], given.tokens)


async def _found(daemon: AsyncClient, ref: str, tokens: int, on_progress: OnProgress | None) -> DocumentMultiGetResult:
    """Return the document that one of several references names, all documents that a glob matches, or the reason why
    none is found."""
    try:
        return DocumentMultiGetResult(documents=[await _document(daemon, ref, tokens)], skipped=[])
    except (NotFound, Conflict, Refused) as error:
        if isinstance(error, DocumentNotFound) and _GLOB.search(ref):
            return await _matching(daemon, ref, on_progress)
        skipped = SkippedReference(ref=ref, kind=error.kind, reason=error.message)
        return DocumentMultiGetResult(documents=[], skipped=[skipped])


async def _document(daemon: AsyncClient, ref: str, tokens: int, start: int | None = None) -> DocumentText:
    # A reference may contain a line, which a start_line overrides. A line has at least one token.
    params = DocumentGetParams(ref=ref, start_line=start, max_lines=tokens)
    return await daemon.call("document.get", params, DocumentText)


async def _matching(daemon: AsyncClient, glob: str, on_progress: OnProgress | None) -> DocumentMultiGetResult:
    params = DocumentMultiGetParams(refs=[glob], max_bytes=_ANY_BYTES, limit=_MOST_READ)
    return await daemon.call("document.multi_get", params, DocumentMultiGetResult, on_progress=on_progress)


async def status(daemon: AsyncClient, given: a.StatusArguments, on_progress: OnProgress | None) -> str:
    result, contexts = await asyncio.gather(
        daemon.call("index.status", _params(IndexStatusParams, given), IndexStatusResult, on_progress=on_progress),
        daemon.call("context.list", NoParams(), ContextListResult),
    )
    return output_text.status(result, contexts)


_RECALL = _calls("memory.search", memory_text.found)
_WHOLE = _calls("memory.retrieve", memory_text.whole)


async def _recall(daemon: AsyncClient, given: a.RecallArguments, on_progress: OnProgress | None) -> str:
    if not given.ids and given.query is UNSET:
        raise InvalidParams("recall: parameter 'query' is missing")
    return await (_WHOLE if given.ids else _RECALL)(daemon, given, on_progress)


_OF_ONE_DOCUMENT = ("links", "backlinks", "mentions", "similar")
_LINKS: dict[str, Run] = {
    "links": _calls("document.links", lambda found: output_text.links(found.links, found.total_links), direction="out"),
    "backlinks": _calls(
        "document.links", lambda found: output_text.links(found.backlinks, found.total_backlinks), direction="in"
    ),
    "mentions": _calls("links.mentions", output_text.mentions),
    "similar": _calls("search.similar", output_text.search),
    "graph": _calls("links.graph", output_text.graph),
    "orphans": _calls("links.orphans", output_text.orphans),
    "unresolved": _calls("links.unresolved", lambda found: output_text.links(found.links, found.total)),
}


async def _links(daemon: AsyncClient, given: a.LinksArguments, on_progress: OnProgress | None) -> str:
    if given.what in _OF_ONE_DOCUMENT and given.ref is UNSET:
        raise InvalidParams(f"links: parameter 'ref' is missing: {given.what} belong to one document")
    return await _LINKS[given.what](daemon, given, on_progress)


CORE = (
    Tool(
        "search",
        "Search the user's documents",
        "Find documents in the user's own folders: titles, addresses, lines and snippets, best first. Use it to "
        "explore, or to find a document. To answer a question, use `evidence`.",
        a.SearchArguments,
        _search,
    ),
    Tool(
        "evidence",
        "Collect evidence for an answer",
        "Return the fewest passages of the documents that support an answer to a question, word for word. Use it first "
        "when you will write the answer. The note `perhaps` means: read them before you rely on them; `not in the "
        "documents`: say so.",
        a.EvidenceArguments,
        _calls("evidence.gather", output_text.evidence),
    ),
    Tool(
        "read",
        "Read documents",
        "Return documents as Markdown with line numbers. Start near the lines that a search returned. The head says "
        "where to continue.",
        a.ReadArguments,
        _read,
    ),
    Tool(
        "links",
        "Follow links between documents",
        "List links in a document or to it, or the documents related to it.",
        a.LinksArguments,
        _links,
    ),
    Tool(
        "recall",
        "Recall memories",
        "Find facts, preferences and decisions of earlier conversations. Look here before you ask the user or work "
        "something out again. Scores: from 0.30 excellent, below 0.20 weak.",
        a.RecallArguments,
        _recall,
    ),
    Tool(
        "remember",
        "Store a memory",
        "Remember a fact, preference or decision for later conversations. It proposes memories that the new one may "
        "replace: if you agree, store it again with their ids in `supersedes`. Never store secrets, unless the user "
        "asks for it.",
        a.RememberArguments,
        _calls("memory.store", memory_text.stored),
        "adds",
    ),
)
MORE = (
    Tool(
        "ask",
        "Ask the user's documents",
        "Quote the sentences that answer a question; then a language model of the user, if there is a capable one, "
        "writes an answer with checked citations, which takes seconds.",
        a.AskArguments,
        _calls("ask.answer", output_text.ask),
    ),
    Tool(
        "verify",
        "Check claims and citations",
        "For each sentence of a text, return the sentence of the user's documents that supports it or contradicts it, "
        "if there is one. `not in the documents` does not mean that it is wrong. For each citation, say whether the "
        "cited lines are unchanged.",
        a.VerifyArguments,
        _calls("ask.verify", output_text.verify),
    ),
    Tool(
        "status",
        "What is indexed",
        "List the collections (indexed folders), what each is about, and whether the index is current.",
        a.StatusArguments,
        status,
    ),
    Tool(
        "recall_more",
        "Recall more memories",
        "Like `recall`, with four times as many candidates, and slower. Use it only if `recall` found only weak ones.",
        a.DeepRecallArguments,
        _calls("memory.deep_search", memory_text.found, budget_s=_DEEP_BUDGET_S),
    ),
    Tool(
        "forget",
        "Delete memories",
        "Delete memories permanently. Only if the user asks for it, or if a stored memory was wrong.",
        a.ForgetArguments,
        _calls("memory.forget", memory_text.forgotten),
        "removes",
    ),
)
