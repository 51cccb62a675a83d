"""The tools: name, description for the agent's model, and the daemon's method behind it. Must not depend on MCP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec import UNSET

from gnoctl.mcp import arguments as a
from gnoctl.mcp import outputs as o
from gnod.client import AsyncClient
from gnod.client.connection import OnProgress
from gnod.errors import InvalidParams
from gnod.protocol.base import NoParams, Params, copied
from gnod.protocol.collections import ContextListResult
from gnod.protocol.documents import DocumentGetParams, DocumentText
from gnod.protocol.index import IndexStatusParams, IndexStatusResult
from gnod.protocol.methods import METHODS

P = TypeVar("P", bound=Params)
Run = Callable[[AsyncClient, Any, OnProgress | None], Awaitable[o.Output]]


class Tool(NamedTuple):
    """One tool. `effect` is on this machine only, and a second identical call has no further effect."""

    name: str
    title: str
    description: str
    arguments: type[a.Arguments]
    output: type[o.Output]
    run: Run
    effect: Literal["reads", "adds", "removes"] = "reads"


# An agent calls it after the normal search, and accepts a delay.
_DEEP_BUDGET_S = 5.0


def _params(kind: type[P], given: a.Arguments, **changes: object) -> P:
    """Return the parameters of a method, from the arguments with the same names."""
    values = {name: getattr(given, name) for name in given.__struct_fields__ if name in kind.__struct_fields__}
    return kind(**{name: value for name, value in values.items() if value is not UNSET} | changes)


def _calls(method: str, output: Callable[[Any], o.Output], **changes: object) -> Run:
    """Return what calls a method and makes its result an output."""
    called: Any = METHODS[method]

    async def run(daemon: AsyncClient, given: a.Arguments, on_progress: OnProgress | None) -> o.Output:
        params = _params(called.params, given, **changes)
        return output(await daemon.call(method, params, called.result, on_progress=on_progress))

    return run


SEARCHES = {
    "hybrid": _calls("search.query", o.search_output),
    "keyword": _calls("search.lexical", o.search_output),
    "vector": _calls("search.vector", o.search_output),
}


async def _search(daemon: AsyncClient, given: a.SearchArguments, on_progress: OnProgress | None) -> o.Output:
    return await SEARCHES[given.mode](daemon, given, on_progress)


async def _get(daemon: AsyncClient, given: a.GetArguments, on_progress: OnProgress | None) -> o.Output:
    # `ref` may contain a line, which a start_line would override.
    params = _params(DocumentGetParams, given, start_line=given.start_line if given.start_line > 1 else None)
    return o.document_output(await daemon.call("document.get", params, DocumentText, on_progress=on_progress))


async def _status(daemon: AsyncClient, given: a.StatusArguments, on_progress: OnProgress | None) -> o.Output:
    result, contexts = await asyncio.gather(
        daemon.call("index.status", _params(IndexStatusParams, given), IndexStatusResult, on_progress=on_progress),
        daemon.call("context.list", NoParams(), ContextListResult),
    )
    return o.status_output(result, contexts)


_OF_ONE_DOCUMENT = ("links", "backlinks", "mentions")
_LINKS: dict[str, Run] = {
    "links": _calls("document.links", lambda found: o.links_output(found.links, found.total_links), direction="out"),
    "backlinks": _calls(
        "document.links", lambda found: o.links_output(found.backlinks, found.total_backlinks), direction="in"
    ),
    "mentions": _calls("links.mentions", o.mentions_output),
    "graph": _calls("links.graph", o.graph_output),
    "orphans": _calls("links.orphans", o.orphans_output),
    "unresolved": _calls("links.unresolved", lambda found: o.links_output(found.links, found.total)),
}


async def _links(daemon: AsyncClient, given: a.LinksArguments, on_progress: OnProgress | None) -> o.Output:
    if given.what in _OF_ONE_DOCUMENT and given.ref is UNSET:
        raise InvalidParams(f"links: parameter 'ref' is missing: {given.what} are those of one document")
    return await _LINKS[given.what](daemon, given, on_progress)


_ALL = (
    Tool(
        "search",
        "Search the user's documents",
        "Find documents in the user's own indexed folders (notes, documentation, papers). Returns titles, addresses, "
        "line ranges and snippets, best first; read the text with `get`. Use it to explore, or to find a document that "
        "you know of. To answer a question, `evidence` returns the passages themselves. The query may have fields: "
        "title:word, tag:work, -author:ada, year:2020..2024, status:open; @name is a search that the user saved.",
        a.SearchArguments,
        o.SearchOutput,
        _search,
    ),
    Tool(
        "evidence",
        "Collect evidence for an answer",
        "Return the fewest passages of the user's documents that support an answer to a question, word for word, from "
        "one or several documents, without repetitions, within a number of tokens. Use it first when you will write "
        "the answer yourself; cite the addresses and lines. If `found` is false, the documents do not answer it: the "
        "passages are only the nearest. "
        "`left_out` says what more `tokens` would bring; `get` returns the text around a passage.",
        a.EvidenceArguments,
        o.EvidenceOutput,
        _calls("evidence.gather", o.evidence_output),
    ),
    Tool(
        "get",
        "Read a document",
        "Return the text of a document as Markdown, complete or some lines, with their numbers. Start near the lines "
        "that a search returned; `next_line` says where to continue.",
        a.GetArguments,
        o.DocumentOutput,
        _get,
    ),
    Tool(
        "multi_get",
        "Read several documents",
        "Return the texts of several short documents in one call, as `get` returns them: by addresses, or by a glob. "
        "`skipped` says what was left out, and why.",
        a.MultiGetArguments,
        o.MultiGetOutput,
        _calls("document.multi_get", o.multi_get_output),
    ),
    Tool(
        "similar",
        "Find related documents",
        "Find documents related to a given one: by meaning, by links, or linked beside it. `why` says which.",
        a.SimilarArguments,
        o.SearchOutput,
        _calls("search.similar", o.search_output),
    ),
    Tool(
        "links",
        "Follow links between documents",
        "List the links in a document or to it, where it is named without a link, or the documents around it; in a "
        "scope, documents that nothing links to, and links that lead nowhere.",
        a.LinksArguments,
        o.LinksOutput,
        _links,
    ),
    Tool(
        "status",
        "What is indexed",
        "List the collections (indexed folders), what each is about, and whether the index is current.",
        a.StatusArguments,
        o.StatusOutput,
        _status,
    ),
    Tool(
        "ask",
        "Ask the user's documents",
        "Quote the sentences of the documents that answer a question, word for word and with their lines, in a "
        "fraction of a second. Then a language model of the user, if there is a capable one, writes an answer with "
        "checked citations, which takes seconds; with generate=false it does not. Use it for a single fact; to write "
        "an answer yourself, use `evidence`.",
        a.AskArguments,
        o.AskOutput,
        _calls("ask.answer", o.ask_output),
    ),
    Tool(
        "memory_search",
        "Search memories",
        "Find facts, preferences, decisions and results from earlier conversations. Look here first, before you ask "
        "the user or work something out again. Texts may be shortened; scores from 0.30 are excellent, from 0.20 good, "
        "below weak. No results means that no such memory is stored.",
        a.MemorySearchArguments,
        o.MemorySearchOutput,
        _calls("memory.search", o.memory_search_output),
    ),
    Tool(
        "memory_deep_search",
        "Search more memories",
        "Like `memory_search`, with four times as many candidates, and slower. Use it only if `memory_search` returned "
        "only weak results, and with at least two keywords.",
        a.MemoryDeepSearchArguments,
        o.MemorySearchOutput,
        _calls("memory.deep_search", o.memory_search_output, budget_s=_DEEP_BUDGET_S),
    ),
    Tool(
        "memory_retrieve",
        "Read memories",
        "Return the complete text of memories, several at once, by the ids from a search. Not needed for memories that "
        "were complete in the search.",
        a.MemoryIdsArguments,
        o.MemoriesOutput,
        _calls("memory.retrieve", o.memories_output),
    ),
    Tool(
        "memory_store",
        "Store a memory",
        "Remember something for later conversations: one fact, preference or decision at a time, in a sentence that "
        "can be understood on its own, with its type and a few topics. If something has changed, store the new state "
        "with `supersedes`: the old memory stays, ranks lower and names the new one. Without it, the result proposes "
        "older memories that the new one may contradict, with reasons: if you agree, store the same text again with "
        "their ids in `supersedes`. If something is finished, store the same text again with _done at the end of its "
        "type (task_done). "
        "Never store passwords or other secrets, unless the user asks for it.",
        a.MemoryStoreArguments,
        o.StoredMemory,
        _calls("memory.store", o.stored_memory_output),
        "adds",
    ),
    Tool(
        "memory_forget",
        "Delete memories",
        "Delete memories permanently. Only if the user asks for it, or if a stored memory was wrong.",
        a.MemoryIdsArguments,
        o.ForgetOutput,
        _calls("memory.forget", lambda result: copied(o.ForgetOutput, result)),
        "removes",
    ),
)

TOOLS = {tool.name: tool for tool in _ALL}
