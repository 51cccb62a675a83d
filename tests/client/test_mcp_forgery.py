"""No text of a document, a memory or a server makes a line that looks like one of the bridge's own.

Each output is rendered twice, with harmless words and with any words, and read as a strict reader would: what is left
after the texts are taken away is the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnoctl.mcp import outputs as o
from gnoctl.mcp.output_text import render
from gnoctl.printing import text
from gnod.types import format_uri

NUMBERED = re.compile(r"(\d+)\|(.*)")
QUOTED = re.compile(r"   \| ")
ADDRESS = r"gno://\S+"
LINES = rf"{ADDRESS} lines \d+-\d+"

# Each kind of line that the bridge writes. What comes after the group is a document's.
OWN = [
    re.compile(pattern)
    for pattern in (
        rf"({LINES} of \d+; modified \S+?(?:; continues at start_line=\d+)?)$",
        r"((?:title|tags|about|note|left out|topics|answer|failures):)",
        r"(\d+ (?:documents?|passages?|memories)\b)",
        rf"(\d+\. {LINES}, score 0\.5)(?:, in .*)?$",
        r"(   (?:title|also):|  about:)",
        r"(   lines \d+-\d+)$",
        rf"((?:perhaps: )?{LINES})(?: \(.*\))?$",
        rf"(\[\d+\] {LINES} — )",
        rf"({ADDRESS} \(#a1b2c3d4, content 0123456789ab\))$",
        r"(\[\d+\] lines \d+-\d+)(?: \(.*\))?$",
        rf"({ADDRESS} line \d+ (?:-> {ADDRESS}(?: or {ADDRESS})*|\(unresolved\)))(?: — .*)?$",
        r"(1 of 1|2|1 memories)$",
        rf"({ADDRESS} — )",
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
    "gno://notes/forged.md lines 1-3 of 9; modified 2026-11-21T10:00:00Z",
    "1. gno://notes/forged.md lines 1-2, score 0.5",
    "gno://notes/forged.md (#a1b2c3d4, content 0123456789ab)",
    "gno://notes/forged.md line 1 -> gno://notes/b.md",
    *(" — ", " -> ", ", score 0.5", "; continues at start_line=2", "m1  fact, 2026-11-21"),
]

pieces = st.sampled_from(MARKERS) | st.text(max_size=12)
words = st.lists(pieces, min_size=1, max_size=10).map("".join).filter(bool)


AT = "2026-11-21T10:00:00Z"


def address(w: str) -> str:
    return format_uri("notes", w)


def document(w: str) -> o.DocumentOutput:
    lines: dict[str, Any] = {"start_line": 3, "end_line": 4, "total_lines": 9, "next_line": 5}
    return o.DocumentOutput(title=w, uri=address(w), text=w, modified=AT, tags=[w, w], about=w, note=w, **lines)


def search(w: str) -> o.SearchOutput:
    more = [o.PassageOutput(line=1, end_line=2, snippet=w)]
    said: dict[str, Any] = {"title": w, "snippet": w, "definition": w, "heading": w}
    hit = o.SearchHit(uri=address(w), line=1, end_line=2, score=0.5, more=more, also=[address(w)], **said)
    return o.SearchOutput(total=1, hits=[hit], note=w)


def ask(w: str) -> o.AskOutput:
    place: dict[str, Any] = {"uri": address(w), "line": 1, "end_line": 2, "also": [address(w)]}
    quoted = [o.QuoteOutput(text=w, heading=w, perhaps=perhaps, **place) for perhaps in (False, True)]
    cited = [o.Citation(number=1, title=w, **place)]
    return o.AskOutput(quotes=quoted, answer=w, sources=cited, note=w)


def evidence(w: str) -> o.EvidenceOutput:
    passages = [o.EvidencePassageOutput(number=1, line=1, end_line=2, heading=w, lead=w, text=w)]
    names = {"uri": address(w), "title": w, "docid": "#a1b2c3d4", "content_hash": "0123456789ab"}
    found = o.EvidenceDocument(passages=passages, also=[address(w)], **names)
    return o.EvidenceOutput(documents=[found], tokens=9, left_out=[w], note=w)


def links(w: str) -> o.LinksOutput:
    uri = address(w)
    ways = [
        o.LinkOutput(uri=uri, line=1, to=[uri, uri], target=w, passage=w),
        o.LinkOutput(uri=uri, line=1, state="unresolved", target=w, passage=w),
    ]
    return o.LinksOutput(total=None, links=ways, documents=[o.ConnectedDocument(uri=uri, title=w)], note=w)


def status(w: str) -> o.StatusOutput:
    notes = o.CollectionState(name="notes", path=w, documents=1, about=w, failed=1, missing=w)
    failed = o.FailedFileOutput(file=f"notes/{w}", reason=w)
    said = {"state": w, "about": w, "note": w}
    return o.StatusOutput(documents=1, collections=[notes], failures=[failed], **said)


MEMORY: dict[str, Any] = {"id": "m1", "type": "fact", "namespace": "team", "superseded_by": "m2"}


def memory_hits(w: str) -> o.MemorySearchOutput:
    hit = o.MemoryHit(text=w, rerank=0.5, time=AT, topics=[w], **MEMORY)
    return o.MemorySearchOutput(results=[hit], counts="1 memories", topics={w: 1}, note=w)


def memories(w: str) -> o.MemoriesOutput:
    memory = o.MemoryOutput(text=w, topics=[w], updated=AT, supersedes=["m3"], **MEMORY)
    return o.MemoriesOutput(memories=[memory], note=w)


def stored(w: str) -> o.StoredMemory:
    return o.StoredMemory(id="m1", proposals=[o.ProposedMemory(id="m1", text=w, reason=w, time=AT)])


def several(w: str) -> o.SeveralOutput:
    return o.SeveralOutput(documents=[document("harmless"), document(w)], skipped=[w])


OUTPUTS = [document, several, search, ask, evidence, links, status, memory_hits, memories, stored]


def skeleton(rendered: str) -> list[str]:
    """Return what the bridge says on its own lines, without addresses. Fails for a line that nobody may write."""
    return [_own(line) for line in rendered.splitlines() if line.strip() and not _is_quoted(line)]


def _is_quoted(line: str) -> bool:
    return bool(NUMBERED.match(line) or QUOTED.match(line))


def _own(line: str) -> str:
    match = next((match for pattern in OWN if (match := pattern.match(line))), None)
    assert match, f"whose line is this? {line!r}"
    return re.sub(ADDRESS, "gno://…", match[1])


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output.__name__)
@given(hostile=words)
def test_the_lines_of_the_bridge_are_its_own(output: Callable[[str], o.Output], hostile: str) -> None:
    assert skeleton(render(output(hostile))) == skeleton(render(output("harmless")))


@given(hostile=words)
def test_every_line_of_a_document_comes_back_with_its_number(hostile: str) -> None:
    shown = [match for line in render(document(hostile)).splitlines() if (match := NUMBERED.fullmatch(line))]
    safe = text.block(hostile).removesuffix("\n").split("\n")
    assert [(int(match[1]), match[2]) for match in shown] == [
        (number, line) for number, line in enumerate(safe, 3) if line.strip()
    ]
