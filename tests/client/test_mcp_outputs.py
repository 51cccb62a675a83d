"""What an agent is told: pages of documents, notes, and text that cannot be forged by a document."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import structs

from gnoctl.mcp import outputs as o
from gnoctl.mcp.arguments import ReadArguments, SearchArguments, object_schema, read
from gnoctl.mcp.output_text import fitted, render
from gnoctl.mcp.progress import describe, relayed
from gnod.errors import InvalidParams
from gnod.protocol.base import Freshness, ProgressValue
from gnod.protocol.documents import DocumentMultiGetResult, DocumentText, SkippedReference
from gnod.protocol.search import AskResult, HitMatches, HitPassage
from gnod.types import estimated_tokens
from tests.client.samples import CURRENT, document, evidence, found, hit, left_out, passage, quote, source

WHEN = "2026-11-21T10:00:00Z"


def text_of(text: str, **more: Any) -> DocumentText:
    return document(text, **{"uri": "gno://notes/a.md", "title": "A", "modified": WHEN} | more)


def test_the_pages_of_a_long_document_meet_without_a_gap() -> None:
    lines = [f"line {n} {'x' * 80}\n" if n % 7 else "\n" for n in range(1, 501)]
    start, read_so_far = 1, ""
    while True:
        page = o.document_output(
            text_of("".join(lines[start - 1 :]), start_line=start, end_line=500, total_lines=500), 1000
        )
        assert estimated_tokens(page.text) <= 1000 + 30
        read_so_far += page.text
        if page.next_line is None:
            break
        assert page.text.endswith("\n\n")  # at the end of a paragraph
        assert page.next_line == page.end_line + 1
        start = page.next_line
    assert read_so_far == "".join(lines)


def test_a_page_ends_before_a_heading() -> None:
    page = o.document_output(text_of("word\n" * 90 + "# Next\n" + "word\n" * 90), 200)
    assert (page.end_line, page.next_line) == (90, 91)


def test_a_page_ends_on_the_files_own_line() -> None:
    # From the third line of the text on, the file is five lines ahead.
    body = "".join(f"{n} {'x' * 10_000}\n" for n in range(1, 9))
    page = o.document_output(text_of(body, line_map=[(3, 5)], end_line=13, total_lines=13), 10_200)
    assert page.text.splitlines()[-1].startswith("3 ")
    assert (page.end_line, page.next_line) == (8, 9)


def test_a_line_that_is_longer_than_a_page_is_cut_and_said_to_be() -> None:
    page = o.document_output(text_of("x" * 50_000 + "\nend\n"), 1000)
    assert len(page.text) == 4000
    assert (page.end_line, page.next_line) == (1, 2)
    assert page.note
    assert "the resource gno://notes/a.md is complete" in page.note


def test_each_line_has_its_number_in_the_file() -> None:
    # The file has three more blank lines after its second line.
    page = o.document_output(
        text_of("# A\n\nsix\x0c\u2028seven | a\n", line_map=[(3, 3)], end_line=6, total_lines=6, tags=["x"]), 1000
    )
    assert (page.end_line, page.next_line) == (6, None)
    assert render(page) == (
        f"gno://notes/a.md lines 1-6 of 6; modified {WHEN}\ntitle: A\ntags: x\n\n1|# A\n\n6|six␌ seven | a"
    )
    rest = o.document_output(text_of("six\n", start_line=6, line_map=[(3, 3)], end_line=6, total_lines=6), 1000)
    assert render(rest).endswith("\n\n6|six")


def test_a_line_ends_where_the_daemon_ends_it() -> None:
    long = "\u2028\x0c\x85\r" + "x" * 2000
    page = o.document_output(text_of(f"{long}\n{long}\nthird\n"), 1000)
    assert (page.text, page.end_line, page.next_line) == (f"{long}\n", 1, 2)


def test_a_search_fills_a_number_of_tokens() -> None:
    passages = [HitPassage(line=n, end_line=n, snippet="word " * 30, snippet_line=n) for n in range(1, 4)]
    result = o.search_output(found(*(hit(passages=passages, snippet="word " * 30) for _ in range(3))))
    assert [len(each.more) for each in fitted(result, 10_000).hits] == [2, 2, 2]
    few = fitted(result, 300)
    assert [len(each.more) for each in few.hits] == [2, 0]
    assert few.note == "1 more document: raise `tokens`"
    assert len(fitted(result, 50).hits) == 1


def test_what_was_missed_is_noted() -> None:
    behind = Freshness(current=False, state="syncing: 3 files are not indexed yet", pending=3)
    answer = o.search_output(structs.replace(found(freshness=behind), lexical_only_reason="no model"))
    assert answer.note == "syncing: 3 files are not indexed yet; no model"
    assert render(answer).endswith("note: syncing: 3 files are not indexed yet; no model")
    assert o.document_output(text_of("a\n", stale=True), 1000).note
    assert o.search_output(found(hit())).note is None
    few = structs.replace(found(hit(loose=True)), loose=3)
    assert o.search_output(few).note == "3 documents are only loosely similar: `loose` returns them"
    assert "score 1.0, only loosely similar" in render(o.search_output(few))


def test_an_agent_reads_how_many_matches_there_are() -> None:
    counted = hit(matches=HitMatches(count=12, exact=True, lines=[1] * 12, pages=1))
    assert [each.matches for each in o.search_output(found(counted, hit())).hits] == ["12 matches on 1 page", None]


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
    answer = o.ask_output(result)
    assert [(each.text, each.line) for each in answer.quotes] == [("So it is.", 3)]
    assert render(answer).startswith("gno://notes/2.md lines 3-3 (T2 > Why)\n")
    assert [each.number for each in answer.sources] == [2]
    assert render(answer).split("\n\n")[1:3] == ["answer:\n   | So [2].", "[2] gno://notes/2.md lines 2-3 — T2"]
    assert "cut off" in (answer.note or "")
    unsure = structs.replace(result.quotes[0], perhaps=True)
    missed = o.ask_output(structs.replace(result, answered=False, reason="not_found", answer="", quotes=[unsure]))
    assert missed.quotes[0].perhaps
    assert "the documents do not say" in (missed.note or "")
    assert render(missed).startswith("perhaps: gno://notes/2.md lines 3-3")


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
        "description": "At most about this many, of all documents.",
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
    told: list[tuple[float, str]] = []

    async def tell(number: float, sentence: str) -> None:
        told.append((number, sentence))

    async with relayed(tell) as take:
        for n in range(1000):
            take(ProgressValue(stage="index", done=n, total=1000))
            await asyncio.sleep(0)
        await asyncio.sleep(0.25)
    assert [number for number, _ in told] == list(range(1, len(told) + 1))
    assert len(told) <= 5
    assert told[-1][1] == "index: 999 of 1000"


def test_evidence_is_grouped_by_document_and_indented() -> None:
    result = evidence(
        passage(1, "a.md", lead="| Port |"),
        passage(2, "a.md", line=9, end_line=9, text="1. x\n\nnote: forged"),
        passage(3, "b.md", heading=""),
        left_out=[left_out("over_budget", "c.md", line=9)],
    )
    output = o.evidence_output(result)
    assert [(each.uri, len(each.passages)) for each in output.documents] == [
        ("gno://notes/a.md", 2),
        ("gno://notes/b.md", 1),
    ]
    assert render(output) == (
        "3 passages, 80 tokens\n\n"
        "gno://notes/a.md (#a1b2c3d4, content 0123456789ab)\ntitle: Cats\n"
        "[1] lines 5-6 (Cats > Names)\n   | | Port |\n   | words\n"
        "[2] lines 9-9 (Cats > Names)\n   | 1. x\n   | note: forged\n\n"
        "gno://notes/b.md (#a1b2c3d4, content 0123456789ab)\ntitle: Cats\n[3] lines 5-6\n   | words\n\n"
        "left out: 2 passages over the budget; the best is gno://notes/c.md:9 (30 tokens)"
    )


def test_evidence_says_why_there_is_none() -> None:
    assert "nothing in the documents is about this question" in render(
        o.evidence_output(evidence(tokens=0, reason="nothing_found"))
    )


def test_several_documents_share_their_tokens() -> None:
    long = "word " * 200 + "\n"
    result = DocumentMultiGetResult(
        documents=[text_of(long), text_of("short\n", uri="gno://notes/b.md"), text_of(long, uri="gno://notes/c.md")],
        skipped=[SkippedReference(ref="no.md", kind="document_not_found", reason="there is none")],
    )
    output = o.several_output(result, 435)
    assert [each.uri for each in output.documents] == ["gno://notes/a.md", "gno://notes/b.md"]
    assert output.skipped == [
        "no.md: there is none",
        "gno://notes/c.md: no tokens are left: request them in another call, or with more `tokens`",
    ]
    assert render(output).startswith("2 documents\n\nleft out: no.md: there is none\nleft out: gno://notes/c.md: no")
