"""Packets of evidence from a real daemon with real documents, over the socket, the command line and MCP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks import sample_questions
from gnod.ingest.text.canonical import canonicalise
from tests.end_to_end.test_mcp_server import agent, said
from tests.machine import Machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

F28 = "what does error F28 mean"
UNANSWERED = sample_questions.NOT_ANSWERED[2].question


def evidence(machine: Machine, *words: str) -> dict[str, Any]:
    result = machine.json("evidence", *words)
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
        place = str(each["line"]) + (f"-{each['end_line']}" if each["end_line"] > each["line"] else "")
        assert each["citation"].startswith(f"{each['uri']}:{place}@")


def test_a_copied_text_comes_once_and_is_counted(sample: Machine) -> None:
    result = evidence(sample, "Wann legt die Fähre ab?")
    assert sum("9:15" in each["text"] for each in result["passages"]) == 1
    (repeated,) = (each for each in result["left_out"] if each["reason"] == "repeats")
    assert repeated["repeats"] in [each["number"] for each in result["passages"] if "9:15" in each["text"]]


def test_nothing_and_too_little_room_are_said(sample: Machine) -> None:
    nothing = evidence(sample, "xqzzy blorf wumpt")
    assert (nothing["passages"], nothing["reason"], nothing["tokens"]) == ([], "nothing_found", 0)
    assert "Nothing in the documents is about this question." in sample.run("evidence", "xqzzy blorf").stdout
    little = evidence(sample, "what does error F28 mean", "--tokens", "3")
    assert (little["passages"], little["reason"]) == ([], "over_budget")
    assert little["left_out"][0]["reason"] == "over_budget"


def test_what_the_documents_do_not_answer_is_found_as_by_ask(sample: Machine) -> None:
    for question, is_answered in ((F28, True), (UNANSWERED, False)):
        asked = json.loads(sample.ok("ask", question, "--json"))
        gathered = evidence(sample, question)
        assert gathered["passages"]
        assert (gathered["state"] == "answered") is is_answered
        assert abs(gathered["confidence"] - asked["confidence"]) < 0.12
        assert (
            sample.ok("evidence", question).startswith(("These passages may", "Your documents do")) is not is_answered
        )


def test_filters_and_the_stages(sample: Machine) -> None:
    result = evidence(sample, "Wann legt die Fähre ab?", "--path", "copy", "--explain")
    assert {each["path"] for each in result["passages"]} == {"copy.md"}
    stages = {each["stage"]: each for each in result["explain"]["stages"]}
    assert stages["evidence"]["tokens"] == result["tokens"]
    assert {"bm25", "fuse", "sentences", "embed sentences"} <= stages.keys()
    fresh = sample.notes / "new.md"
    fresh.write_text("# Kelp\n\nThe kelp is harvested in June.\n")
    assert evidence(sample, "When is the kelp harvested?", "--fresh")["passages"][0]["path"] == "new.md"


async def test_an_agent_gets_evidence(sample: Machine) -> None:
    async with agent(sample) as client:
        found = await client.call_tool("evidence", {"question": "what does error F28 mean", "tokens": 300})
        assert "\n\ngno://notes/household/heating.md (#" in said(found).partition("[2]")[0]
        assert "did not ignite" in said(found)
        assert "note: perhaps" not in said(found)
        weak = await client.call_tool("evidence", {"question": UNANSWERED})
        assert "[1] lines " in said(weak)
        assert "perhaps: these passages may have the answer" in said(weak)
