"""The outputs as text, for agents that do not read structured content. Pure.

Text from documents cannot look like the bridge's own: titles stay on one line, snippets are indented.
"""

from __future__ import annotations

from functools import singledispatch

from gnoctl import text
from gnoctl.mcp import outputs as o
from gnoctl.memories import memories
from gnoctl.wording import count, unreadable


@singledispatch
def render(output: o.Output) -> str:
    """Return the output as text."""
    raise NotImplementedError(type(output).__name__)


@render.register
def _(output: o.SearchOutput) -> str:
    head = f"{count(len(output.hits), 'document')} of {output.total:,}" if output.hits else "no results"
    return _paragraphs(head, *(_hit(rank, each) for rank, each in enumerate(output.hits, 1)), note=output.note)


@render.register
def _(output: o.LinksOutput) -> str:
    shown = len(output.links) or len(output.documents)
    head = f"{shown:,}" if output.total is None else f"{shown:,} of {output.total:,}"
    documents = [f"{each.uri} {text.line(each.title)}" for each in output.documents]
    links = [_connection(each) for each in output.links]
    return _paragraphs(*filter(None, (head, "\n".join(documents), "\n".join(links))), note=output.note)


@render.register
def _(output: o.DocumentOutput) -> str:
    head = f"{text.line(output.title)}\n{output.uri}, lines {output.start_line}-{output.end_line}"
    head += f" of {output.total_lines}; modified {output.modified}"
    if output.tags:
        head += f"; tags {', '.join(map(text.line, output.tags))}"
    if output.next_line:
        head += f"; continues at start_line={output.next_line}"
    if output.about:
        head += f"\nabout: {text.line(output.about)}"
    # The note comes before the text: after it, it could be part of the document.
    return _paragraphs(head, *([f"note: {output.note}"] if output.note else []), "---\n" + text.block(output.text))


@render.register
def _(output: o.StatusOutput) -> str:
    head = f"{count(output.documents, 'document')} in {count(len(output.collections), 'collection')}"
    head += f"; {text.line(output.state)}"
    lines = []
    for each in output.collections:
        parts = [count(each.documents, "document")]
        parts += [f"{each.pending:,} pending"] if each.pending else []
        parts += [unreadable(each.failed)] if each.failed else []
        parts += [each.missing] if each.missing else []
        about = f"\n  {text.line(each.about)}" if each.about else ""
        lines.append(f"- {each.name}: {', '.join(parts)} ({text.line(each.path)}){about}")
    failures = [f"- {text.line(each.file)}: {text.line(each.reason)}" for each in output.failures]
    listed = "could not be read:\n" + "\n".join(failures) if failures else ""
    paragraphs = (head, text.line(output.about or ""), "\n".join(lines), listed)
    return _paragraphs(*filter(None, paragraphs), note=output.note)


@render.register
def _(output: o.AskOutput) -> str:
    sources = "\n".join(
        f"[{each.number}] {text.line(each.title)} — {each.uri} lines {each.line}-{each.end_line}{_also(each.also)}"
        for each in output.sources
    )
    quotes = [
        ("perhaps: " if each.perhaps else "")
        + f"{each.uri} lines {each.line}-{each.end_line}{f' ({text.line(each.heading)})' if each.heading else ''}\n"
        + _quoted(each.text)
        + _also(each.also)
        for each in output.quotes
    ]
    return _paragraphs(*quotes, *filter(None, (text.block(output.answer), sources)), note=output.note)


@render.register
def _(output: o.EvidenceOutput) -> str:
    documents = []
    for each in output.documents:
        head = f"{text.line(each.title)}\n{each.uri} ({each.docid}, content {each.content_hash[:12]})"
        head += _also(each.also)
        documents.append("\n".join([head, *map(_evidence, each.passages)]))
    left_out = "\n".join(f"left out: {text.line(each)}" for each in output.left_out)
    head = f"{count(sum(len(each.passages) for each in output.documents), 'passage')}, {output.tokens:,} tokens"
    return _paragraphs(*filter(None, (head, *documents, left_out)), note=output.note)


@render.register
def _(output: o.MultiGetOutput) -> str:
    skipped = "\n".join(f"left out: {text.line(each)}" for each in output.skipped)
    # What was left out comes before the texts: after them, it could be part of a document.
    head = count(len(output.documents), "document")
    return _paragraphs(*filter(None, (head, skipped)), *map(render, output.documents))


@render.register
def _(output: o.StoredMemory) -> str:
    head = f"{output.id} existed already; its topics were added" if output.existed else f"stored as {output.id}"
    proposed = [
        text.line(f"{each.id} may be superseded, {each.reason} ({each.time[:10]})") + "\n" + _quoted(each.text)
        for each in output.proposals
    ]
    return _paragraphs(head, *proposed)


@render.register
def _(output: o.MemorySearchOutput) -> str:
    head = text.line(output.counts) if output.results else "no memories match"
    topics = ", ".join(f"{text.line(name)} {number}" for name, number in output.topics.items())
    parts = [head, *map(_memory_hit, output.results), *([f"topics: {topics}"] if topics else [])]
    return _paragraphs(*parts, note=output.note)


@render.register
def _(output: o.MemoriesOutput) -> str:
    return _paragraphs(*map(_memory, output.memories), note=output.note)


@render.register
def _(output: o.ForgetOutput) -> str:
    return f"deleted {memories(output.forgotten)}"


def _memory_hit(hit: o.MemoryHit) -> str:
    about = _about(hit.type, hit.when or hit.time, hit.topics, hit.namespace, hit.superseded_by)
    head = f"{hit.id}  {about}, score {hit.rerank}"
    return head + ("\n" if hit.complete else " (shortened)\n") + _quoted(hit.text)


def _memory(memory: o.Memory) -> str:
    time = memory.when or memory.updated
    about = _about(memory.type, time, memory.topics, memory.namespace, memory.superseded_by)
    older = f", supersedes {', '.join(memory.supersedes)}" if memory.supersedes else ""
    return f"{memory.id}  {about}{older}\n{_quoted(memory.text)}"


def _about(kind: str, time: str, topics: list[str], namespace: str | None, newer: str | None) -> str:
    parts = [kind, time[:10], *(["topics " + ", ".join(topics)] if topics else [])]
    parts += [f"superseded by {newer}"] if newer else []
    return text.line(", ".join(parts + ([f"namespace {namespace}"] if namespace else [])))


def _hit(rank: int, hit: o.SearchHit) -> str:
    head = f"{rank}. {text.line(hit.title)}\n   {_place(hit)}, score {hit.score}{_also(hit.also)}"
    head += f"\n   {', '.join(hit.why)}" if hit.why else ""
    more = [f"   lines {each.line}-{each.end_line}\n{_quoted(each.snippet)}" for each in hit.more]
    return "\n".join([head, _quoted(hit.snippet), *more])


def _connection(link: o.Connection) -> str:
    place = f"{link.uri} line {link.line}" if link.line else link.uri
    target = f" {text.line(link.target)}" if link.target else ""
    to = f" -> {' or '.join(link.to)}" if link.to else f" ({link.state})" if link.state else ""
    return "\n".join(filter(None, (place + target + to, _quoted(link.passage))))


def _also(copies: list[str]) -> str:
    return f"\n   also: {', '.join(map(text.line, copies))}" if copies else ""


def _evidence(passage: o.EvidencePassageOutput) -> str:
    head = f"[{passage.number}] lines {passage.line}-{passage.end_line}"
    head += f" ({text.line(passage.heading)})" if passage.heading else ""
    return "\n".join(filter(None, (head, _quoted(passage.lead), _quoted(passage.text))))


def _place(hit: o.SearchHit) -> str:
    if hit.location:
        return f"{hit.uri}#{hit.location}"
    within = f" in {text.line(hit.definition)}" if hit.definition else ""
    return f"{hit.uri} lines {hit.line}-{hit.end_line}{within}"


def _quoted(quoted: str) -> str:
    return "\n".join(f"   | {line}" for line in text.block(quoted).splitlines() if line.strip())


def _paragraphs(*parts: str, note: str | None = None) -> str:
    return "\n\n".join([*parts, *([f"note: {note}"] if note else [])])
