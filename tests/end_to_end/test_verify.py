"""Claims and citations that a real daemon checks against real documents, on the command line and over MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnoctl.mcp import tools
from tests.end_to_end.test_mcp_server import agent, said
from tests.machine import Machine, temporary_machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HEATING = "household/heating.md"
RETROSPECTIVE = "meetings/2026-10-12-retrospective.md"


def verified(machine: Machine, text: str) -> dict[str, Any]:
    result = machine.json("ask", "--verify", "--", text)
    assert isinstance(result, dict)
    return result


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


async def test_an_agent_checks_claims_and_what_evidence_cited(sample: Machine) -> None:
    async with agent(sample, "--all") as client:
        found = said(await client.call_tool("evidence", {"question": "what does error F28 mean", "tokens": 300}))
        lines = found.partition("[1] lines ")[2].split()[0]
        text = f"The boiler is from 2018. [gno://notes/{HEATING}:{lines}]"
        checked = said(await client.call_tool("verify", {"text": text}))
        assert f"gno://notes/{HEATING}:{lines}: unchanged" in checked
        assert checked.startswith("contradicted (2018 ≠ 2019):\n   | The boiler is from 2018.\ngno://notes/")
    assert "verify" in [tool.name for tool in tools.MORE]
