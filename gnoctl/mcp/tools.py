"""The tools: name, what the agent's model is told of each, and the daemon's method behind it. Knows no MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET

from gnoctl.mcp import answers as a
from gnoctl.mcp.arguments import (
    Arguments,
    AskArguments,
    GetArguments,
    MemoryDeepSearchArguments,
    MemoryIdsArguments,
    MemorySearchArguments,
    MemoryStoreArguments,
    NarrowedArguments,
    SearchArguments,
    SimilarArguments,
    StatusArguments,
)
from gnoctl.mcp.daemon import Daemon
from gnod.client.answers import OnProgress
from gnod.protocol import memory as m
from gnod.protocol import params as p
from gnod.protocol import results as r

Run = Callable[[Daemon, Any, OnProgress | None], Awaitable[a.Answer]]


class Tool(NamedTuple):
    """One tool. `effect` on what is on this machine; none goes beyond, and the same again changes nothing more."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[a.Answer]
    run: Run
    effect: Literal["reads", "adds", "removes"] = "reads"


# An agent has tried the normal search before, and waits.
_DEEP_BUDGET_S = 5.0

_SEARCHES: dict[str, tuple[str, type[p.SearchParams]]] = {
    "hybrid": ("search.query", p.SearchQueryParams),
    "lexical": ("search.lexical", p.SearchLexicalParams),
    "vector": ("search.vector", p.SearchVectorParams),
}


async def _search(daemon: Daemon, given: SearchArguments, on_progress: OnProgress | None) -> a.Answer:
    method, params = _SEARCHES[given.mode]
    result = await daemon.call(method, params(query=given.query, **_filters(given)), r.SearchResult, on_progress)
    return a.found(result)


async def _similar(daemon: Daemon, given: SimilarArguments, on_progress: OnProgress | None) -> a.Answer:
    params = p.SearchSimilarParams(ref=given.ref, **_filters(given))
    return a.found(await daemon.call("search.similar", params, r.SearchResult, on_progress))


async def _ask(daemon: Daemon, given: AskArguments, on_progress: OnProgress | None) -> a.Answer:
    params = p.AskParams(question=given.question, **_filters(given))
    return a.answered(await daemon.call("ask.answer", params, r.AskResult, on_progress))


async def _get(daemon: Daemon, given: GetArguments, on_progress: OnProgress | None) -> a.Answer:
    # A reference may name a line of its own, which a start_line would override.
    start = given.start_line if given.start_line > 1 else None
    params = p.DocumentGetParams(ref=given.ref, start_line=start, max_lines=given.max_lines)
    return a.document(await daemon.call("document.get", params, r.DocumentText, on_progress))


async def _status(daemon: Daemon, given: StatusArguments, on_progress: OnProgress | None) -> a.Answer:
    result, contexts = await asyncio.gather(
        daemon.call("index.status", p.IndexStatusParams(errors=given.errors), r.IndexStatusResult, on_progress),
        daemon.call("context.list", p.NoParams(), r.ContextListResult),
    )
    return a.status(result, contexts)


async def _memory_store(daemon: Daemon, given: MemoryStoreArguments, on_progress: OnProgress | None) -> a.Answer:
    params = m.MemoryStoreParams(text=given.text, type=given.type, topics=given.topics, namespace=given.namespace)
    return a.stored(await daemon.call("memory.store", params, m.MemoryStoreResult, on_progress))


async def _memory_search(daemon: Daemon, given: MemorySearchArguments, on_progress: OnProgress | None) -> a.Answer:
    params = m.MemorySearchParams(query=given.query, namespaces=given.namespaces, limit=given.limit)
    return a.recalled(await daemon.call("memory.search", params, m.MemorySearchResult, on_progress))


async def _memory_deep_search(
    daemon: Daemon, given: MemoryDeepSearchArguments, on_progress: OnProgress | None
) -> a.Answer:
    params = m.MemoryDeepSearchParams(
        query=given.query, namespaces=given.namespaces, limit=given.limit, budget_s=_DEEP_BUDGET_S
    )
    return a.recalled(await daemon.call("memory.deep_search", params, m.MemorySearchResult, on_progress))


async def _memory_retrieve(daemon: Daemon, given: MemoryIdsArguments, on_progress: OnProgress | None) -> a.Answer:
    params = m.MemoryIdsParams(ids=given.ids)
    return a.memories(await daemon.call("memory.retrieve", params, m.MemoryRecordsResult, on_progress))


async def _memory_forget(daemon: Daemon, given: MemoryIdsArguments, on_progress: OnProgress | None) -> a.Answer:
    result = await daemon.call("memory.forget", m.MemoryIdsParams(ids=given.ids), m.MemoryForgetResult, on_progress)
    return a.ForgottenAnswer(forgotten=result.forgotten)


def _filters(given: NarrowedArguments) -> dict[str, Any]:
    """Return what all searches take; the names are those of the wire."""
    names = NarrowedArguments.__struct_fields__
    return {name: value for name in names if (value := getattr(given, name)) is not UNSET}


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "search",
            "Search the user's documents",
            "Find documents in the user's own indexed folders (notes, documentation, papers). Returns titles, "
            "addresses, line ranges and snippets, best first; read the text with `get`.",
            SearchArguments,
            a.SearchAnswer,
            _search,
        ),
        Tool(
            "get",
            "Read a document",
            "Return a document's text as Markdown, whole or some lines of it. Begin near the lines that a search "
            "named; `next_line` says where to go on.",
            GetArguments,
            a.DocumentAnswer,
            _get,
        ),
        Tool(
            "similar",
            "Find similar documents",
            "Find documents whose meaning is near to a given document's.",
            SimilarArguments,
            a.SearchAnswer,
            _similar,
        ),
        Tool(
            "status",
            "What is indexed",
            "List the collections (indexed folders), what each is about, and whether the index is current.",
            StatusArguments,
            a.StatusAnswer,
            _status,
        ),
        Tool(
            "ask",
            "Ask the user's documents",
            "Let the small language model on this machine answer a question from the documents, with citations. "
            "Slow (seconds); to find and read by yourself, use `search` and `get`.",
            AskArguments,
            a.AskAnswer,
            _ask,
        ),
        Tool(
            "memory_search",
            "Recall what was remembered",
            "Find what was remembered in earlier conversations: facts, preferences, decisions, results. Look here "
            "first, before you ask the user or work something out again. Texts may be shortened; scores from 0.30 are "
            "excellent, from 0.20 good, below weak. No results: nothing of the kind is stored.",
            MemorySearchArguments,
            a.MemorySearchAnswer,
            _memory_search,
        ),
        Tool(
            "memory_deep_search",
            "Recall more",
            "As `memory_search`, among four times as many memories, and slower. Only when `memory_search` found "
            "nothing but weak results, and with two keywords or more.",
            MemoryDeepSearchArguments,
            a.MemorySearchAnswer,
            _memory_deep_search,
        ),
        Tool(
            "memory_retrieve",
            "Read memories",
            "Return memories whole, several at once, by the ids that a search returned. Not needed for those that "
            "came complete.",
            MemoryIdsArguments,
            a.MemoriesAnswer,
            _memory_retrieve,
        ),
        Tool(
            "memory_store",
            "Remember",
            "Remember something for later conversations: one fact, preference or decision at a time, in a sentence "
            "that is understood by itself, with its type and a few topics. What is finished or superseded: store the "
            "same text again with _done at the end of its type (task_done), and what holds now as another. Never "
            "passwords or other secrets, unless the user asks for it.",
            MemoryStoreArguments,
            a.StoredMemory,
            _memory_store,
            "adds",
        ),
        Tool(
            "memory_forget",
            "Forget",
            "Remove memories for good. Only when the user asks for it, or when something stored was wrong.",
            MemoryIdsArguments,
            a.ForgottenAnswer,
            _memory_forget,
            "removes",
        ),
    )
}


def structured(answer: a.Answer) -> dict[str, Any]:
    """Return the answer as plain data, without what has its default."""
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    return plain
