"""The requests of all searches to the fake daemon, and the output of `gnoctl vsearch` and `gnoctl similar`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from gnod.protocol.base import Freshness, Params
from gnod.protocol.collections import CollectionListResult
from gnod.protocol.evidence import EvidenceParams
from gnod.protocol.search import AskParams, FilterParams, SearchLexicalParams, SearchSimilarParams, SearchVectorParams
from tests.client import samples
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

SCORED = samples.hit(score=0.8125, explain={"similarity": 0.8125})


@pytest.fixture(autouse=True)
def answering(daemon: FakeDaemon) -> None:
    daemon.answers |= {
        f"search.{mode}": samples.found(SCORED, mode=mode) for mode in ("vector", "similar", "lexical", "query")
    }
    daemon.answers["collection.list"] = CollectionListResult(collections=[samples.collection()])


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("search", partial(SearchLexicalParams, "blue green")),
        ("vsearch", partial(SearchVectorParams, "blue green", loose=False)),
        ("similar", partial(SearchSimilarParams, "blue green")),
    ],
)
def test_it_asks_for_what_was_typed(
    command: str, asked: Callable[..., FilterParams], daemon: FakeDaemon, gnoctl: Gnoctl
) -> None:
    words = ["blue", "green"] if command != "similar" else ["blue green"]
    gnoctl(command, *words, *samples.FILTERS, "-n", "7", "--min-score", "0.5", "--full")
    expected = asked(limit=7, min_score=0.5, full=True, **samples.FILTERED)
    assert daemon.asked(type(expected)) == expected


@pytest.mark.parametrize(
    ("command", "asked"), [("ask", AskParams(question="what")), ("evidence", EvidenceParams(question="what"))]
)
def test_the_daemon_knows_the_defaults(command: str, asked: Params, daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    gnoctl(command, "what")
    assert replace(daemon.asked(type(asked)), progress_token=None) == asked


def test_similar_makes_paths_absolute(daemon: FakeDaemon, gnoctl: Gnoctl, here: Path) -> None:
    gnoctl("similar", "./draft.md")
    assert daemon.asked(SearchSimilarParams).ref == f"{here}/draft.md"


@pytest.mark.parametrize("words", [("vsearch", "x"), ("similar", "#a1b2c3d4")])
def test_people_get_five_with_scores_and_what_is_missing(
    words: tuple[str, ...], daemon: FakeDaemon, gnoctl: Gnoctl
) -> None:
    waiting = Freshness(current=False, state="3 chunks have no vector yet", unembedded=3)
    answer = samples.found(SCORED, mode="vector", freshness=waiting)
    daemon.answers["search.vector"] = daemon.answers["search.similar"] = answer
    outcome = gnoctl(*words)
    assert outcome.out.splitlines() == [
        "Blue-green deployment",
        "notes/deploy/blue.md:12  #a1b2c3d4  0.81",
        "  How to deploy to production",
        "  without a gap",
        "  similarity 0.8125",
        "",
        "1 document · 3 ms",
        "3 chunks have no vector yet",
    ]
    assert [params.limit for _, params in daemon.calls if isinstance(params, FilterParams)] == [5]


@pytest.mark.parametrize("words", [(name, "#a1b2c3d4") for name in ("search", "vsearch", "query", "similar")])
@pytest.mark.parametrize("flag", ["--json", "--files", "--csv", "--md", "--xml"])
def test_programs_get_twenty_in_every_format(
    flag: str, words: tuple[str, ...], daemon: FakeDaemon, gnoctl: Gnoctl
) -> None:
    outcome = gnoctl(*words, flag)
    assert (outcome.status, outcome.err) == (0, "")
    assert "a1b2c3d4" in outcome.out
    assert [params.limit for _, params in daemon.calls if isinstance(params, FilterParams)] == [20]


def test_nothing_found_says_what_may_be_the_reason(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["search.vector"] = samples.found(mode="vector")
    daemon.answers["search.similar"] = samples.found(mode="similar")
    daemon.answers["search.query"] = samples.found(mode="hybrid")
    for command in ("vsearch", "query"):
        assert gnoctl(command, "x", "y") == (1, "", "No results for x y\n")
    assert gnoctl("similar", "notes/a.md") == (1, "", "No documents are similar to notes/a.md\n")
    assert gnoctl("vsearch", "x", "--min-score", "0.9").err == (
        "No results for x\nDocuments with a score below 0.9 are left out (--min-score)\n"
    )
    waiting = Freshness(current=False, state="1 chunk has no vector yet", unembedded=1)
    daemon.answers["search.vector"] = samples.found(mode="vector", freshness=waiting)
    assert gnoctl("vsearch", "x", "--min-score", "0.9").err == ("No results for x\n1 chunk has no vector yet\n")
