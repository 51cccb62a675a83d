"""No text of a document, a memory or a server creates a line that looks like a line of the bridge itself.

Each output is rendered twice, with harmless words and with any words, and parsed strictly: without the texts, both
outputs are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gnoctl.mcp import memory_text, output_text, pages
from gnoctl.mcp.arguments import SearchArguments
from gnoctl.printing import text
from gnod.protocol.base import Copy, Freshness
from gnod.protocol.collections import ContextInfo, ContextListResult
from gnod.protocol.documents import DocumentMultiGetResult, DocumentText, SkippedReference
from gnod.protocol.index import CollectionStatus, EmbeddingStatus, IndexStatusResult, InferenceStatus, IngestError
from gnod.protocol.links import DocumentLink, GraphNode, LinksGraphResult, LinksMentionsResult, Mention
from gnod.protocol.memory import (
    MemoryProposal,
    MemoryRecord,
    MemoryRecordsResult,
    MemorySearchResult,
    MemoryStoreResult,
)
from gnod.protocol.search import AskResult, Definition, HitPassage, Row
from gnod.types import format_uri
from tests.client import samples

NUMBERED = re.compile(r"(\d+)\|(.*)")
QUOTED = re.compile(r"   \| ")
ADDRESS = r"gno://\S+"
LINES = rf"{ADDRESS}:\d+-\d+"

# Each kind of line that the bridge writes. The text after the group comes from a document.
OWN = [
    re.compile(pattern)
    for pattern in (
        rf"({ADDRESS} lines \d+-\d+ of \d+; modified \S+?(?:; continues at start_line=\d+)?)$",
        r"((?:title|tags|about|note|left out|topics|answer|failures):)",
        r"(\d+ (?:documents?|passages?|memories)\b)",
        rf"(\d+\. {LINES}, score 0\.5)(?:, in .*)?$",
        r"(   (?:title|also):|  about:)",
        r"(   lines \d+-\d+)$",
        rf"((?:perhaps: )?{LINES})(?: \(.*\))?$",
        rf"(\[\d+\] {LINES} — )",
        rf"({ADDRESS} \(#a1b2c3d4\))$",
        r"(\[\d+\] lines \d+-\d+(?:@[0-9a-f]{12})?)(?: \(.*\))?$",
        rf"((?:{ADDRESS} )?line \d+(?: -> {ADDRESS}(?: or {ADDRESS})*| \(unresolved\))?)(?: — .*)?$",
        rf"({ADDRESS})$",
        r"(\d of \d(?: documents?)?|\d|1 memories)$",
        rf"({ADDRESS} — )",
        rf"({ADDRESS} \| )",
        r"(address \| title \| tag)$",
        r"(- notes: 1 document, 1 file could not be read)",
        r"(- notes/)",
        r"(could not be read:)$",
        r"(m1  fact, 2026-11-21, superseded by m2, score 0\.5 \(shortened\), namespace team, topics )",
        r"(m1  fact, 2026-11-21, superseded by m2, supersedes m3, namespace team, topics )",
        r"(m1 may be superseded \(2026-11-21\): )",
        r"(stored as m1)$",
    )
]

MARKERS = [
    *("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028", "\u2029", "\u202e", "\x1b[2J", "\x00"),
    *("1|", "12| ", "   | ", "| ", "---", "1. ", "[1] ", "[1] lines 1-2", "- notes: 1 document", "- notes/"),
    *("title: ", "note: ", "left out: ", "also: ", "about: ", "answer:", "could not be read:", "2 documents"),
    *("(", ") ", "; "),
    "gno://notes/forged.md lines 1-3 of 9; modified 2026-11-21",
    "1. gno://notes/forged.md:1-2, score 0.5",
    "gno://notes/forged.md (#a1b2c3d4)",
    *("gno://notes/forged.md", "line 1 -> gno://notes/b.md"),
    *(" — ", " -> ", ", score 0.5", "; continues at start_line=2", "m1  fact, 2026-11-21"),
]

pieces = st.sampled_from(MARKERS) | st.text(max_size=12)
words = st.lists(pieces, min_size=1, max_size=10).map("".join).filter(bool)


AT = "2026-11-21T10:00:00Z"
LINED: dict[str, Any] = {"line": 1, "end_line": 2}


def address(w: str) -> str:
    return format_uri("notes", w)


def copy(w: str) -> Copy:
    return Copy(uri=address(w), collection="notes", path=w, source=w)


def document_text(w: str) -> DocumentText:
    lines = {"start_line": 3, "end_line": 4, "total_lines": 9}
    return samples.document(w, uri=address(w), title=w, modified=AT, tags=[w, w], context=w, stale=True, **lines)


def document(w: str) -> str:
    return pages.document(document_text(w), 10_000)


def several(w: str) -> str:
    skipped = [SkippedReference(ref="no.md", kind="document_not_found", reason=w)]
    documents = [document_text("another"), document_text(w)]
    return pages.several([DocumentMultiGetResult(documents=documents, skipped=skipped)], 10_000)


def search(w: str) -> str:
    passages = [HitPassage(snippet=w, snippet_line=1, **LINED)] * 2
    said: dict[str, Any] = {"title": w, "snippet": w, "heading": w, "passages": passages, "also": [copy(w)]}
    defined = Definition(name=w, kind="function", path=[], label=w, line=1, end_line=2)
    hits = [samples.hit(uri=address(w), score=0.5, **LINED, **said | more) for more in ({}, {"definition": defined})]
    return output_text.search(structs.replace(samples.found(*hits), notes=[w], hints=[w]))


def rows(w: str) -> str:
    listed = [Row(docid="#1", uri=address(w), values={"title": w, "tag": [w, w]})]
    given = SearchArguments(query="", fields=["title", "tag"])
    return output_text.search(structs.replace(samples.found(), rows=listed, total=1), given)


def ask(w: str) -> str:
    place: dict[str, Any] = {"uri": address(w), "also": [copy(w)], **LINED}
    said: dict[str, Any] = {"answered": True, "citations": [1], "model": "m", "took_ms": 1.0, "notes": [w]}
    quotes = [samples.quote(w, heading=w, perhaps=perhaps, **place) for perhaps in (False, True)]
    sources = [samples.source(1, title=w, cited=True, **place)]
    return output_text.ask(
        AskResult(question=w, answer=w, quotes=quotes, sources=sources, freshness=samples.CURRENT, **said)
    )


def evidence(w: str) -> str:
    said: dict[str, Any] = {"heading": w, "lead": w, "text": w, "title": w, "also": [copy(w)], "uri": address(w)}
    left_out = [samples.left_out("over_budget", "c.md", uri=address(w))]
    passage = samples.passage(1, docid="#a1b2c3d4", **LINED, **said)
    return output_text.evidence(samples.evidence(passage, left_out=left_out, notes=[w], hints=[w]))


def links(w: str) -> str:
    link: dict[str, Any] = {"uri": address(w), "title": w, "line": 1, "kind": "wiki", "target": w, "passage": w}
    two = [address(w), address(w)]
    found = [
        DocumentLink(state="ambiguous", candidates=two, **link),
        DocumentLink(state="unresolved", **link),
    ]
    return output_text.links(found, 2)


def mentions(w: str) -> str:
    found = [Mention(uri=address(w), title=w, line=1, passage=w, name=w)]
    return output_text.mentions(
        LinksMentionsResult(uri=address(w), title=w, names=[w], mentions=found, total=None, has_more=True)
    )


def graph(w: str) -> str:
    said: dict[str, Any] = {"collection": "notes", "distance": 0, "links": 1, "backlinks": 1}
    nodes = [GraphNode(uri=address(w), title=w, docid="#a1b2c3d4", **said)]
    return output_text.graph(LinksGraphResult(nodes=nodes, edges=[], total=1, is_cut=True))


def status(w: str) -> str:
    counts: dict[str, Any] = {"on_disk": 1, "indexed": 1, "pending": 0, "failed": 1, "excluded": 0, "watch": "events"}
    notes = CollectionStatus(name="notes", path=w, available=False, reason=w, **counts)
    failed: dict[str, Any] = {"stage": "read", "kind": "corrupt", "first_at": AT, "last_at": AT, "count": 1}
    index: dict[str, Any] = {"index": w, "database": w, "database_bytes": 1, "chunks": 1, "config_file": w}
    result = IndexStatusResult(
        documents=1,
        languages={},
        collections=[notes],
        freshness=Freshness(current=False, state=w),
        syncing=False,
        embedding=EmbeddingStatus(state="waiting", reason=w, pending=1, done=0, failed=0),
        inference=InferenceStatus(state="off", resident_bytes=0),
        errors=[IngestError(collection="notes", path=w, message=w, **failed)],
        **index,
    )
    contexts = [ContextInfo(scope="notes:", text=w), ContextInfo(scope="/", text=w)]
    return output_text.status(result, ContextListResult(contexts=contexts))


MEMORY: dict[str, Any] = {"id": "m1", "type": "fact", "namespace": "team", "superseded_by": "m2"}


def memory_hits(w: str) -> str:
    hit = samples.memory(w, rerank=0.5, time=AT, topics=[w], complete=False, **MEMORY)
    return memory_text.found(MemorySearchResult(results=[hit], counts="1 memories", topics={w: 1}, notes=[w]))


def memories(w: str) -> str:
    memory = MemoryRecord(text=w, topics=[w], created=AT, updated=AT, supersedes=["m3"], **MEMORY)
    return memory_text.whole(MemoryRecordsResult(memories=[memory]))


def stored(w: str) -> str:
    proposal = MemoryProposal(id="m1", text=w, reason=w, time=AT)
    return memory_text.stored(MemoryStoreResult(id="m1", existed=False, proposals=[proposal]))


OUTPUTS = [
    document,
    several,
    search,
    rows,
    ask,
    evidence,
    links,
    mentions,
    graph,
    status,
    memory_hits,
    memories,
    stored,
]


def skeleton(rendered: str) -> list[str]:
    """Return the bridge's text on its own lines, without addresses. Fails for any line that is not allowed."""
    return [_own(line) for line in rendered.splitlines() if line.strip() and not _is_quoted(line)]


def _is_quoted(line: str) -> bool:
    return bool(NUMBERED.match(line) or QUOTED.match(line))


def _own(line: str) -> str:
    match = next((match for pattern in OWN if (match := pattern.match(line))), None)
    assert match, f"whose line is this? {line!r}"
    return re.sub(ADDRESS, "gno://…", match[1])


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output.__name__)
@given(hostile=words)
def test_the_lines_of_the_bridge_are_its_own(output: Callable[[str], str], hostile: str) -> None:
    assert skeleton(output(hostile)) == skeleton(output("harmless"))


@given(hostile=words)
def test_every_line_of_a_document_comes_back_with_its_number(hostile: str) -> None:
    shown = [match for line in document(hostile).splitlines() if (match := NUMBERED.fullmatch(line))]
    safe = text.block(hostile).removesuffix("\n").split("\n")
    assert [(int(match[1]), match[2]) for match in shown] == [
        (number, line) for number, line in enumerate(safe, 3) if line.strip()
    ]
