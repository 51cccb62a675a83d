"""What each tool answers: the daemon's results without what an agent does not need. Knows no MCP.

Compact first: a search says where to look, and only `get` hands out text by the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct

from gnoctl import freshness, text
from gnod.protocol import memory as m
from gnod.protocol import results as r
from gnod.types import canonical_line

MAX_SNIPPET_CHARS = 400
MAX_TEXT_CHARS = 40_000
MAX_FAILURES = 50

Note = Annotated[str | None, Meta(description="What this answer may have missed, and why.")]


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of all answers. What has its default is left out."""


class Found(Answer, frozen=True, kw_only=True):
    title: str
    uri: Annotated[str, Meta(description="Read it with `get`.")]
    line: Annotated[int, Meta(description="The first line of what was found.")]
    end_line: int
    score: Annotated[float, Meta(description="0 to 1; compares only within this answer.")]
    snippet: str
    modified: str
    tags: list[str] = []
    about: Annotated[str | None, Meta(description="What its folder is about.")] = None


class SearchAnswer(Answer, frozen=True, kw_only=True):
    total: Annotated[int, Meta(description="How many documents matched, or were compared.")]
    hits: list[Found]
    note: Note = None


class DocumentAnswer(Answer, frozen=True, kw_only=True):
    title: str
    uri: str
    start_line: int
    end_line: int
    total_lines: int
    text: Annotated[str, Meta(description="Markdown, from start_line to end_line.")]
    modified: str
    next_line: Annotated[int | None, Meta(description="Where to go on; absent at the end.")] = None
    tags: list[str] = []
    about: Annotated[str | None, Meta(description="What its folder is about.")] = None
    note: Note = None


class Collection(Answer, frozen=True, kw_only=True):
    name: str
    path: str
    documents: int
    about: str | None = None
    pending: Annotated[int, Meta(description="Files that differ from the index still.")] = 0
    failed: Annotated[int, Meta(description="Files that could not be read.")] = 0
    missing: Annotated[str | None, Meta(description="Why its folder is not there.")] = None


class Failure(Answer, frozen=True, kw_only=True):
    file: str
    reason: str


class StatusAnswer(Answer, frozen=True, kw_only=True):
    index: str
    documents: int
    collections: list[Collection]
    current: Annotated[bool, Meta(description="The index equals the disk.")]
    about: Annotated[str | None, Meta(description="What all of it is about.")] = None
    failures: list[Failure] = []
    note: Note = None


class Source(Answer, frozen=True, kw_only=True):
    number: int
    title: str
    uri: str
    line: int
    end_line: int


class AskAnswer(Answer, frozen=True, kw_only=True):
    answered: bool
    answer: Annotated[str, Meta(description="With citations like [1], each checked against its source.")]
    sources: Annotated[list[Source], Meta(description="Those that the answer cites; without one, what was read.")]
    note: Note = None


class StoredMemory(Answer, frozen=True, kw_only=True):
    id: str
    existed: Annotated[bool, Meta(description="It was there: its topics were added, its type set.")] = False


class FoundMemory(Answer, frozen=True, kw_only=True):
    id: Annotated[str, Meta(description="Read all of it with `memory_retrieve`, unless it is complete.")]
    text: str
    rerank: Annotated[float, Meta(description="The score: from 0.30 excellent, from 0.20 good, below weak.")]
    vector: Annotated[float | None, Meta(description="How near in meaning; absent: found by topic only.")] = None
    type: str
    time: str
    topics: list[str] = []
    complete: Annotated[bool, Meta(description="The text is all of it.")] = False
    namespace: str | None = None


class MemorySearchAnswer(Answer, frozen=True, kw_only=True):
    results: list[FoundMemory]
    counts: str
    topics: Annotated[dict[str, int], Meta(description="How often each stands in the results.")] = {}
    note: Note = None


class Memory(Answer, frozen=True, kw_only=True):
    id: str
    text: str
    type: str
    topics: list[str] = []
    namespace: str
    created: str
    updated: str


class MemoriesAnswer(Answer, frozen=True, kw_only=True):
    memories: list[Memory]
    note: Note = None


class ForgottenAnswer(Answer, frozen=True, kw_only=True):
    forgotten: int


def found(result: r.SearchResult) -> SearchAnswer:
    """Return a search's answer."""
    notes = (freshness.describe(result.freshness, nothing_found=not result.hits), result.by_words_only)
    hits = [
        Found(
            title=hit.title,
            uri=hit.uri,
            line=hit.line,
            end_line=hit.end_line,
            score=round(hit.score, 3),
            snippet=_clip(hit.snippet),
            modified=hit.modified,
            tags=hit.tags,
            about=hit.context,
        )
        for hit in result.hits
    ]
    return SearchAnswer(total=result.total, hits=hits, note=_join(notes))


def document(result: r.DocumentText) -> DocumentAnswer:
    """Return as much of a document as an agent should read at once."""
    lines = result.text.splitlines(keepends=True)
    kept, size = 0, 0
    for line in lines:
        if kept and size + len(line) > MAX_TEXT_CHARS:
            break
        kept, size = kept + 1, size + len(line)
    shown = "".join(lines[:kept])
    cut = len(shown) > MAX_TEXT_CHARS  # a single line: there is no smaller page
    end = result.end_line
    if kept < len(lines):
        # Line numbers are the file's, and canonical text may have lost some of its lines.
        first = canonical_line(result.line_map, result.start_line)
        end = _file_line(result, first + kept - 1)
    notes = (
        "the file has changed since it was indexed: `search` with fresh=true takes it in" if result.stale else None,
        f"line {result.start_line} is too long and was cut; the resource {result.uri} has all of it" if cut else None,
    )
    return DocumentAnswer(
        title=result.title,
        uri=result.uri,
        start_line=result.start_line,
        end_line=end,
        total_lines=result.total_lines,
        text=shown[:MAX_TEXT_CHARS],
        modified=result.modified,
        next_line=end + 1 if end < result.total_lines else None,
        tags=result.tags,
        about=result.context,
        note=_join(notes),
    )


def status(result: r.IndexStatusResult, contexts: r.ContextListResult) -> StatusAnswer:
    """Return the state of the index, and what is in it."""
    about = _about(contexts)
    collections = [
        Collection(
            name=each.name,
            path=each.path,
            documents=each.indexed,
            about=about.get(each.name),
            pending=each.pending,
            failed=each.failed,
            missing=None if each.available else each.reason or "its folder is not there",
        )
        for each in result.collections
    ]
    failures = [Failure(file=f"{each.collection}/{each.path}", reason=each.message) for each in result.errors or []]
    more = max(len(failures) - MAX_FAILURES, 0) + result.errors_left_out
    left_out = f"{more} more failures are left out" if more else None
    empty = None if collections else "no folder is indexed yet: the user adds one with `gnoctl collection add FOLDER`"
    notes = (
        empty,
        freshness.describe(result.freshness, nothing_found=True),
        _embedding(result.embedding),
        left_out,
        result.config_error,
    )
    return StatusAnswer(
        index=result.index,
        documents=result.documents,
        collections=collections,
        current=result.freshness.current,
        about=about.get(""),
        failures=failures[:MAX_FAILURES],
        note=_join(notes),
    )


def answered(result: r.AskResult) -> AskAnswer:
    """Return the answer with the sources that it cites."""
    return AskAnswer(
        answered=result.answered,
        answer=result.answer,
        sources=[
            Source(number=each.number, title=each.title, uri=each.uri, line=each.line, end_line=each.end_line)
            for each in result.sources
            if each.cited or not result.answered
        ],
        note=_join((freshness.describe(result.freshness, nothing_found=not result.sources), _unfinished(result))),
    )


def stored(result: m.MemoryStoreResult) -> StoredMemory:
    return StoredMemory(id=result.id, existed=result.existed)


def recalled(result: m.MemorySearchResult) -> MemorySearchAnswer:
    """Return what a search of the memories found."""
    results = [
        FoundMemory(
            id=each.id,
            text=each.text,
            rerank=each.rerank,
            vector=each.vector,
            type=each.type,
            time=each.time,
            topics=each.topics,
            complete=each.complete,
            namespace=each.namespace if isinstance(each.namespace, str) else None,
        )
        for each in result.results
    ]
    return MemorySearchAnswer(
        results=results, counts=result.counts, topics=result.topics, note=_join(map(text.line, result.notes))
    )


def memories(result: m.MemoryRecordsResult) -> MemoriesAnswer:
    """Return as many memories as an agent should read at once, the first in any case."""
    kept: list[Memory] = []
    size = 0
    for each in result.memories:
        size += len(each.text)
        if kept and size > MAX_TEXT_CHARS:
            break
        kept.append(
            Memory(
                id=each.id,
                text=each.text,
                type=each.type,
                topics=each.topics,
                namespace=each.namespace,
                created=each.created,
                updated=each.updated,
            )
        )
    left = [each.id for each in result.memories[len(kept) :]]
    return MemoriesAnswer(
        memories=kept, note=f"too long together; retrieve these next: {', '.join(left)}" if left else None
    )


def _unfinished(result: r.AskResult) -> str | None:
    if result.finish in ("length", "time"):
        return "the answer was cut off: ask for less, or read the sources with `get`"
    return None if result.answered else "`search` may find documents to read all the same"


def _embedding(status: r.EmbeddingStatus) -> str | None:
    if status.reason and status.state != "idle":
        return f"embedding is {status.state}: {status.reason}"
    return None


def _about(contexts: r.ContextListResult) -> dict[str, str]:
    """Return what each whole collection is about; "" is everything."""
    about: dict[str, str] = {}
    for each in contexts.contexts:
        name = "" if each.scope == "/" else each.scope.removesuffix(":")
        about[name] = f"{about[name]} {each.text}" if name in about else each.text
    return about


def _file_line(result: r.DocumentText, canonical: int) -> int:
    """Return the last line of the file that this line of the canonical text stands for."""
    lost = max((lost for first, lost in result.line_map if first <= canonical), default=0)
    return canonical + lost


def _clip(snippet: str) -> str:
    return snippet if len(snippet) <= MAX_SNIPPET_CHARS else snippet[: MAX_SNIPPET_CHARS - 1] + "…"


def _join(notes: Iterable[str | None]) -> str | None:
    return "; ".join(filter(None, notes)) or None
