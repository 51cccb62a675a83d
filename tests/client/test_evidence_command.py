"""`gnoctl evidence` against the fake daemon: its requests and its output."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from gnod.protocol.evidence import EvidenceParams
from tests.client import samples
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

PASSAGE = samples.passage(text="| Miso | grey |\n| Nori | black |", lead="| Name | Colour |", lead_line=3)
LEFT_OUT = samples.left_out("repeats", "copy.md", repeats=1)
FOUND = samples.evidence(
    PASSAGE, samples.passage(2, line=9, end_line=9, text="Miso is old."), left_out=[LEFT_OUT], confidence=0.9
)
NOTHING = replace(FOUND, passages=[], tokens=0, left_out=[], reason="nothing_found", state="not_found")
OVER_BUDGET = samples.left_out("over_budget", "copy.md")
TOO_LONG = replace(NOTHING, max_tokens=9, reason="over_budget", left_out=[OVER_BUDGET])


@pytest.fixture(autouse=True)
def gathering(daemon: FakeDaemon) -> None:
    daemon.answers["evidence.gather"] = FOUND


def test_it_asks_for_what_was_typed(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    gnoctl("evidence", "which", "colour", "-c", "a,b", "--since", "7d", "-t", "300", "-n", "5", "--no-rerank")
    assert daemon.asked(EvidenceParams) == EvidenceParams(
        question="which colour", collections=["a", "b"], since="7d", tokens=300, limit=5, rerank=False
    )


def test_passages_have_their_place_and_their_header(gnoctl: Gnoctl) -> None:
    assert gnoctl("evidence", "which colour").out.splitlines() == [
        "Cats  #a1b2c3d4",
        "[1] notes/cats.md:5-6  Cats > Names",
        "  | Name | Colour |",
        "  | Miso | grey |",
        "  | Nori | black |",
        "",
        "[2] notes/cats.md:9  Cats > Names",
        "  Miso is old.",
        "",
        "2 passages · 80 of 1,500 tokens · 12 ms",
        "left out: 2 passages with the same text as another; gno://notes/copy.md:5 repeats passage 1",
    ]
    assert json.loads(gnoctl("evidence", "which", "--json").out)["passages"][0]["citation"] == PASSAGE.citation


def test_it_says_why_there_is_nothing(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["evidence.gather"] = NOTHING
    assert gnoctl("evidence", "zebra").out.splitlines()[0] == "Nothing in the documents is about this question."
    daemon.answers["evidence.gather"] = TOO_LONG
    shown = gnoctl("evidence", "zebra", "-t", "9").out
    assert shown.startswith("No passage fits into 9 tokens: the best one needs 30.\n")


def test_passages_that_do_not_answer_are_marked_as_weak(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["evidence.gather"] = replace(FOUND, state="perhaps", confidence=0.5)
    assert gnoctl("evidence", "zebra").out.startswith(
        "These passages may have the answer, or only a part of it:\n\nCats"
    )
    daemon.answers["evidence.gather"] = replace(FOUND, state="not_found", confidence=0.2)
    first, empty, title, *_ = gnoctl("evidence", "zebra").out.splitlines()
    assert first == "Your documents do not seem to answer this; the nearest passages:"
    assert (empty, title) == ("", "Cats  #a1b2c3d4")
    shown = json.loads(gnoctl("evidence", "zebra", "--json").out)
    assert (shown["state"], shown["confidence"]) == ("not_found", 0.2)
