"""Memories as text for an agent, like output_text for documents. Pure. Must not depend on MCP."""

from __future__ import annotations

from gnoctl.mcp.output_text import noted, paragraphs, quoted
from gnoctl.printing import text
from gnoctl.printing.memories import about, memories
from gnod.protocol.memory import (
    MemoryForgetResult,
    MemoryFound,
    MemoryRecord,
    MemoryRecordsResult,
    MemorySearchResult,
    MemoryStoreResult,
)

MAX_TEXT_CHARS = 40_000


def stored(result: MemoryStoreResult) -> str:
    head = f"{result.id} already existed; its topics were added" if result.existed else f"stored as {result.id}"
    proposed = [
        text.line(f"{each.id} may be superseded ({each.time[:10]}): {each.reason}") + "\n" + quoted(each.text)
        for each in result.proposals
    ]
    return paragraphs(head, *proposed)


def found(result: MemorySearchResult) -> str:
    head = text.line(result.counts) if result.results else "no memories match"
    topics = ", ".join(f"{text.line(name)} {number}" for name, number in result.topics.items())
    return paragraphs(
        head, *map(_found, result.results), f"topics: {topics}" if topics else "", *noted(map(text.line, result.notes))
    )


def whole(result: MemoryRecordsResult) -> str:
    """Return as many memories as an agent should read at once, and at least one."""
    kept: list[str] = []
    size = 0
    for each in result.memories:
        size += len(each.text)
        if kept and size > MAX_TEXT_CHARS:
            break
        kept.append(_whole(each))
    left = ", ".join(memory.id for memory in result.memories[len(kept) :])
    return paragraphs(*kept, *noted([f"too long for one answer; retrieve these next: {left}" if left else None]))


def forgotten(result: MemoryForgetResult) -> str:
    return f"deleted {memories(result.forgotten)}"


def _found(hit: MemoryFound) -> str:
    time = hit.when if isinstance(hit.when, str) else hit.time
    namespace = hit.namespace if isinstance(hit.namespace, str) else ""
    return _remembered(hit, time, f"score {hit.rerank}{'' if hit.complete else ' (shortened)'}", namespace)


def _whole(memory: MemoryRecord) -> str:
    older = f"supersedes {', '.join(memory.supersedes)}" if memory.supersedes else ""
    return _remembered(memory, memory.when or memory.updated, older, memory.namespace)


def _remembered(each: MemoryFound | MemoryRecord, time: str, more: str, namespace: str) -> str:
    place = f"namespace {namespace}" if namespace else ""
    topics = f"topics {', '.join(each.topics)}" if each.topics else ""
    parts = ", ".join(filter(None, (each.type, time[:10], *about(each), more, place, topics)))
    return text.line(f"{each.id}  {parts}") + "\n" + quoted(each.text)
