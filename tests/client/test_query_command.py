"""`gnoctl query` against the fake daemon: its requests, and the output of the stages."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnoctl.printing.hits import render
from gnoctl.printing.terminal import Terminal
from gnoctl.printing.text import is_safe
from gnod.protocol.search import SearchQueryParams, SearchResult, SearchVectorParams
from tests.client import samples
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import SGR, few, hostile_text

STAGES: list[dict[str, object]] = [
    {"stage": "bm25", "ran": True, "ms": 1.25, "matches": [12]},
    {"stage": "embed", "ran": True, "ms": 7.0, "models": ["hf:a/b/c.gguf"], "texts": 1},
    {"stage": "expand", "ran": False, "ms": 0.01, "why": "turned off"},
    {"stage": "fuse", "ran": True, "ms": 0.5, "method": "convex", "documents": 40, "vector_share": 0.4375},
    {"stage": "rerank", "ran": True, "ms": 812.5, "why": "the time was enough for 8 of 20 documents", "documents": 8},
]


@pytest.fixture(autouse=True)
def answering(daemon: FakeDaemon) -> None:
    daemon.answers["search.query"] = samples.found(samples.hit(), mode="hybrid")


def explained(stages: object, **more: object) -> SearchResult:
    return msgspec.structs.replace(samples.found(samples.hit(), mode="hybrid"), explain={"stages": stages, **more})


def test_by_default_everything_is_done(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    gnoctl("query", "blue", "green")
    asked = daemon.asked(SearchQueryParams)
    assert asked == SearchQueryParams(query="blue green", limit=5, progress_token=1, loose=False)
    assert (asked.expand, asked.rerank, asked.floor, asked.fusion) == (True, True, True, "convex")
    assert (asked.candidates, asked.budget_s) == (20, 2.0)


@pytest.mark.parametrize(
    ("command", "method", "kind"),
    [("query", "search.query", SearchQueryParams), ("vsearch", "search.vector", SearchVectorParams)],
)
def test_documents_that_are_only_loosely_similar_are_counted_and_shown_on_request(
    command: str,
    method: str,
    kind: type[SearchQueryParams | SearchVectorParams],
    daemon: FakeDaemon,
    gnoctl: Gnoctl,
) -> None:
    daemon.answers[method] = msgspec.structs.replace(samples.found(samples.hit()), loose=29)
    assert "29 documents are only loosely similar (--loose)" in gnoctl(command, "wombat").out
    assert "29 documents are only loosely similar (--loose)" in gnoctl(command, "wombat", "--paths").err
    daemon.answers[method] = msgspec.structs.replace(samples.found(), loose=1)
    assert "No results for wombat: 1 document is only loosely similar (--loose)" in gnoctl(command, "wombat").err
    gnoctl(command, "wombat", "--loose")
    gnoctl(command, "wombat", "--json")
    asked = [params.loose for _, params in daemon.calls if isinstance(params, kind)]
    assert asked[-2:] == [True, True]
    assert not any(asked[:-2])


def test_an_unknown_fusion_method_is_refused(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    refused = gnoctl("query", "x", "--fusion", "median")
    assert refused.status == 2
    assert "--fusion must be convex or rrf, not 'median'" in refused.err


def test_every_option_reaches_the_daemon(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    options = "--no-expand --no-rerank --no-floor --candidates 40 --fusion rrf --budget 0.5 -n 7 --min-score 0.5 --full"
    gnoctl("query", "x", *options.split(), *samples.FILTERS)
    switches: dict[str, Any] = {"full": True, **dict.fromkeys(("expand", "rerank", "floor", "loose"), False)}
    values: dict[str, Any] = {"candidates": 40, "fusion": "rrf", "budget_s": 0.5, "limit": 7, "min_score": 0.5}
    expected = SearchQueryParams(query="x", progress_token=1, **switches, **values, **samples.FILTERED)
    assert daemon.asked(SearchQueryParams) == expected


def test_a_structured_query_arrives_line_by_line(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    gnoctl("query", "lex: crane\nvec: who lifts")
    assert daemon.asked(SearchQueryParams).query == "lex: crane\nvec: who lifts"


def test_each_stage_is_one_line(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["search.query"] = explained(STAGES)
    assert json.loads(gnoctl("query", "deploy", "--explain", "--json").out)["explain"]["stages"] == STAGES
    assert gnoctl("query", "deploy", "--explain").out.splitlines()[6:] == [
        "bm25               1.2 ms  matches 12",
        "embed              7.0 ms  models hf:a/b/c.gguf · texts 1",
        "expand                  –  turned off",
        "fuse               0.5 ms  method convex · documents 40 · vector_share 0.4375",
        "rerank           812.5 ms  the time was enough for 8 of 20 documents · documents 8",
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | hostile_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile_text, inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["stage", "ran", "ms", "why"]) | hostile_text
hostile_stages = st.lists(st.dictionaries(names, anything, max_size=5), max_size=4)


@pytest.mark.slow
@few
@given(hostile_stages, st.dictionaries(hostile_text, anything, max_size=2), st.booleans())
def test_what_a_document_or_a_model_says_cannot_reach_the_terminal(
    stages: list[dict[str, object]], more: dict[str, object], colour: bool
) -> None:
    more.pop("stages", None)
    plain = list(render(samples.found(samples.hit(), mode="hybrid"), Terminal()))
    drawn = list(render(explained(stages, **more), Terminal(colour=colour)))
    for line in drawn:
        bare = SGR.sub("", line) if colour else line
        assert is_safe(bare)
        assert "\n" not in bare
    if not more:
        assert len(drawn) == len(plain) + len(stages), "one line a stage"
