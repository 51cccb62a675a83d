"""The daemon's results as text for an agent, reduced to what it needs. Pure. Must not depend on MCP.

The results are compact: a search returns places, and only `read` returns text, page by page.

No document can forge a line of the bridge. Each line of a document begins with its number and a bar, each line of a
passage, an answer or a memory with a bar. On a line of the bridge, text of a document (title, tags, heading, target of
a link) comes last, after the bridge's own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from urllib.parse import quote

from gnoctl.mcp.arguments import SearchArguments
from gnoctl.printing import evidence as drawn_evidence
from gnoctl.printing import records, text
from gnoctl.printing.wording import at_lines, corrected, count, loosely, matches, missed_by, reason, unreadable
from gnod.protocol.base import AnswerSource, Copy, Quote
from gnod.protocol.collections import ContextListResult
from gnod.protocol.documents import DocumentListResult
from gnod.protocol.evidence import AskVerifyResult, EvidencePassage, EvidenceResult, VerifiedClaim
from gnod.protocol.index import CollectionStatus, IndexStatusResult
from gnod.protocol.links import DocumentLink, LinksGraphResult, LinksMentionsResult
from gnod.protocol.search import AskResult, Hit, Row, SearchResult
from gnod.types import estimated_tokens

MAX_SNIPPET_CHARS = 400
MAX_FAILURES = 50
_PLAIN = SearchArguments(query="")

# Commands that do the same as a tool. All others are for the user only.
TOOLS = {
    "ask": "`evidence`",
    "evidence": "`evidence`",
    "get": "`read`",
    "index": "`search` with fresh=true",
    "ls": "`search` with a query such as collection:NAME",
    "multi-get": "`read`",
    "query": "`search`",
    "recall": "`recall`",
    "remember": "`remember`",
    "search": "`search`",
    "similar": "`links` with what=similar",
    "vsearch": "`search`",
}

_COMMAND = re.compile("`gnoctl ([^`]+)`")


def for_agent(message: str) -> str:
    """Replace the commands in a message by the tools that do the same.

    >>> for_agent("no document 'x' in the index; `gnoctl ls` lists what is indexed")
    "no document 'x' in the index; `search` with a query such as collection:NAME lists what is indexed"
    >>> for_agent("the memories are locked: `gnoctl memory unlock`")
    'the memories are locked: `gnoctl memory unlock`'
    """
    return _COMMAND.sub(lambda command: TOOLS.get(command[1], command[0]), message)


def search(result: SearchResult, given: SearchArguments = _PLAIN) -> str:
    """Return all hits or rows, or as many as fit into the requested number of tokens."""
    longer = [[_row(row, given.fields)] for row in result.rows or ()] or [_longer(hit) for hit in result.hits]
    shown = _fitting(longer, given.tokens) if given.tokens else [each[-1] for each in longer]
    notes = (
        *corrected(result.corrections),
        loosely(result.loose) + ": `loose` returns them" if result.loose else None,
        missed_by(result.freshness),
        result.lexical_only_reason,
        *result.notes,
        *result.hints,
    )
    head = f"{len(shown):,} of {count(result.total, 'document')}" if shown else "no results"
    if shown and (end := given.offset + len(shown)) < result.total:
        head += f"; continues at offset={end}"
    if given.fields and shown:
        shown = ["\n".join([f"address | {' | '.join(given.fields)}", *shown])]
    return paragraphs(head, *shown, *noted(notes))


def _row(row: Row, fields: Sequence[str]) -> str:
    cells = (text.line(cell).replace("|", "\\|") for cell in records.cells_of(row, fields))
    return " | ".join([address(row.uri), *cells])


def _longer(hit: Hit) -> list[str]:
    """Return a hit with one passage, two, and so on."""
    return [_hit(hit, passages) for passages in range(1, len(hit.passages or [None]) + 1)]


def _fitting(found: list[list[str]], tokens: int) -> list[str]:
    """Return the hits that fit, each with as many passages as fit, but at least one hit."""
    kept: list[str] = []
    for longer in found:
        fitting = [each for each in longer if estimated_tokens(each) <= tokens]
        if kept and not fitting:
            break
        kept.append((fitting or longer[:1])[-1])
        tokens -= estimated_tokens(kept[-1])
    return kept


def _hit(hit: Hit, passages: int) -> str:
    """Return a hit with at most this many passages, including the best one."""
    name = hit.definition.label if hit.definition else hit.heading
    within = ", only loosely similar" if hit.loose else ""
    within += f", in {text.line(name)}" if name else ""
    head = f"{hit.rank}. {_place(hit)}, score {round(hit.score, 3)}{within}"
    head += f"\n   title: {text.line(hit.title)}{_also(hit.also, hit.also_left_out)}"
    head += f"\n   {matches(hit.matches)}" if hit.matches else ""
    head += f"\n   {', '.join(reason(each.kind, each.number) for each in hit.reasons)}" if hit.reasons else ""
    more = [
        f"   lines {each.line}-{each.end_line}\n{quoted(_clip(each.snippet))}"
        for each in (hit.passages or [])[1:passages]
    ]
    return "\n".join([head, quoted(_clip(hit.snippet)), *more])


def _place(hit: Hit | Quote | AnswerSource) -> str:
    """Return an address that `read` takes, with the lines or the page."""
    return address(hit.uri) + (f"#{hit.location.fragment}" if hit.location else f":{at_lines(hit.line, hit.end_line)}")


def links(found: Sequence[DocumentLink], total: int) -> str:
    """Name each document once, above its links."""
    shown: list[str] = []
    for uri, together in groupby(found, lambda each: each.uri):
        first, *others = map(_of_document, together)
        shown += [f"{address(uri)}\n{first}", *others]
    return _connections(total, links=shown)


def _of_document(link: DocumentLink) -> str:
    to = f"{link.to}:{link.to_line}" if link.to and link.to_line else link.to
    state = link.state if link.state in ("unresolved", "external", "outside") else ""
    return _link(f"line {link.line}", [to] if to else link.candidates, state, link.target, _clip(link.passage))


def mentions(result: LinksMentionsResult) -> str:
    shown = [
        _link(f"{address(each.uri)} line {each.line}", target=each.name, passage=each.passage)
        for each in result.mentions
    ]
    more = "there are more: add their number to offset" if result.has_more else None
    return _connections(result.total, links=shown, note=more)


def graph(result: LinksGraphResult) -> str:
    edges = [_link(address(edge.source), [edge.target]) for edge in result.edges]
    cut = "documents or links are left out: raise limit, or choose a ref or scope" if result.is_cut else None
    return _connections(result.total, [titled(node.uri, node.title) for node in result.nodes], edges, cut)


def orphans(result: DocumentListResult) -> str:
    return _connections(result.total, [titled(each.uri, each.title) for each in result.documents])


def _connections(
    total: int | None, documents: Sequence[str] = (), links: Sequence[str] = (), note: str | None = None
) -> str:
    shown = len(links) or len(documents)
    head = f"{shown:,}" if total is None else f"{shown:,} of {total:,}"
    return paragraphs(head, "\n".join(documents), "\n".join(links), *noted([note]))


def _link(place: str, to: Sequence[str] = (), state: str = "", target: str = "", passage: str = "") -> str:
    where = f" -> {' or '.join(map(address, to))}" if to else f" ({state})" if state else ""
    written = f" — {text.line(target)}" if target else ""
    return "\n".join(filter(None, (place + where + written, quoted(passage))))


def status(result: IndexStatusResult, contexts: ContextListResult) -> str:
    about, embedding = _about(contexts), result.embedding
    head = f"{count(result.documents, 'document')} in {count(len(result.collections), 'collection')}"
    head += f"; {text.line(result.freshness.state)}"
    lines = [_collection(each, about.get(each.name)) for each in result.collections]
    all_failures = result.errors or []
    failures = [text.line(f"- {each.collection}/{each.path}: {each.message}") for each in all_failures[:MAX_FAILURES]]
    more = len(all_failures) - len(failures) + result.errors_left_out
    notes = (
        None if lines else "no folder is indexed yet: the user adds one with `gnoctl init FOLDER`",
        f"embedding is {embedding.state}: {embedding.reason}"
        if embedding.reason and embedding.state != "idle"
        else None,
        f"{more} more failures are not listed" if more else None,
        result.config_error,
    )
    described = f"about: {text.line(about[''])}" if about.get("") else ""
    listed = "\n".join(["could not be read:", *failures]) if failures else ""
    return paragraphs(head, described, "\n".join(lines), listed, *noted(notes))


def _collection(collection: CollectionStatus, about: str | None) -> str:
    parts = [count(collection.indexed, "document")]
    parts += [f"{collection.pending:,} pending"] if collection.pending else []
    parts += [unreadable(collection.failed)] if collection.failed else []
    parts += [] if collection.available else [collection.reason or "its folder does not exist"]
    described = f"\n  about: {text.line(about)}" if about else ""
    return text.line(f"- {collection.name}: {', '.join(parts)} ({collection.path})") + described


def _about(contexts: ContextListResult) -> dict[str, str]:
    """Return what each collection is about; the key "" means all collections."""
    about: dict[str, str] = {}
    for context in contexts.contexts:
        name = "" if context.scope == "/" else context.scope.removesuffix(":")
        about[name] = f"{about[name]} {context.text}" if name in about else context.text
    return about


def ask(result: AskResult) -> str:
    """Return the quotes, and the answer with the sources that it cites."""
    quotes = [
        f"{'perhaps: ' if each.perhaps else ''}{_place(each)}{_heading(each.heading)}\n{quoted(each.text)}"
        + _also(each.also, each.also_left_out)
        for each in result.quotes
    ]
    answer = f"answer:\n{quoted(result.answer)}" if result.answer else ""
    sources = "\n".join(
        f"[{each.number}] {_place(each)} — {text.line(each.title)}{_also(each.also, each.also_left_out)}"
        for each in result.sources
        if each.cited or not result.answer
    )
    notes = (*corrected(result.corrections), missed_by(result.freshness), *result.notes, *result.hints)
    return paragraphs(*quotes, answer, sources, *noted([*notes, _why_no_answer(result)]))


def _why_no_answer(result: AskResult) -> str | None:
    if not result.answered:
        return "the documents do not say; `search` may still find documents to read"
    if result.model is None:
        return "no model wrote an answer: read the quotes, or `search` and `read` for more"
    if not result.answer:
        return "no source supports what the model wrote: read the quotes, or `search` and `read` for more"
    if result.finish in ("length", "time", "repetition"):
        return "the answer was cut off: ask for less, or read the sources with `read`"
    return None


_STATES = {
    "perhaps": "perhaps: these passages may have the answer, or only a part of it",
    "not_found": "not in the documents, most probably: these passages are only the nearest",
}


def evidence(result: EvidenceResult) -> str:
    """Return the passages, grouped by document."""
    head = f"{count(len(result.passages), 'passage')}, {result.tokens:,} tokens"
    documents = [_document(list(group)) for _, group in groupby(result.passages, key=lambda each: each.uri)]
    left_out = "\n".join(text.line(drawn_evidence.left_out(each)) for each in result.left_out)
    notes = (
        _STATES.get(result.state) if result.passages else None,
        drawn_evidence.why_nothing(result),
        missed_by(result.freshness),
        result.lexical_only_reason,
        *result.notes,
        *result.hints,
        *corrected(result.corrections),
    )
    return paragraphs(head, *documents, left_out, *noted(notes))


def _document(passages: list[EvidencePassage]) -> str:
    first = passages[0]
    head = f"{address(first.uri)} ({first.docid})"
    head += f"\ntitle: {text.line(first.title)}{_also(first.also, first.also_left_out)}"
    return "\n".join([head, *map(_passage, passages)])


def _passage(passage: EvidencePassage) -> str:
    heading = _heading("" if passage.heading == passage.title else passage.heading)
    head = f"[{passage.number}] lines {_cited_lines(passage.citation)}{heading}"
    return "\n".join(filter(None, (head, quoted(passage.lead), quoted(passage.text))))


def _cited_lines(citation: str) -> str:
    """Return what follows the address in a citation: `12-14@9f3b2c1d4e5f`."""
    return citation.rpartition(":")[2]


def verify(result: AskVerifyResult) -> str:
    """Return each claim with the sentence that supports or contradicts it, and the state of each citation."""
    citations = "\n".join(text.line(drawn_evidence.citation(each)) for each in result.citations)
    nothing = "" if result.claims or result.citations else "no claim in this text"
    notes = noted([missed_by(result.freshness)])
    return paragraphs(*map(_claim, result.claims), citations, nothing, *notes)


def _claim(claim: VerifiedClaim) -> str:
    head = f"{drawn_evidence.stance(claim)}:\n{quoted(claim.text)}"
    if claim.sentence is None:
        return head
    place = f"{address(claim.sentence.uri)}:{_cited_lines(claim.sentence.citation)}"
    return f"{head}\n{place}\n{quoted(claim.sentence.text)}"


def _heading(heading: str) -> str:
    return f" ({text.line(heading)})" if heading else ""


def _also(copies: Sequence[Copy], left_out: int) -> str:
    listed = [*(text.line(copy.uri) for copy in copies), *([f"and {left_out:,} more"] if left_out else [])]
    return f"\n   also: {', '.join(listed)}" if listed else ""


def _clip(snippet: str) -> str:
    return snippet if len(snippet) <= MAX_SNIPPET_CHARS else snippet[: MAX_SNIPPET_CHARS - 1] + "…"


def address(uri: str) -> str:
    """Return an address without white space and control characters, so that the bridge's text can follow on the
    line."""
    return "".join(quote(char) if char.isspace() or not text.is_safe(char) else char for char in uri)


def titled(uri: str, title: str) -> str:
    return f"{address(uri)} — {text.line(title)}"


def quoted(passage: str) -> str:
    return "\n".join(f"   | {line}" for line in text.block(passage).split("\n") if line.strip())


def paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def noted(notes: Iterable[str | None]) -> list[str]:
    """Return the notes as one paragraph, if there are any."""
    said = "; ".join(map(for_agent, filter(None, notes)))
    return [f"note: {text.line(said)}"] if said else []
