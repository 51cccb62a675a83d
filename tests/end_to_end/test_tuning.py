"""`gnoctl tune`, and queries that the embedding model cannot read, with a real daemon and a real model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.test_query import stages, use
from tests.machine import Machine, temporary_machine, wait_until
from tests.models import tiny_embedder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PARTS = ("crane", "winch", "pump", "valve", "hoist", "engine", "rudder", "anchor", "boiler", "mast")
FAULTS = ("overheats", "leaks oil", "makes a noise", "stands still", "turns too fast", "loses pressure")
HINDI = "# बंदरगाह\n\nतेज़ हवा में क्रेन बंद कर दी जाती है और मज़दूर नीचे उतर आते हैं।\n"


@pytest.fixture(scope="module")
def harbour(minilm_onnx: Path, measured_models: Path) -> Iterator[Machine]:
    """A machine with 60 notes, each about one part with one fault, and one note in Hindi. All are embedded."""
    with temporary_machine() as machine:
        machine.place(measured_models)
        use(machine, embed=minilm_onnx)
        for part in PARTS:
            for number, fault in enumerate(FAULTS):
                text = (
                    f"When the {part} {fault} a mechanic has to look at it before noon. "
                    "Call the workshop, describe what you saw, and write down the time. "
                    f"Procedure {number}{part[0]} of the handbook says how to take a {part} apart when it {fault}.\n"
                )
                (machine.notes / f"{part}-{number}.md").write_text(text)
        (machine.notes / "hindi.md").write_text(HINDI)
        machine.ok("index")
        machine.ok("embed")
        yield machine


@pytest.mark.stress
def test_it_learns_shows_and_forgets(harbour: Machine) -> None:
    (never,) = harbour.json("tune", "notes", "--show")["collections"]
    assert (never["name"], never.get("questions", 0)) == ("notes", 0)
    (learned,) = harbour.json("tune", "notes")["collections"]
    assert learned["questions"] >= 40
    assert learned["model"].startswith("file:")
    assert 0 < learned["keyword"] <= 1
    assert 0 < learned["vector"] <= 1
    assert learned["after"] >= learned["before"]
    assert harbour.json("tune", "notes", "--show")["collections"] == [learned]
    assert "notes" in harbour.ok("tune", "--show")
    assert not list((harbour.folder / "data").glob("tuning-*")), "the scratch index is removed"
    (forgotten,) = harbour.json("tune", "notes", "--reset")["collections"]
    assert (forgotten["questions"], forgotten["measured_at"], forgotten["vector_odds"]) == (0, None, 1.0)


def test_what_cannot_be_tuned_is_reported(harbour: Machine) -> None:
    empty = harbour.run("tune", "german")
    assert empty.returncode == 0
    assert "german: its documents yield too few questions" in empty.stderr
    unknown = harbour.run("tune", "nowhere")
    assert unknown.returncode != 0
    assert "nowhere" in unknown.stderr
    both = harbour.run("tune", "--show", "--reset")
    assert (both.returncode, "cannot be used together" in both.stderr) == (2, True)


def test_a_query_in_a_script_that_the_model_cannot_read_is_left_to_keywords(harbour: Machine) -> None:
    assert "cannot read this script (devanagari)" in stages(harbour, "क्रेन")["embed"]["why"]
    answer = harbour.json("query", "क्रेन")
    assert answer["hits"][0]["path"] == "hindi.md"
    assert "cannot read" in answer["lexical_only_reason"]
    (group,) = stages(harbour, "crane क्रेन in the wind of the harbour")["fuse"]["groups"]
    assert (group["documents"], group["unread"], group["vector_share"]) == (1, True, 0.0)
    shown = harbour.ok("models", "list")
    assert "reads en; cannot read the scripts arabic, " in shown
    (model,) = [each for each in harbour.json("models", "list")["models"] if each.get("reads")]
    assert model["reads"]["languages"] == ["en"]
    assert model["reads"]["figures"]["en"]["separation"] == 1.0


@pytest.mark.stress
def test_a_model_is_measured_when_a_query_first_needs_it(machine: Machine) -> None:
    use(machine, embed=tiny_embedder.write(machine.folder / "tiny"))
    (machine.notes / "crane.md").write_text("# Кран\n\nПри сильном ветре кран останавливают.\n")
    machine.ok("index")
    machine.ok("embed")
    assert stages(machine, "кран")["embed"]["ran"], "the first query does not wait for the measurement"
    wait_until(lambda: not stages(machine, "кран")["embed"]["ran"])
    machine.ok("daemon", "restart")
    assert "cannot read this script (cyrillic)" in stages(machine, "кран")["embed"]["why"], "the result was stored"
