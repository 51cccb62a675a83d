"""Questions, packets of evidence, claims and citations, with a real daemon, an embedding model and real documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import sample_questions
from benchmarks.sample_questions import Asked
from gnod.answers.confidence import THRESHOLD, WEIGHTS
from gnod.ingest.text.canonical import canonicalise
from tests.end_to_end.test_mcp_server import agent, said
from tests.machine import Machine, temporary_machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

F28 = "what does error F28 mean"
UNANSWERED = sample_questions.NOT_ANSWERED[2].question
HEATING = "household/heating.md"
RETROSPECTIVE = "meetings/2026-10-12-retrospective.md"


def ask_unhurried(machine: Machine, question: str) -> dict[str, Any]:
    """Ask until the models answer in time: on a busy machine, quotes are chosen only by their words."""
    for _ in range(30):
        answer: dict[str, Any] = machine.json("ask", question, "--explain")
        if not any("time budget" in str(stage.get("why")) for stage in answer["explain"]["stages"]):
            return answer
    raise AssertionError(answer["explain"])


def evidence(machine: Machine, *words: str) -> dict[str, Any]:
    result = machine.json("evidence", *words)
    assert isinstance(result, dict)
    return result


def verified(machine: Machine, text: str) -> dict[str, Any]:
    result = machine.json("ask", "--verify", "--", text)
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize("asked", sample_questions.ANSWERED, ids=lambda asked: asked.question)
def test_questions_about_the_sample(asked: Asked, sample: Machine) -> None:
    answer = ask_unhurried(sample, asked.question)
    best = answer["quotes"][0]
    assert (answer["answered"], best["perhaps"]) == (asked.is_sure, not asked.is_sure)
    assert best["path"] == asked.path
    assert asked.line in (None, best["line"])
    assert asked.holds in " ".join(best["text"].split())
    if asked.line:
        file = (sample.notes / asked.path).read_text(encoding="utf-8").split("\n")
        assert best["text"] in "\n".join(file[best["line"] - 1 : best["end_line"]])


@pytest.mark.parametrize("asked", sample_questions.NOT_ANSWERED, ids=lambda asked: asked.question)
def test_questions_that_the_sample_does_not_answer(asked: Asked, sample: Machine) -> None:
    answer = ask_unhurried(sample, asked.question)
    assert (answer["answered"], answer["reason"], answer["answer"]) == (False, "not_found", "")
    assert answer["confidence"] < THRESHOLD
    assert all(quote["perhaps"] for quote in answer["quotes"])
    assert answer["explain"]["confidence"].keys() in (WEIGHTS.keys(), set())
    shown = sample.ok("ask", asked.question)
    assert shown.startswith("Your documents do not say.")
    assert ("Perhaps:" in shown) == bool(answer["quotes"])


@pytest.mark.parametrize(
    ("claim", "stance", "path", "differs"),
    [
        ("The booking site was down for 26 minutes on 2 October.", "supported", RETROSPECTIVE, []),
        ("The booking site was down for 36 minutes on 2 October.", "contradicted", RETROSPECTIVE, ["36 ≠ 26"]),
        ("The last service was on 4 November 2025.", "contradicted", HEATING, ["2025-11-04 ≠ 2025-11-03"]),
        ("The restore test took eleven minutes.", "supported", RETROSPECTIVE, []),
        ("Error F28 means that it did ignite.", "contradicted", HEATING, ["ignite ≠ not ignite"]),
        ("The mayor of the town has two dogs.", "not_found", None, []),
        ("status:open tag:x @todo \"half -quote * lex: 'boiler'", "not_found", None, []),
    ],
)
def test_the_sentence_that_supports_or_contradicts(
    claim: str, stance: str, path: str | None, differs: list[str], sample: Machine
) -> None:
    (found,) = verified(sample, claim)["claims"]
    assert (found["stance"], found["differs"]) == (stance, differs)
    assert (found["sentence"] and found["sentence"]["path"]) == path


def test_each_sentence_is_a_claim_and_the_exit_status_says_if_all_stand(sample: Machine) -> None:
    text = "# Boiler\n\nError F28 means it did not ignite. Why?\n\n- The boiler is from 2019.\n\n```\ncode = 1\n```\n"
    claims = verified(sample, text)["claims"]
    assert [each["text"] for each in claims] == ["Error F28 means it did not ignite.", "The boiler is from 2019."]
    assert sample.run("ask", "--verify", text).returncode == 0
    wrong = sample.run("ask", "--verify", "The boiler is from 2018.")
    assert wrong.returncode == 1
    assert "contradicted (2018 ≠ 2019):" in wrong.stdout
    assert "no question was given" in sample.run("ask").stderr


NEIGHBOURS = """# Engine

Bolt 1 needs 10 Nm. Bolt 2 needs 15 Nm. Bolt 3 needs 12 Nm.

Error F28 means that there is no flame. Error F29 means that the filter is dirty.

## Valve 7

It opens at 3 bar.

## Valve 8

It opens at 5 bar.

| part | torque |
| --- | --- |
| nut 1 | 10 Nm |
| nut 3 | 12 Nm |

# Club

Mara Ferrari was the founder of the rowing club. Jonas Petersen was the coach from 2019 on.

The meeting of 2026-10-12 decided to buy a boat. The meeting of 2026-11-09 decided to sell the trailer.
"""


@pytest.fixture(scope="module")
def neighbours(minilm_onnx: Path, measured_models: Path) -> Iterator[Machine]:
    with temporary_machine() as machine:
        machine.place(measured_models)
        (machine.notes / "engine.md").write_text(NEIGHBOURS)
        machine.configure(embed=minilm_onnx)
        machine.ok("index")
        machine.ok("embed")
        yield machine


def test_a_sentence_about_a_neighbour_says_nothing_of_a_claim(neighbours: Machine) -> None:
    stances = {
        "Bolt 1 needs 10 Nm.": "supported",
        "Bolt 3 needs 10 Nm.": "contradicted",
        "Bolt 7 needs 10 Nm.": "not_found",
        "Error F29 means that the filter is dirty.": "supported",
        "Error F30 means that the filter is dirty.": "not_found",
        "Valve 7 opens at 3 bar.": "supported",
        "Valve 8 opens at 3 bar.": "contradicted",
        "Valve 9 opens at 3 bar.": "not_found",
        "The torque of nut 3 is 12 Nm.": "supported",
        "The torque of nut 2 is 12 Nm.": "not_found",
        "The meeting of 2026-11-09 decided to sell the trailer.": "supported",
        "The meeting of 2026-10-12 decided to sell the trailer.": "not_found",
        "Jonas Petersen was the founder of the rowing club.": "not_found",
        "Mara Ferrari was not the founder of the rowing club.": "contradicted",
        "The founder of the rowing club was not Mara Ferrari.": "contradicted",
        "Jonas Petersen was not the coach.": "contradicted",
    }
    claims = verified(neighbours, " ".join(stances))["claims"]
    assert {each["text"]: each["stance"] for each in claims} == stances


@pytest.fixture(scope="module")
def citing() -> Iterator[Machine]:
    """A machine without models, for documents that change."""
    with temporary_machine() as machine:
        (machine.notes / "plan.md").write_text("# Plan\n\nWe keep backups for 30 days.\n\nThe pump is red.\n")
        machine.configure()
        machine.ok("index")
        yield machine


def test_a_citation_follows_its_lines(citing: Machine) -> None:
    plan = citing.notes / "plan.md"
    (quote, *_) = json.loads(citing.ok("ask", "how long do we keep backups", "--json"))["quotes"]
    citation = quote["citation"]
    assert citation.startswith("gno://notes/plan.md:3@")
    for text, state, line in (
        ("# Plan\n\nWe  keep backups for 30 days.\n", "unchanged", 3),
        ("# Plan\n\nNew.\n\n\nWe keep backups for 30 days.\n", "moved", 6),
        ("# Plan\n\nWe keep backups for 31 days.\n", "changed", 3),
        (None, "gone", 3),
    ):
        plan.write_text(text) if text else plan.unlink()
        citing.ok("index")
        result = verified(citing, f"Backups live for a month [{citation}].")
        (found,) = result["citations"]
        assert (found["state"], found["line"]) == (state, line)
        assert [each["text"] for each in result["claims"]] == ["Backups live for a month."]
    shown = citing.run("ask", "--verify", citation)
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (1, f"{citation}: gone")


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


async def test_an_agent_gets_evidence_and_checks_claims(sample: Machine) -> None:
    async with agent(sample, "--all") as client:
        found = said(await client.call_tool("evidence", {"question": F28, "tokens": 300}))
        assert f"\n\ngno://notes/{HEATING} (#" in found.partition("[2]")[0]
        assert "did not ignite" in found
        assert "note: perhaps" not in found
        weak = said(await client.call_tool("evidence", {"question": UNANSWERED}))
        assert "[1] lines " in weak
        assert "perhaps: these passages may have the answer" in weak
        lines = found.partition("[1] lines ")[2].split()[0]
        text = f"The boiler is from 2018. [gno://notes/{HEATING}:{lines}]"
        checked = said(await client.call_tool("verify", {"text": text}))
        assert f"gno://notes/{HEATING}:{lines}: unchanged" in checked
        assert checked.startswith("contradicted (2018 ≠ 2019):\n   | The boiler is from 2018.\ngno://notes/")
