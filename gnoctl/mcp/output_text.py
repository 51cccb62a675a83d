"""The outputs as text. Pure.

No document can forge a line of the bridge. Each line of a document begins with its number and a bar, each line of a
passage, an answer or a memory with a bar. On a line of the bridge, what a document says (title, tags, heading, target
of a link) comes last, after everything that the bridge says.
"""

from __future__ import annotations

from functools import singledispatch
from urllib.parse import quote

from msgspec import structs

from gnoctl.mcp import outputs as o
from gnoctl.printing import text
from gnoctl.printing.memories import memories
from gnoctl.printing.wording import count, unreadable
from gnod.types import canonical_line, estimated_tokens, source_line


@singledispatch
def render(output: o.Output) -> str:
    raise NotImplementedError(type(output).__name__)


@render.register
def _(output: o.SearchOutput) -> str:
    head = f"{count(len(output.hits), 'document')} of {output.total:,}" if output.hits else "no results"
    return _paragraphs(head, *(_hit(rank, each) for rank, each in enumerate(output.hits, 1)), note=output.note)


@render.register
def _(output: o.LinksOutput) -> str:
    shown = len(output.links) or len(output.documents)
    head = f"{shown:,}" if output.total is None else f"{shown:,} of {output.total:,}"
    documents = [f"{address(document.uri)} — {text.line(document.title)}" for document in output.documents]
    links = [_connection(link) for link in output.links]
    return _paragraphs(*filter(None, (head, "\n".join(documents), "\n".join(links))), note=output.note)


@render.register
def _(output: o.DocumentOutput) -> str:
    head = f"{address(output.uri)} lines {output.start_line}-{output.end_line} of {output.total_lines}"
    head += f"; modified {output.modified}"
    if output.next_line:
        head += f"; continues at start_line={output.next_line}"
    labels = {"title": output.title, "tags": ", ".join(output.tags), "about": output.about, "note": output.note}
    said = [f"{label}: {text.line(words)}" for label, words in labels.items() if words]
    return _paragraphs("\n".join([head, *said]), _numbered(output))


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
        about = f"\n  about: {text.line(each.about)}" if each.about else ""
        lines.append(text.line(f"- {each.name}: {', '.join(parts)} ({each.path})") + about)
    about = f"about: {text.line(output.about)}" if output.about else ""
    failures = [text.line(f"- {failure.file}: {failure.reason}") for failure in output.failures]
    listed = "\n".join(["could not be read:", *failures]) if failures else ""
    paragraphs = (head, about, "\n".join(lines), listed)
    return _paragraphs(*filter(None, paragraphs), note=output.note)


@render.register
def _(output: o.AskOutput) -> str:
    sources = "\n".join(
        f"[{source.number}] {address(source.uri)} lines {source.line}-{source.end_line} — {text.line(source.title)}"
        + _also(source.also)
        for source in output.sources
    )
    quotes = [
        ("perhaps: " if each.perhaps else "")
        + f"{address(each.uri)} lines {each.line}-{each.end_line}{_heading(each.heading)}\n"
        + _quoted(each.text)
        + _also(each.also)
        for each in output.quotes
    ]
    answer = f"answer:\n{_quoted(output.answer)}" if output.answer else ""
    return _paragraphs(*quotes, *filter(None, (answer, sources)), note=output.note)


@render.register
def _(output: o.EvidenceOutput) -> str:
    documents = []
    for each in output.documents:
        head = f"{address(each.uri)} ({each.docid}, content {each.content_hash[:12]})"
        head += f"\ntitle: {text.line(each.title)}{_also(each.also)}"
        documents.append("\n".join([head, *map(_evidence, each.passages)]))
    left_out = "\n".join(f"left out: {text.line(each)}" for each in output.left_out)
    head = f"{count(sum(len(document.passages) for document in output.documents), 'passage')}, {output.tokens:,} tokens"
    return _paragraphs(*filter(None, (head, *documents, left_out)), note=output.note)


@render.register
def _(output: o.SeveralOutput) -> str:
    skipped = "\n".join(f"left out: {text.line(each)}" for each in output.skipped)
    head = count(len(output.documents), "document")
    return _paragraphs(*filter(None, (head, skipped)), *map(render, output.documents))


@render.register
def _(output: o.StoredMemory) -> str:
    head = f"{output.id} already existed; its topics were added" if output.existed else f"stored as {output.id}"
    proposed = [
        text.line(f"{proposal.id} may be superseded ({proposal.time[:10]}): {proposal.reason}")
        + "\n"
        + _quoted(proposal.text)
        for proposal in output.proposals
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
    time, score = hit.when or hit.time, f"score {hit.rerank}{'' if hit.complete else ' (shortened)'}"
    return _remembered(hit, time, score, hit.namespace)


def _memory(memory: o.MemoryOutput) -> str:
    older = f"supersedes {', '.join(memory.supersedes)}" if memory.supersedes else ""
    return _remembered(memory, memory.when or memory.updated, older, memory.namespace)


def _remembered(each: o.MemoryHit | o.MemoryOutput, time: str, more: str, namespace: str | None) -> str:
    newer = f"superseded by {each.superseded_by}" if each.superseded_by else ""
    place = f"namespace {namespace}" if namespace else ""
    topics = f"topics {', '.join(each.topics)}" if each.topics else ""
    about = ", ".join(filter(None, (each.type, time[:10], newer, more, place, topics)))
    return text.line(f"{each.id}  {about}") + "\n" + _quoted(each.text)


def fitted(output: o.SearchOutput, tokens: int) -> o.SearchOutput:
    """Return the hits that fit into a number of tokens, each with as many passages as fit; one hit at least."""
    kept: list[o.SearchHit] = []
    for each in output.hits:
        shown = [structs.replace(each, more=each.more[:number]) for number in range(len(each.more) + 1)]
        sizes = [estimated_tokens(_hit(1, hit)) for hit in shown]
        fit = sum(1 for size in sizes if size <= tokens)
        if kept and not fit:
            break
        kept.append(shown[max(fit - 1, 0)])
        tokens -= sizes[max(fit - 1, 0)]
    left = len(output.hits) - len(kept)
    more = f"{count(left, 'more document')}: raise `tokens`" if left else None
    return structs.replace(output, hits=kept, note="; ".join(filter(None, (output.note, more))) or None)


def _hit(rank: int, hit: o.SearchHit) -> str:
    within = ", only loosely similar" if hit.loose else ""
    within += f", in {text.line(hit.definition or hit.heading)}" if hit.definition or hit.heading else ""
    head = f"{rank}. {_place(hit)}, score {hit.score}{within}\n   title: {text.line(hit.title)}{_also(hit.also)}"
    head += f"\n   {hit.matches}" if hit.matches else ""
    head += f"\n   {', '.join(hit.why)}" if hit.why else ""
    more = [f"   lines {each.line}-{each.end_line}\n{_quoted(each.snippet)}" for each in hit.more]
    return "\n".join([head, _quoted(hit.snippet), *more])


def _connection(link: o.LinkOutput) -> str:
    place = address(link.uri) + (f" line {link.line}" if link.line else "")
    to = f" -> {' or '.join(map(address, link.to))}" if link.to else f" ({link.state})" if link.state else ""
    target = f" — {text.line(link.target)}" if link.target else ""
    return "\n".join(filter(None, (place + to + target, _quoted(link.passage))))


def _also(copies: list[str]) -> str:
    return f"\n   also: {', '.join(map(text.line, copies))}" if copies else ""


def _evidence(passage: o.EvidencePassageOutput) -> str:
    head = f"[{passage.number}] lines {passage.line}-{passage.end_line}{_heading(passage.heading)}"
    return "\n".join(filter(None, (head, _quoted(passage.lead), _quoted(passage.text))))


def _heading(heading: str) -> str:
    return f" ({text.line(heading)})" if heading else ""


def _place(hit: o.SearchHit) -> str:
    where = f"#{hit.location}" if hit.location else f" lines {hit.line}-{hit.end_line}"
    return address(hit.uri) + where


def address(uri: str) -> str:
    """Return an address without white space and control characters: what follows it on the line is the bridge's."""
    return "".join(quote(char) if char.isspace() or not text.is_safe(char) else char for char in uri)


def _numbered(output: o.DocumentOutput) -> str:
    """Return the lines with the numbers that they have in the file."""
    lines = text.block(output.text).removesuffix("\n").split("\n")
    first = canonical_line(output.line_map, output.start_line)
    numbered = (f"{source_line(output.line_map, number)}|{line}" for number, line in enumerate(lines, first))
    return "\n".join(each if line.strip() else "" for each, line in zip(numbered, lines, strict=True))


def _quoted(quoted: str) -> str:
    return "\n".join(f"   | {line}" for line in text.block(quoted).split("\n") if line.strip())


def _paragraphs(*parts: str, note: str | None = None) -> str:
    return "\n\n".join([*filter(None, parts), *([f"note: {text.line(note)}"] if note else [])])
