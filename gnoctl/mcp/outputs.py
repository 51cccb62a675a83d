"""The output of each tool: the daemon's result without what an agent does not need. Must not depend on MCP.

Compact first: a search says where to look, and only `get` returns text, page by page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Annotated

from msgspec import Meta, Struct

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
from gnod.types import canonical_line, source_line

MAX_SNIPPET_CHARS = 400
MAX_TEXT_CHARS = 40_000
MAX_FAILURES = 50

_FULL = "over the size of one reply: request them in another call, or narrow the glob"

Note = Annotated[str | None, Meta(description="What this answer may lack, and why.")]
About = Annotated[str | None, Meta(description="What the folder is about.")]


class Output(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of all outputs. Fields with their default value are left out."""


Also = Annotated[list[str], Meta(description="Other files with the same bytes.")]


class PassageOutput(Output, frozen=True, kw_only=True):
    line: int
    end_line: int
    snippet: str


class SearchHit(Output, frozen=True, kw_only=True):
    title: str
    uri: Annotated[str, Meta(description="Read it with `get`.")]
    line: Annotated[int, Meta(description="First line of the match.")]
    end_line: int
    location: Annotated[
        str | None, Meta(description="Page, slide, sheet, … of the match; `get` reads it as `uri#location`.")
    ] = None
    definition: Annotated[str | None, Meta(description="Function, class or method that the match is in.")] = None
    heading: Annotated[str, Meta(description="Headings above the match.")] = ""
    score: Annotated[float, Meta(description="0 to 1; comparable only within this answer.")]
    loose: Annotated[bool, Meta(description="Only loosely similar: probably not about the query.")] = False
    snippet: str
    modified: str
    tags: list[str] = []
    about: About = None
    more: Annotated[list[PassageOutput], Meta(description="Further passages, best first.")] = []
    matches: Annotated[
        str | None, Meta(description="How many matches the document has, if several passages were asked for.")
    ] = None
    also: Also = []
    why: Annotated[list[str], Meta(description="Why it is related: links to it (→), from it (←), similarity.")] = []


class SearchOutput(Output, frozen=True, kw_only=True):
    total: Annotated[int, Meta(description="Number of documents that matched, or were compared.")]
    hits: list[SearchHit]
    note: Note = None


class LinkOutput(Output, frozen=True, kw_only=True):
    """A link or a mention. A link of a graph has no line."""

    uri: Annotated[str, Meta(description="The document that it is in.")]
    line: int = 0
    to: Annotated[list[str], Meta(description="Where it leads; several: it is ambiguous.")] = []
    target: Annotated[str, Meta(description="As it is written; or the name that is mentioned.")] = ""
    state: Annotated[str, Meta(description="If it leads to no document: unresolved, external, outside.")] = ""
    passage: str = ""


class ConnectedDocument(Output, frozen=True, kw_only=True):
    uri: str
    title: str
    distance: int = 0


class LinksOutput(Output, frozen=True, kw_only=True):
    total: Annotated[int | None, Meta(description="How many there are in all, if that is known.")]
    links: list[LinkOutput] = []
    documents: list[ConnectedDocument] = []
    note: Note = None


class DocumentOutput(Output, frozen=True, kw_only=True):
    title: str
    uri: str
    start_line: int
    end_line: int
    total_lines: int
    text: Annotated[str, Meta(description="Markdown, from start_line to end_line.")]
    line_map: Annotated[
        list[tuple[int, int]],
        Meta(description="Where the file has more blank lines: (line of the Markdown, how many)."),
    ] = []
    modified: str
    next_line: Annotated[int | None, Meta(description="Continue here; absent at the end.")] = None
    tags: list[str] = []
    about: About = None
    note: Note = None


class CollectionState(Output, frozen=True, kw_only=True):
    name: str
    path: str
    documents: int
    about: str | None = None
    pending: Annotated[int, Meta(description="Files that are not indexed yet.")] = 0
    failed: Annotated[int, Meta(description="Files that could not be read.")] = 0
    missing: Annotated[str | None, Meta(description="Why the folder is unavailable.")] = None


class FailedFileOutput(Output, frozen=True, kw_only=True):
    file: str
    reason: str


class StatusOutput(Output, frozen=True, kw_only=True):
    index: str
    documents: int
    collections: list[CollectionState]
    current: Annotated[bool, Meta(description="The index equals the disk.")]
    state: Annotated[str, Meta(description="The same in words: current, or what is missing.")]
    about: Annotated[str | None, Meta(description="What all collections are about.")] = None
    failures: list[FailedFileOutput] = []
    note: Note = None


class Citation(Output, frozen=True, kw_only=True):
    number: int
    title: str
    uri: str
    line: int
    end_line: int
    also: Also = []


class QuoteOutput(Output, frozen=True, kw_only=True):
    text: Annotated[str, Meta(description="Word for word as in the document.")]
    uri: str
    line: int
    end_line: int
    heading: Annotated[str, Meta(description="The headings above it.")]
    kind: Annotated[str, Meta(description="sentence, row (of a table), item (of a list) or line (of code).")]
    score: float
    perhaps: Annotated[bool, Meta(description="The nearest passage; it probably does not answer the question.")] = False
    also: Also = []


class AskOutput(Output, frozen=True, kw_only=True):
    quotes: Annotated[list[QuoteOutput], Meta(description="What best answers the question, best first.")]
    answered: Annotated[bool, Meta(description="The quotes or `answer` answer the question; false: not found.")]
    confidence: Annotated[float, Meta(description="That the quotes answer the question, from 0 to 1.")]
    answer: Annotated[
        str, Meta(description="Generated; each sentence with citations such as [1], checked; may be empty.")
    ]
    sources: Annotated[list[Citation], Meta(description="The cited sources; without an answer, all that were read.")]
    note: Note = None


class EvidencePassageOutput(Output, frozen=True, kw_only=True):
    number: int
    line: int
    end_line: int
    heading: Annotated[str, Meta(description="The headings above it.")] = ""
    lead: Annotated[str, Meta(description="Header of the table, or the line above the list.")] = ""
    text: Annotated[str, Meta(description="Word for word as in the document.")]
    score: float


class EvidenceDocument(Output, frozen=True, kw_only=True):
    uri: str
    title: str
    docid: str
    content_hash: Annotated[str, Meta(description="Changes with the text; equal for copies.")]
    passages: list[EvidencePassageOutput]
    also: Also = []


class EvidenceOutput(Output, frozen=True, kw_only=True):
    documents: Annotated[list[EvidenceDocument], Meta(description="Best first; passages in the order of their lines.")]
    found: Annotated[bool, Meta(description="Whether they answer the question; if not, they are only the nearest.")]
    tokens: Annotated[int, Meta(description="Upper estimate.")]
    left_out: Annotated[list[str], Meta(description="What else was found, and why it is not here.")] = []
    note: Note = None


class MultiGetOutput(Output, frozen=True, kw_only=True):
    documents: list[DocumentOutput]
    skipped: Annotated[list[str], Meta(description="What was left out: for each reason how many, and examples.")] = []


class ProposedMemory(Output, frozen=True, kw_only=True):
    id: str
    text: str
    reason: str
    time: str


class StoredMemory(Output, frozen=True, kw_only=True):
    id: str
    existed: Annotated[bool, Meta(description="The text was stored before; topics were added, the type was set.")] = (
        False
    )
    proposals: Annotated[list[ProposedMemory], Meta(description="Memories that it may supersede; unchanged.")] = []


class MemoryHit(Output, frozen=True, kw_only=True):
    id: Annotated[str, Meta(description="Read all of it with `memory_retrieve`, unless it is complete.")]
    text: str
    rerank: Annotated[float, Meta(description="Score: from 0.30 excellent, from 0.20 good, below 0.20 weak.")]
    vector: Annotated[float | None, Meta(description="Similarity in meaning; absent: found by topic only.")] = None
    type: str
    time: str
    topics: list[str] = []
    complete: Annotated[bool, Meta(description="The text is complete.")] = False
    namespace: str | None = None
    when: Annotated[str | None, Meta(description="When it happened.")] = None
    superseded_by: Annotated[str | None, Meta(description="The memory that replaces it.")] = None


class MemorySearchOutput(Output, frozen=True, kw_only=True):
    results: list[MemoryHit]
    counts: str
    topics: Annotated[dict[str, int], Meta(description="How often each topic occurs in the results.")] = {}
    note: Note = None


class MemoryOutput(Output, frozen=True, kw_only=True):
    id: str
    text: str
    type: str
    topics: list[str] = []
    namespace: str
    created: str
    updated: str
    when: str | None = None
    superseded_by: str | None = None
    supersedes: list[str] = []


class MemoriesOutput(Output, frozen=True, kw_only=True):
    memories: list[MemoryOutput]
    note: Note = None


class ForgetOutput(Output, frozen=True, kw_only=True):
    forgotten: int


def search_output(result: SearchResult) -> SearchOutput:
    hits = [
        copied(
            SearchHit,
            hit,
            score=round(hit.score, 3),
            snippet=_clip(hit.snippet),
            about=hit.context,
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


def document_output(result: DocumentText) -> DocumentOutput:
    """Return as much of a document as an agent should read at once."""
    kept, size = 0, 0
    lines = re.findall(r"[^\n]*\n|[^\n]+", result.text)  # some other characters, such as a form feed, do not end a line
    for line in lines:
        if kept and size + len(line) > MAX_TEXT_CHARS:
            break
        kept, size = kept + 1, size + len(line)
    shown = "".join(lines[:kept])
    cut = len(shown) > MAX_TEXT_CHARS  # the text is a single line, so there is no smaller page
    end = result.end_line
    if kept < len(lines):
        # Line numbers are those of the file. Canonical text may have fewer lines.
        end = source_line(result.line_map, canonical_line(result.line_map, result.start_line) + kept - 1)
    notes = (
        "the file has changed since it was indexed: call `search` with fresh=true" if result.stale else None,
        f"line {result.start_line} was cut because it is too long; the resource {result.uri} is complete"
        if cut
        else None,
    )
    return copied(
        DocumentOutput,
        result,
        end_line=end,
        text=shown[:MAX_TEXT_CHARS],
        next_line=end + 1 if end < result.total_lines else None,
        about=result.context,
        note=_join(notes),
    )


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
        current=result.freshness.current,
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
        notes.append("no model wrote an answer: read the quotes, or `search` and `get` for more")
    elif not result.answer:
        notes.append("no source supports what the model wrote: read the quotes, or `search` and `get` for more")
    elif result.finish in ("length", "time", "repetition"):
        notes.append("the answer was cut off: ask for less, or read the sources with `get`")
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
            score=round(quote.score, 3),
            also=_also(quote.also, quote.also_left_out),
        )
        for quote in result.quotes
    ]
    return AskOutput(
        quotes=quotes,
        answered=result.answered,
        confidence=round(result.confidence, 3),
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
                score=round(passage.score, 3),
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
        found=result.found,
        tokens=result.tokens,
        left_out=[evidence.left_out(each).removeprefix("left out: ") for each in result.left_out],
        note=_join(notes),
    )


def multi_get_output(result: DocumentMultiGetResult) -> MultiGetOutput:
    """Return as many documents as an agent should read at once, and at least one; each as `get` returns it."""
    kept: list[DocumentOutput] = []
    size = 0
    full = []
    for each in result.documents:
        size += len(each.text)
        if kept and size > MAX_TEXT_CHARS:
            full.append(SkippedReference(ref=each.uri, kind="answer_full", reason=_FULL))
        else:
            kept.append(document_output(each))
    return MultiGetOutput(
        documents=kept, skipped=[for_agent(each) for each in skipped_by_reason([*result.skipped, *full])]
    )


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
