"""The output of each tool: the daemon's result without what an agent does not need. Must not depend on MCP.

Compact first: a search says where to look, and only `read` returns text, page by page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, takewhile

from msgspec import Struct

from gnoctl.mcp.hints import for_agent
from gnoctl.printing import evidence, text
from gnoctl.printing.wording import corrected, loosely, matches, missed_by, reason, skipped_by_reason
from gnod.protocol.base import AnswerSource, Copy, Quote, copied
from gnod.protocol.collections import ContextListResult
from gnod.protocol.documents import DocumentListResult, DocumentMultiGetResult, DocumentText, SkippedReference
from gnod.protocol.evidence import EvidenceResult
from gnod.protocol.index import EmbeddingStatus, IndexStatusResult
from gnod.protocol.links import DocumentLink, LinksGraphResult, LinksMentionsResult
from gnod.protocol.memory import MemoryRecordsResult, MemorySearchResult, MemoryStoreResult
from gnod.protocol.search import AskResult, SearchResult
from gnod.types import canonical_line, estimated_tokens, source_line

MAX_SNIPPET_CHARS = 400
MAX_TEXT_CHARS = 40_000
MAX_FAILURES = 50

# With fewer tokens left, `read` does not begin another document.
_FEWEST_TOKENS = 100
# A line that is longer than all tokens is cut after this many characters for each.
_TOKEN_CHARS = 4
_FULL = "no tokens are left: request them in another call, or with more `tokens`"


class Output(Struct, frozen=True, kw_only=True):
    """The base of all outputs."""


class PassageOutput(Output, frozen=True, kw_only=True):
    line: int
    end_line: int
    snippet: str


class SearchHit(Output, frozen=True, kw_only=True):
    title: str
    uri: str
    line: int
    end_line: int
    location: str | None = None
    definition: str | None = None
    heading: str = ""
    score: float
    loose: bool = False
    snippet: str
    more: list[PassageOutput] = []
    matches: str | None = None
    also: list[str] = []
    why: list[str] = []


class SearchOutput(Output, frozen=True, kw_only=True):
    total: int
    hits: list[SearchHit]
    note: str | None = None


class LinkOutput(Output, frozen=True, kw_only=True):
    """A link or a mention. A link of a graph has no line."""

    uri: str
    line: int = 0
    to: list[str] = []
    target: str = ""
    state: str = ""
    passage: str = ""


class ConnectedDocument(Output, frozen=True, kw_only=True):
    uri: str
    title: str


class LinksOutput(Output, frozen=True, kw_only=True):
    total: int | None
    links: list[LinkOutput] = []
    documents: list[ConnectedDocument] = []
    note: str | None = None


class DocumentOutput(Output, frozen=True, kw_only=True):
    title: str
    uri: str
    start_line: int
    end_line: int
    total_lines: int
    text: str
    line_map: list[tuple[int, int]] = []
    modified: str
    next_line: int | None = None
    tags: list[str] = []
    about: str | None = None
    note: str | None = None


class CollectionState(Output, frozen=True, kw_only=True):
    name: str
    path: str
    documents: int
    about: str | None = None
    pending: int = 0
    failed: int = 0
    missing: str | None = None


class FailedFileOutput(Output, frozen=True, kw_only=True):
    file: str
    reason: str


class StatusOutput(Output, frozen=True, kw_only=True):
    documents: int
    collections: list[CollectionState]
    state: str
    about: str | None = None
    failures: list[FailedFileOutput] = []
    note: str | None = None


class Citation(Output, frozen=True, kw_only=True):
    number: int
    title: str
    uri: str
    line: int
    end_line: int
    also: list[str] = []


class QuoteOutput(Output, frozen=True, kw_only=True):
    text: str
    uri: str
    line: int
    end_line: int
    heading: str
    perhaps: bool = False
    also: list[str] = []


class AskOutput(Output, frozen=True, kw_only=True):
    quotes: list[QuoteOutput]
    answer: str
    sources: list[Citation]
    note: str | None = None


class EvidencePassageOutput(Output, frozen=True, kw_only=True):
    number: int
    line: int
    end_line: int
    heading: str = ""
    lead: str = ""
    text: str


class EvidenceDocument(Output, frozen=True, kw_only=True):
    uri: str
    title: str
    docid: str
    content_hash: str
    passages: list[EvidencePassageOutput]
    also: list[str] = []


class EvidenceOutput(Output, frozen=True, kw_only=True):
    documents: list[EvidenceDocument]
    tokens: int
    left_out: list[str] = []
    note: str | None = None


class SeveralOutput(Output, frozen=True, kw_only=True):
    documents: list[DocumentOutput]
    skipped: list[str] = []


class ProposedMemory(Output, frozen=True, kw_only=True):
    id: str
    text: str
    reason: str
    time: str


class StoredMemory(Output, frozen=True, kw_only=True):
    id: str
    existed: bool = False
    proposals: list[ProposedMemory] = []


class MemoryHit(Output, frozen=True, kw_only=True):
    id: str
    text: str
    rerank: float
    type: str
    time: str
    topics: list[str] = []
    complete: bool = False
    namespace: str | None = None
    when: str | None = None
    superseded_by: str | None = None


class MemorySearchOutput(Output, frozen=True, kw_only=True):
    results: list[MemoryHit]
    counts: str
    topics: dict[str, int] = {}
    note: str | None = None


class MemoryOutput(Output, frozen=True, kw_only=True):
    id: str
    text: str
    type: str
    topics: list[str] = []
    namespace: str
    updated: str
    when: str | None = None
    superseded_by: str | None = None
    supersedes: list[str] = []


class MemoriesOutput(Output, frozen=True, kw_only=True):
    memories: list[MemoryOutput]
    note: str | None = None


class ForgetOutput(Output, frozen=True, kw_only=True):
    forgotten: int


def search_output(result: SearchResult) -> SearchOutput:
    hits = [
        copied(
            SearchHit,
            hit,
            score=round(hit.score, 3),
            snippet=_clip(hit.snippet),
            location=hit.location.fragment if hit.location else None,
            definition=hit.definition.label if hit.definition else None,
            more=[copied(PassageOutput, each, snippet=_clip(each.snippet)) for each in (hit.passages or [])[1:]],
            matches=matches(hit.matches) if hit.matches else None,
            also=_also(hit.also, hit.also_left_out),
            why=[reason(each.kind, each.number) for each in hit.reasons or []],
        )
        for hit in result.hits
    ]
    notes = (
        *corrected(result.corrections),
        loosely(result.loose) + ": `loose` returns them" if result.loose else None,
        missed_by(result.freshness),
        result.lexical_only_reason,
        *result.notes,
        *result.hints,
    )
    return SearchOutput(total=result.total, hits=hits, note=_join(notes))


def links_output(found: list[DocumentLink], total: int) -> LinksOutput:
    links = [
        copied(
            LinkOutput,
            each,
            to=[each.to] if each.to else each.candidates,
            state=each.state if each.state in ("unresolved", "external", "outside") else "",
            passage=_clip(each.passage),
        )
        for each in found
    ]
    return LinksOutput(total=total, links=links)


def mentions_output(result: LinksMentionsResult) -> LinksOutput:
    links = [copied(LinkOutput, mention, target=mention.name) for mention in result.mentions]
    note = "there are more: add their number to offset" if result.has_more else None
    return LinksOutput(total=result.total, links=links, note=note)


def graph_output(result: LinksGraphResult) -> LinksOutput:
    return LinksOutput(
        total=result.total,
        links=[LinkOutput(uri=edge.source, to=[edge.target]) for edge in result.edges],
        documents=[copied(ConnectedDocument, node) for node in result.nodes],
        note="documents or links are left out: raise limit, or choose a ref or scope" if result.is_cut else None,
    )


def orphans_output(result: DocumentListResult) -> LinksOutput:
    return LinksOutput(
        total=result.total, documents=[copied(ConnectedDocument, document) for document in result.documents]
    )


def document_output(result: DocumentText, tokens: int) -> DocumentOutput:
    """Return as much of a document as fits into a number of tokens, and a line at least."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", result.text)  # some other characters, such as a form feed, do not end a line
    kept = _cut(lines, tokens)
    shown = "".join(lines[:kept])
    most = tokens * _TOKEN_CHARS
    end = result.end_line
    if kept < len(lines):
        # Line numbers are those of the file. Canonical text may have fewer lines.
        end = source_line(result.line_map, canonical_line(result.line_map, result.start_line) + kept - 1)
    notes = (
        "the file has changed since it was indexed: call `search` with fresh=true" if result.stale else None,
        f"line {result.start_line} was cut because it is too long; the resource {result.uri} is complete"
        if len(shown) > most  # the text is a single line, so there is no smaller page
        else None,
    )
    return copied(
        DocumentOutput,
        result,
        end_line=end,
        text=shown[:most],
        next_line=end + 1 if end < result.total_lines else None,
        about=result.context,
        note=_join(notes),
    )


def _cut(lines: list[str], tokens: int) -> int:
    """Return how many lines fit, one at least: up to the last blank line or before the last heading, if the part that
    this leaves out is short."""
    sizes = accumulate(estimated_tokens(line) for line in lines)
    fits = max(sum(1 for _ in takewhile(lambda size: size <= tokens, sizes)), 1)
    if fits >= len(lines):
        return len(lines)
    ends = (n for n in range(fits, fits * 3 // 4, -1) if not lines[n - 1].strip() or lines[n].startswith("#"))
    return next(ends, fits)


def status_output(result: IndexStatusResult, contexts: ContextListResult) -> StatusOutput:
    about = _about(contexts)
    collections = [
        copied(
            CollectionState,
            collection,
            documents=collection.indexed,
            about=about.get(collection.name),
            missing=None if collection.available else collection.reason or "its folder does not exist",
        )
        for collection in result.collections
    ]
    failures = [
        FailedFileOutput(file=f"{each.collection}/{each.path}", reason=each.message) for each in result.errors or []
    ]
    more = max(len(failures) - MAX_FAILURES, 0) + result.errors_left_out
    notes = (
        None if collections else "no folder is indexed yet: the user adds one with `gnoctl init FOLDER`",
        _embedding(result.embedding),
        f"{more} more failures are not listed" if more else None,
        result.config_error,
    )
    return copied(
        StatusOutput,
        result,
        collections=collections,
        state=result.freshness.state,
        about=about.get(""),
        failures=failures[:MAX_FAILURES],
        note=_join(notes),
    )


def ask_output(result: AskResult) -> AskOutput:
    """Return the quotes, and the answer with the sources that it cites."""
    notes: list[str | None] = [
        *corrected(result.corrections),
        missed_by(result.freshness),
        *result.notes,
        *result.hints,
    ]
    if not result.answered:
        notes.append("the documents do not say; `search` may still find documents to read")
    elif result.model is None:
        notes.append("no model wrote an answer: read the quotes, or `search` and `read` for more")
    elif not result.answer:
        notes.append("no source supports what the model wrote: read the quotes, or `search` and `read` for more")
    elif result.finish in ("length", "time", "repetition"):
        notes.append("the answer was cut off: ask for less, or read the sources with `read`")
    sources = [
        copied(Citation, source, uri=_uri(source), also=_also(source.also, source.also_left_out))
        for source in result.sources
        if source.cited or not result.answer
    ]
    quotes = [
        copied(
            QuoteOutput,
            quote,
            uri=_uri(quote),
            also=_also(quote.also, quote.also_left_out),
        )
        for quote in result.quotes
    ]
    return AskOutput(
        quotes=quotes,
        answer=result.answer,
        sources=sources,
        note=_join(notes),
    )


def _uri(passage: Quote | AnswerSource) -> str:
    """Return an address that `get` reads, with the page if there is one."""
    return f"{passage.uri}#{passage.location.fragment}" if passage.location else passage.uri


def evidence_output(result: EvidenceResult) -> EvidenceOutput:
    """Return the passages, grouped by document."""
    documents = []
    for _, group in groupby(result.passages, key=lambda each: each.uri):
        passages = list(group)
        shown = [
            copied(
                EvidencePassageOutput,
                passage,
                heading="" if passage.heading == passage.title else passage.heading,
            )
            for passage in passages
        ]
        also = _also(passages[0].also, passages[0].also_left_out)
        documents.append(copied(EvidenceDocument, passages[0], passages=shown, also=also))
    notes = (
        evidence.why_weak(result),
        evidence.why_nothing(result),
        missed_by(result.freshness),
        result.lexical_only_reason,
        *result.notes,
        *result.hints,
        *corrected(result.corrections),
    )
    return EvidenceOutput(
        documents=documents,
        tokens=result.tokens,
        left_out=[evidence.left_out(each).removeprefix("left out: ") for each in result.left_out],
        note=_join(notes),
    )


def several_output(result: DocumentMultiGetResult, tokens: int) -> SeveralOutput:
    """Return documents until a number of tokens is full: the last one may be cut, those after it are named."""
    kept: list[DocumentOutput] = []
    full = []
    for each in result.documents:
        if kept and tokens < _FEWEST_TOKENS:
            full.append(SkippedReference(ref=each.uri, kind="answer_full", reason=_FULL))
        else:
            kept.append(document_output(each, tokens))
            tokens -= estimated_tokens(kept[-1].text)
    skipped = skipped_by_reason([*result.skipped, *full])
    return SeveralOutput(documents=kept, skipped=[for_agent(each) for each in skipped])


def stored_memory_output(result: MemoryStoreResult) -> StoredMemory:
    return copied(StoredMemory, result, proposals=[copied(ProposedMemory, proposal) for proposal in result.proposals])


def memory_search_output(result: MemorySearchResult) -> MemorySearchOutput:
    results = [
        copied(
            MemoryHit,
            each,
            namespace=each.namespace if isinstance(each.namespace, str) else None,
            when=each.when if isinstance(each.when, str) else None,
            superseded_by=each.superseded_by if isinstance(each.superseded_by, str) else None,
        )
        for each in result.results
    ]
    return copied(MemorySearchOutput, result, results=results, note=_join(map(text.line, result.notes)))


def memories_output(result: MemoryRecordsResult) -> MemoriesOutput:
    """Return as many memories as an agent should read at once, and at least one."""
    kept: list[MemoryOutput] = []
    size = 0
    for each in result.memories:
        size += len(each.text)
        if kept and size > MAX_TEXT_CHARS:
            break
        kept.append(copied(MemoryOutput, each))
    left = ", ".join(memory.id for memory in result.memories[len(kept) :])
    return MemoriesOutput(memories=kept, note=f"too long for one answer; retrieve these next: {left}" if left else None)


def _embedding(status: EmbeddingStatus) -> str | None:
    if status.reason and status.state != "idle":
        return f"embedding is {status.state}: {status.reason}"
    return None


def _about(contexts: ContextListResult) -> dict[str, str]:
    """Return what each collection is about; "" is everything."""
    about: dict[str, str] = {}
    for context in contexts.contexts:
        name = "" if context.scope == "/" else context.scope.removesuffix(":")
        about[name] = f"{about[name]} {context.text}" if name in about else context.text
    return about


def _also(copies: Sequence[Copy], left_out: int) -> list[str]:
    return [*(copy.uri for copy in copies), *([f"and {left_out:,} more"] if left_out else [])]


def _clip(snippet: str) -> str:
    return snippet if len(snippet) <= MAX_SNIPPET_CHARS else snippet[: MAX_SNIPPET_CHARS - 1] + "…"


def _join(notes: Iterable[str | None]) -> str | None:
    return "; ".join(map(for_agent, filter(None, notes))) or None
