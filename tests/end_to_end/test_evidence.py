"""Packets of evidence from a real daemon with real documents, over the socket, the command line and MCP."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import sample_questions
from gnod.ingest.text.canonical import canonicalise, digest
from tests.end_to_end.test_mcp_server import agent, refused, said
from tests.machine import Machine, temporary_machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
MORE = {
    "faehre.md": "# Fähre\n\nDie Fähre legt um 9:15 Uhr ab.\n\nIm Winter fährt sie nicht.\n",
    "ferry.ja.md": "# フェリー\n\nフェリーは九時に港を出発します。\n",
    "nauka.md": "# नौका\n\nनौका सुबह नौ बजे चलती है।\n",
    "copy.md": "# Fähre\n\nDie Fähre legt um 9:15 Uhr ab.\n",
}
F28 = "what does error F28 mean"
UNANSWERED = sample_questions.NOT_ANSWERED[2].question


@pytest.fixture(scope="module")
def sample(minilm_onnx: Path, measured_models: Path) -> Iterator[Machine]:
    with temporary_machine() as machine:
        machine.place(measured_models)
        shutil.copytree(SAMPLES, machine.notes, dirs_exist_ok=True)
        for name, text in MORE.items():
            (machine.notes / name).write_text(text)
        machine.config.parent.mkdir(exist_ok=True)
        machine.config.write_text(
            f'models: {{embed: "file:{minilm_onnx}", answer: none, expand: none, rerank: none}}\n'
            f"collections:\n  - {{name: notes, path: {machine.notes}}}\n"
        )
        machine.ok("index")
        machine.ok("embed")
        yield machine


def evidence(machine: Machine, *words: str) -> dict[str, Any]:
    result = json.loads(machine.ok("evidence", *words, "--json"))
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ("question", "path", "words"),
    [
        ("what does error F28 mean", "household/heating.md", "did not ignite"),
        ("how often is a backup restored", "meetings/2026-10-12-retrospective.md", "first Monday of each month"),
        ("Wann legt die Fähre ab?", "faehre.md", "9:15 Uhr"),
        ("フェリーは何時に出発しますか", "ferry.ja.md", "九時"),
        ("नौका कब चलती है", "nauka.md", "नौ बजे"),
    ],
)
def test_the_packet_has_the_answer_at_the_lines_it_names(question: str, path: str, words: str, sample: Machine) -> None:
    result = evidence(sample, question, "-t", "400")
    assert 0 < result["tokens"] <= 400
    assert any(words in each["text"] for each in result["passages"] if each["path"] in (path, "copy.md"))
    assert [each["number"] for each in result["passages"]] == [*range(1, len(result["passages"]) + 1)]
    for each in result["passages"]:
        file = (sample.notes / each["path"]).read_text()
        lines = "\n".join(file.split("\n")[each["line"] - 1 : each["end_line"]])
        assert each["text"] in canonicalise(lines)
        assert each["content_hash"] == digest(json.loads(sample.ok("get", each["uri"], "--json"))["text"])


def test_a_copied_text_comes_once_and_is_counted(sample: Machine) -> None:
    result = evidence(sample, "Wann legt die Fähre ab?")
    assert sum("9:15" in each["text"] for each in result["passages"]) == 1
    (repeated,) = (each for each in result["left_out"] if each["reason"] == "repeats")
    assert repeated["repeats"] in [each["number"] for each in result["passages"] if "9:15" in each["text"]]


def test_nothing_and_too_little_room_are_said(sample: Machine) -> None:
    nothing = evidence(sample, "xqzzy blorf wumpt")
    assert (nothing["passages"], nothing["reason"], nothing["tokens"]) == ([], "nothing_found", 0)
    assert "Nothing in the documents is about this question." in sample.ok("evidence", "xqzzy blorf")
    little = evidence(sample, "what does error F28 mean", "--tokens", "3")
    assert (little["passages"], little["reason"]) == ([], "over_budget")
    assert little["left_out"][0]["reason"] == "over_budget"


def test_what_the_documents_do_not_answer_is_found_as_by_ask(sample: Machine) -> None:
    for question, is_answered in ((F28, True), (UNANSWERED, False)):
        asked = json.loads(sample.ok("ask", question, "--json"))
        gathered = evidence(sample, question)
        assert gathered["passages"]
        assert gathered["found"] is is_answered
        assert abs(gathered["confidence"] - asked["confidence"]) < 0.12
        assert ("do not seem to answer this" in sample.ok("evidence", question)) is not is_answered


def test_bad_input_is_refused(sample: Machine) -> None:
    for params, message in (
        ({"question": "x", "tokens": 0}, ">= 1"),
        ({"question": "x", "tokens": -1}, ">= 1"),
        ({"question": "x", "tokens": 10**9}, "<= 100000"),
        ({"question": " "}, "the question is empty: add some words"),
        ({"question": "x", "collections": ["note"]}, "notes"),
        ({}, "question"),
    ):
        answer = sample.answer("evidence.gather", **params)
        assert message in answer["error"]["message"], answer


def test_filters_and_the_stages(sample: Machine) -> None:
    result = evidence(sample, "Wann legt die Fähre ab?", "--path", "copy", "--explain")
    assert {each["path"] for each in result["passages"]} == {"copy.md"}
    stages = {each["stage"]: each for each in result["explain"]["stages"]}
    assert stages["evidence"]["tokens"] == result["tokens"]
    assert {"bm25", "fuse", "sentences", "embed sentences"} <= stages.keys()
    fresh = sample.notes / "new.md"
    fresh.write_text("# Kelp\n\nThe kelp is harvested in June.\n")
    assert evidence(sample, "When is the kelp harvested?", "--fresh")["passages"][0]["path"] == "new.md"


def test_searches_show_several_passages(sample: Machine) -> None:
    for command in ("search", "vsearch", "query"):
        (hit, *_) = json.loads(sample.ok(command, "backup restore", "--passages", "3", "--json"))["hits"]
        assert 1 <= len(hit["passages"]) <= 3
        assert hit["passages"][0]["snippet"] == hit["snippet"]
        assert "passages" not in json.loads(sample.ok(command, "backup restore", "--json"))["hits"][0]


async def test_an_agent_gets_evidence_and_several_documents(sample: Machine) -> None:
    async with agent(sample) as client:
        found = await client.call_tool("evidence", {"question": "what does error F28 mean", "tokens": 300})
        assert found.structured_content
        (first, *_) = found.structured_content["documents"]
        assert first["uri"] == "gno://notes/household/heating.md"
        assert "did not ignite" in first["passages"][0]["text"]
        assert "did not ignite" in said(found)
        assert found.structured_content["found"] is True
        weak = await client.call_tool("evidence", {"question": UNANSWERED})
        assert weak.structured_content
        assert weak.structured_content["documents"]
        assert weak.structured_content["found"] is False
        assert "do not seem to answer this" in said(weak)
        both = await client.call_tool("multi_get", {"refs": ["notes/faehre.md", "notes/nauka.md", "notes/no.md"]})
        assert both.structured_content
        assert [each["uri"] for each in both.structured_content["documents"]] == [
            "gno://notes/faehre.md",
            "gno://notes/nauka.md",
        ]
        assert len(both.structured_content["skipped"]) == 1
        several = await client.call_tool("search", {"query": "backup restore", "passages": 3})
        assert not several.is_error
        nothing = await client.call_tool("evidence", {"question": "xqzzy blorf"})
        assert "nothing in the documents is about this question" in said(nothing)
        assert "'tokens'" in await refused(client, "evidence", {"question": "x", "tokens": 0})
        assert "empty" in await refused(client, "evidence", {"question": ""})
