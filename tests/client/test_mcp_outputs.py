"""The output for an agent: pages of documents, notes, tools instead of commands, and lines that no document can
forge."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gnoctl.commands import NAMES
from gnoctl.mcp import output_text, pages
from gnoctl.mcp.arguments import ReadArguments, SearchArguments, object_schema, read
from gnoctl.mcp.bridge import PAUSE_S, describe, relayed
from gnoctl.mcp.output_text import TOOLS, for_agent
from gnoctl.mcp.tools import CORE
from gnod.errors import InvalidParams
from gnod.protocol.base import Freshness, ProgressValue
from gnod.protocol.documents import DocumentMultiGetResult, DocumentText, SkippedReference
from gnod.protocol.search import AskResult, HitMatches, HitPassage, Row
from gnod.types import estimated_tokens
from tests.client.samples import CURRENT, document, evidence, found, hit, left_out, passage, quote, source
from tests.waiting import until

WHEN = "2026-11-21T10:00:00Z"


def text_of(text: str, **more: Any) -> DocumentText:
    return document(text, **{"uri": "gno://notes/a.md", "title": "A", "modified": WHEN} | more)


def test_the_pages_of_a_long_document_meet_without_a_gap() -> None:
    lines = [f"line {n} {'x' * 80}\n" if n % 7 else "\n" for n in range(1, 501)]
    start, read_so_far = 1, ""
    while start <= 500:
        rest = text_of("".join(lines[start - 1 :]), start_line=start, end_line=500, total_lines=500)
        page, end = pages.cut(rest, 1000)
        assert estimated_tokens(page) <= 1000 + 30
        assert page.endswith("\n\n") or end == 500  # a page ends after a paragraph
        assert (f"continues at start_line={end + 1}" in pages.document(rest, 1000)) == (end < 500)
        read_so_far += page
        start = end + 1
    assert read_so_far == "".join(lines)


def test_a_page_ends_before_a_heading() -> None:
    assert pages.cut(text_of("word\n" * 90 + "# Next\n" + "word\n" * 90), 200)[1] == 90


def test_a_page_ends_on_a_line_of_the_file() -> None:
    # From the third line of the text on, the file is five lines ahead.
    body = "".join(f"{n} {'x' * 10_000}\n" for n in range(1, 9))
    page, end = pages.cut(text_of(body, line_map=[(3, 5)], end_line=13, total_lines=13), 10_200)
    assert page.splitlines()[-1].startswith("3 ")
    assert end == 8


def test_a_line_that_is_longer_than_a_page_is_cut_and_said_to_be() -> None:
    page = pages.document(text_of("x" * 50_000 + "\nend\n"), 1000)
    assert page.endswith("\n\n1|" + "x" * 4000)
    assert "lines 1-1 of 2" in page
    assert "the resource gno://notes/a.md is complete" in page


def test_each_line_has_its_number_in_the_file() -> None:
    # The file has three more blank lines after its second line.
    place: dict[str, Any] = {"line_map": [(3, 3)], "end_line": 6, "total_lines": 6}
    page = pages.document(text_of("# A\n\nsix\x0c\u2028seven | a\n", tags=["x"], **place), 1000)
    assert (
        page == f"gno://notes/a.md lines 1-6 of 6; modified {WHEN[:10]}\ntitle: A\ntags: x\n\n1|# A\n\n6|six␌ seven | a"
    )
    assert pages.document(text_of("six\n", start_line=6, **place), 1000).endswith("\n\n6|six")


def test_a_line_ends_where_the_daemon_ends_it() -> None:
    long = "\u2028\x0c\x85\r" + "x" * 2000
    assert pages.cut(text_of(f"{long}\n{long}\nthird\n"), 1000) == (f"{long}\n", 1)


def test_a_search_fills_a_number_of_tokens() -> None:
    passages = [HitPassage(line=n, end_line=n, snippet="word " * 30, snippet_line=n) for n in range(1, 4)]
    result = found(*(hit(passages=passages, snippet="word " * 30) for _ in range(3)))

    def shown(tokens: int) -> list[int]:
        """Return the number of passages of each hit."""
        hits = output_text.search(result, SearchArguments(query="", tokens=tokens)).split("\n\n")[1:]
        return [each.count("   | ") for each in hits if "score" in each]

    assert shown(10_000) == [3, 3, 3]
    assert shown(300) == [3, 1]
    assert len(shown(50)) == 1


def test_the_head_says_where_a_search_continues() -> None:
    result = structs.replace(found(*(hit(rank, snippet="word " * 30) for rank in (21, 22, 23))), total=24)

    def head(**given: Any) -> str:
        return output_text.search(result, SearchArguments(query="", **given)).split("\n", 1)[0]

    assert head(offset=20) == "3 of 24 documents; continues at offset=23"
    assert head(offset=20, tokens=170) == "2 of 24 documents; continues at offset=22"
    assert head(offset=21) == "3 of 24 documents"


def test_rows_have_an_address_and_the_fields() -> None:
    values: dict[str, object] = {"title": "a | b\nnote: c", "tag": ["x", "y"], "done": False, "cost": 1.5}
    listed = [Row(docid="#1", uri="gno://n/a b.md", values=values), Row(docid="#2", uri="gno://n/c.md", values={})]
    result = structs.replace(found(mode="list"), rows=listed, total=9)
    given = SearchArguments(query="", fields=["title", "tag", "done", "cost"])
    assert output_text.search(result, given).splitlines() == [
        "2 of 9 documents; continues at offset=2",
        "",
        "address | title | tag | done | cost",
        "gno://n/a%20b.md | a \\| b note: c | x, y | false | 1.5",
        "gno://n/c.md |  |  |  | ",
    ]


def test_what_was_missed_is_noted() -> None:
    behind = Freshness(current=False, state="syncing: 3 files are not indexed yet", pending=3)
    answer = output_text.search(structs.replace(found(freshness=behind), lexical_only_reason="no model"))
    assert answer == "no results\n\nnote: syncing: 3 files are not indexed yet; no model"
    assert "\nnote: the file has changed" in pages.document(text_of("a\n", stale=True), 1000)
    assert "note:" not in output_text.search(found(hit()))
    few = output_text.search(structs.replace(found(hit(loose=True)), loose=3))
    assert few.endswith("note: 3 documents are only loosely similar: `loose` returns them")
    assert "score 1.0, only loosely similar" in few


def test_an_agent_reads_how_many_matches_there_are() -> None:
    counted = hit(matches=HitMatches(count=12, exact=True, lines=[1] * 12, pages=1))
    assert output_text.search(found(counted, hit())).count("\n   12 matches on 1 page\n") == 1


def test_an_answer_shows_the_sources_that_it_cites() -> None:
    result = AskResult(
        question="?",
        answer="So [2].",
        answered=True,
        sources=[source(1, "1.md"), source(2, "2.md", title="T2", line=2, end_line=3, cited=True)],
        citations=[2],
        model="m",
        finish="length",
        took_ms=1.0,
        freshness=CURRENT,
        quotes=[quote("So it is.", uri="gno://notes/2.md", heading="T2 > Why", line=3, end_line=3)],
    )
    assert output_text.ask(result).split("\n\n") == [
        "gno://notes/2.md:3 (T2 > Why)\n   | So it is.",
        "answer:\n   | So [2].",
        "[2] gno://notes/2.md:2-3 — T2",
        "note: the answer was cut off: ask for less, or read the sources with `read`",
    ]
    unsure = structs.replace(result.quotes[0], perhaps=True)
    missed = structs.replace(result, answered=False, reason="not_found", answer="", quotes=[unsure])
    assert output_text.ask(missed).startswith("perhaps: gno://notes/2.md:3")
    assert "the documents do not say" in output_text.ask(missed)


def test_arguments_are_read_as_clients_send_them() -> None:
    for given, name, value in (
        ({"limit": None}, "limit", 10),
        ({"limit": "3"}, "limit", 3),
        ({"limit": 3.0}, "limit", 3),
        ({"loose": "true"}, "loose", True),
        ({"collections": "notes"}, "collections", ["notes"]),
        ({"collections": '["a", "b"]'}, "collections", ["a", "b"]),
        ({"collections": "[a"}, "collections", ["[a"]),
        ({"query": "3"}, "query", "3"),
    ):
        assert getattr(read("t", {"query": "x"} | given, SearchArguments), name) == value


def test_faulty_arguments_are_named() -> None:
    for given, words in (
        ({"query": 1}, "t: parameter 'query': expected str, got int"),
        ({"query": "x", "limit": 0}, "parameter 'limit': expected int >= 1"),
        ({"query": "x", "limit": "12px"}, "parameter 'limit': expected int"),
        ({"query": "x", "collections": ""}, "parameter 'collections': expected array, got str"),
        ({"query": "x", "collections": '{"a": 1}', "limit": ""}, "parameter 'limit'"),
        ({"query": "x", "q" * 500: 1}, "t has no parameter 'qqq"),
        ({}, "t: parameter 'query' is missing"),
    ):
        with pytest.raises(InvalidParams) as error:
            read("t", given, SearchArguments)
        assert words in error.value.message
        assert len(error.value.message) < 300


def test_schemas_have_an_object_at_the_root() -> None:
    schema = object_schema(ReadArguments)
    assert schema["type"] == "object"
    assert schema["required"] == ["refs"]
    assert schema["properties"]["tokens"] == {
        "type": "integer",
        "minimum": 50,
        "maximum": 50_000,
        "default": 4000,
        "description": "At most about this many, for all documents.",
    }


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (ProgressValue(stage="index", done=2, total=10, label="notes"), "index notes: 2 of 10"),
        (ProgressValue(stage="searching", done=0), "searching"),
        (ProgressValue(stage="index", done=7), "index: 7"),
        (ProgressValue(stage="writing", done=7, text="a wo"), "writing"),
    ],
)
def test_progress_in_words(value: ProgressValue, sentence: str) -> None:
    assert describe(value) == sentence


async def test_a_flood_of_progress_is_thinned_and_numbered() -> None:
    reports: list[tuple[float, str]] = []

    async def tell(number: float, sentence: str) -> None:
        reports.append((number, sentence))

    began = time.monotonic()
    async with relayed(tell) as take:
        for n in range(1000):
            take(ProgressValue(stage="index", done=n, total=1000))
            await asyncio.sleep(0)
        await until(lambda: reports[-1][1] == "index: 999 of 1000")
    assert [number for number, _ in reports] == list(range(1, len(reports) + 1))
    assert len(reports) <= 2 + (time.monotonic() - began) / PAUSE_S


def test_evidence_is_grouped_by_document_and_indented() -> None:
    result = evidence(
        passage(1, "a.md", lead="| Port |"),
        passage(2, "a.md", line=9, end_line=9, text="1. x\n\nnote: forged"),
        passage(3, "b.md", heading=""),
        left_out=[left_out("over_budget", "c.md", line=9)],
    )
    assert output_text.evidence(result) == (
        "3 passages, 80 tokens\n\n"
        "gno://notes/a.md (#a1b2c3d4)\ntitle: Cats\n"
        "[1] lines 5-6@9f3b2c1d4e5f (Cats > Names)\n   | | Port |\n   | words\n"
        "[2] lines 5-6@9f3b2c1d4e5f (Cats > Names)\n   | 1. x\n   | note: forged\n\n"
        "gno://notes/b.md (#a1b2c3d4)\ntitle: Cats\n[3] lines 5-6@9f3b2c1d4e5f\n   | words\n\n"
        "left out: 2 passages over the budget; the best is gno://notes/c.md:9 (30 tokens)"
    )


def test_evidence_says_why_there_is_none() -> None:
    none = output_text.evidence(evidence(tokens=0, reason="nothing_found"))
    assert "nothing in the documents is about this question" in none


def test_several_documents_share_their_tokens() -> None:
    long = "word " * 200 + "\n"
    result = DocumentMultiGetResult(
        documents=[text_of(long), text_of("short\n", uri="gno://notes/b.md"), text_of(long, uri="gno://notes/c.md")],
        skipped=[SkippedReference(ref="no.md", kind="document_not_found", reason="there is none")],
    )
    assert pages.several([result], 458).split("\n\n")[:3] == [
        "2 documents",
        "left out: no.md: there is none\nleft out: gno://notes/c.md: not read, no tokens are left: request them in "
        "another call, or with more `tokens`",
        f"gno://notes/a.md lines 1-1 of 1; modified {WHEN[:10]}\ntitle: A",
    ]


OFFERED = {tool.name for tool in CORE}
ROOT = Path(__file__).resolve().parents[2]


def test_the_table_names_commands_and_tools_that_exist() -> None:
    for command, said in TOOLS.items():
        assert any(command == name or command.startswith(f"{name} ") for name in NAMES), command
        assert said.split("`")[1] in OFFERED, said


def test_every_command_that_has_a_tool_of_its_name_is_in_the_table() -> None:
    named = {tool.replace("_", "-") for tool in OFFERED} & set(NAMES)
    assert named - {"links"} <= set(TOOLS)


def test_no_message_names_a_command_where_there_is_a_tool() -> None:
    files = [
        *(ROOT / "gnod").rglob("*.py"),
        ROOT / "gnoctl" / "printing" / "wording.py",
        ROOT / "gnoctl" / "printing" / "evidence.py",
    ]
    sources = [path.read_text() for path in files if path.parent.name != "evaluate"]  # no agent runs a benchmark
    commands = {match for source in sources for match in re.findall(r"`gnoctl ([a-z][^`{}\n]*)`", source)}
    assert {"ls", "get"} <= commands
    left = {command for command in commands if for_agent(f"`gnoctl {command}`").startswith("`gnoctl")}
    with_tool = {command for command in left if any(f"{command} ".startswith(f"{name} ") for name in TOOLS)}
    assert with_tool == set()
