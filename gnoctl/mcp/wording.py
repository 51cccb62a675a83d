"""The answers as text, for agents that do not read structured content. Pure.

What comes from documents cannot pass for the bridge's own words: titles stay on their line, snippets are indented.
"""

from __future__ import annotations

from functools import singledispatch

from gnoctl import text
from gnoctl.mcp.answers import (
    Answer,
    AskAnswer,
    DocumentAnswer,
    ForgottenAnswer,
    Found,
    FoundMemory,
    MemoriesAnswer,
    Memory,
    MemorySearchAnswer,
    SearchAnswer,
    StatusAnswer,
    StoredMemory,
)
from gnoctl.memories import memories
from gnoctl.wording import count


@singledispatch
def say(answer: Answer) -> str:
    """Return the answer as text."""
    raise NotImplementedError(type(answer).__name__)


@say.register
def _(answer: SearchAnswer) -> str:
    head = f"{count(len(answer.hits), 'document')} of {answer.total:,}" if answer.hits else "nothing was found"
    return _paragraphs(head, *(_hit(rank, each) for rank, each in enumerate(answer.hits, 1)), note=answer.note)


@say.register
def _(answer: DocumentAnswer) -> str:
    head = f"{text.line(answer.title)}\n{answer.uri}, lines {answer.start_line}-{answer.end_line}"
    head += f" of {answer.total_lines}; modified {answer.modified}"
    if answer.tags:
        head += f"; tags {', '.join(map(text.line, answer.tags))}"
    if answer.next_line:
        head += f"; goes on at start_line={answer.next_line}"
    if answer.about:
        head += f"\nabout: {text.line(answer.about)}"
    # The note before the text: behind it, it could be the document's.
    return _paragraphs(head, *([f"note: {answer.note}"] if answer.note else []), "---\n" + text.block(answer.text))


@say.register
def _(answer: StatusAnswer) -> str:
    head = f"{count(answer.documents, 'document')} in {count(len(answer.collections), 'collection')}"
    head += "; the index is current" if answer.current else "; the index is not current"
    lines = []
    for each in answer.collections:
        parts = [count(each.documents, "document")]
        parts += [f"{each.pending:,} pending"] if each.pending else []
        parts += [f"{each.failed:,} failed"] if each.failed else []
        parts += [each.missing] if each.missing else []
        about = f"\n  {text.line(each.about)}" if each.about else ""
        lines.append(f"- {each.name}: {', '.join(parts)} ({text.line(each.path)}){about}")
    failures = [f"- {text.line(each.file)}: {text.line(each.reason)}" for each in answer.failures]
    listed = "failures:\n" + "\n".join(failures) if failures else ""
    paragraphs = (head, text.line(answer.about or ""), "\n".join(lines), listed)
    return _paragraphs(*filter(None, paragraphs), note=answer.note)


@say.register
def _(answer: AskAnswer) -> str:
    sources = "\n".join(
        f"[{each.number}] {text.line(each.title)} — {each.uri} lines {each.line}-{each.end_line}"
        for each in answer.sources
    )
    return _paragraphs(*filter(None, (text.block(answer.answer), sources)), note=answer.note)


@say.register
def _(answer: StoredMemory) -> str:
    return f"{answer.id} was there already; its topics were added" if answer.existed else f"remembered as {answer.id}"


@say.register
def _(answer: MemorySearchAnswer) -> str:
    head = text.line(answer.counts) if answer.results else "nothing of the kind is remembered"
    topics = ", ".join(f"{text.line(name)} {number}" for name, number in answer.topics.items())
    parts = [head, *map(_found_memory, answer.results), *([f"topics: {topics}"] if topics else [])]
    return _paragraphs(*parts, note=answer.note)


@say.register
def _(answer: MemoriesAnswer) -> str:
    return _paragraphs(*map(_memory, answer.memories), note=answer.note)


@say.register
def _(answer: ForgottenAnswer) -> str:
    return f"forgot {memories(answer.forgotten)}"


def _found_memory(found: FoundMemory) -> str:
    head = f"{found.id}  {_about(found.type, found.time, found.topics, found.namespace)}, score {found.rerank}"
    return head + ("\n" if found.complete else " (shortened)\n") + _quoted(found.text)


def _memory(memory: Memory) -> str:
    return (
        f"{memory.id}  {_about(memory.type, memory.updated, memory.topics, memory.namespace)}\n{_quoted(memory.text)}"
    )


def _about(kind: str, time: str, topics: list[str], namespace: str | None) -> str:
    parts = [kind, time[:10], *(["topics " + ", ".join(topics)] if topics else [])]
    return text.line(", ".join(parts + ([f"namespace {namespace}"] if namespace else [])))


def _hit(rank: int, hit: Found) -> str:
    head = f"{rank}. {text.line(hit.title)}\n   {hit.uri} lines {hit.line}-{hit.end_line}, score {hit.score}"
    return f"{head}\n{_quoted(hit.snippet)}"


def _quoted(quoted: str) -> str:
    return "\n".join(f"   | {line}" for line in text.block(quoted).splitlines() if line.strip())


def _paragraphs(*parts: str, note: str | None = None) -> str:
    return "\n\n".join([*parts, *([f"note: {note}"] if note else [])])
