"""The plain search, which does not use msgspec, prints the same as the command."""

from __future__ import annotations

import pytest
from msgspec import structs

from gnoctl import plain_search
from gnod.errors import QuerySyntaxError, Unavailable
from gnod.protocol.base import Copy, Correction, Freshness, Location
from gnod.protocol.collections import CollectionListResult
from gnod.protocol.search import Definition, FacetCount, HitPassage, SearchLexicalParams, SearchResult
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import collection, found, hit


@pytest.mark.parametrize(
    "line",
    [
        *("", "search", "status", "search --help", "search x --fresh", "search -n", "search x -n 1e3"),
        *("query x", "search -x", "--index other search x"),
    ],
)
def test_what_is_not_plain_is_left_to_the_commands(line: str) -> None:
    assert plain_search.parse(line.split()) is None


def test_a_plain_search_prints_what_the_command_prints(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    copy = Copy(uri="gno://docs/b.md", collection="docs", path="b.md", source="/d/b.md")
    method = Definition(name="run", kind="method", path=["Retry"], label="Retry.run", line=3, end_line=9)
    passage = HitPassage(line=3, end_line=4, snippet="deploy\u202e it", snippet_line=3, marks=[(0, 6)])
    hits = [
        hit(1, location=Location(page=2, label="p2"), also=[copy], also_left_out=3, context="notes of the team"),
        hit(2, definition=method, language="de", tags=["a"], score=1e-7),
        hit(3, passages=[passage, passage], explain={"bm25": 1.25, "window": 0.1}),
        hit(4, text="the whole\x9b document\n", snippet=""),
    ]
    answer = structs.replace(
        found(*hits, freshness=Freshness(current=False, state="syncing: 2 files are not indexed yet", pending=2)),
        corrections=[Correction(written="depoly", searched="deploy")],
        hints=["a hint"],
        notes=["left out"],
        facets={"tag": [FacetCount("work", 3)]},
        explain={"stages": [{"stage": "fts", "ran": True, "ms": 1.5}]},
    )
    daemon.answers["search.lexical"] = answer
    for options in ((), ("--json",), ("-c", "notes,docs", "-n", "3"), ("-c", "notes", "-c", "docs", "--limit=3")):
        assert plain_search.parse(["search", "deploy", *options])
        assert gnoctl("search", "deploy", *options) == gnoctl("search", "deploy", *options, "--quiet")
    expected = SearchLexicalParams("deploy", collections=["notes", "docs"], limit=3)
    assert [params for _, params in daemon.calls[-4:]] == [expected] * 4


@pytest.mark.parametrize("answer", [found(), Unavailable("the disk is full")])
def test_nothing_found_and_errors_are_left_to_the_command(
    answer: SearchResult | Unavailable, daemon: FakeDaemon, gnoctl: Gnoctl
) -> None:
    daemon.answers |= {"search.lexical": answer, "collection.list": CollectionListResult(collections=[collection()])}
    plain = gnoctl("search", "deploy")
    assert plain == gnoctl("search", "deploy", "--no-color")
    assert plain.err


def test_a_query_that_cannot_be_read_is_asked_once(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    daemon.answers["search.lexical"] = QuerySyntaxError("the quote is not closed", {"column": 3})
    for options in ((), ("--json",)):
        daemon.calls.clear()
        plain = gnoctl("search", 'a "b', *options)
        assert [method for method, _ in daemon.calls] == ["search.lexical"]
        assert plain == gnoctl("search", 'a "b', *options, "--quiet")
        assert "the quote is not closed" in plain.err + plain.out


@pytest.mark.parametrize("index", ["../x", "a/b", " "])
def test_a_name_that_no_index_has_is_refused(index: str, monkeypatch: pytest.MonkeyPatch, gnoctl: Gnoctl) -> None:
    monkeypatch.setenv("GNO_INDEX", index)
    assert "is not valid" in gnoctl("search", "deploy").err
