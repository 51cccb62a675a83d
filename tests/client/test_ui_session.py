"""What the terminal UI searches, and when: sessions without a screen, with a daemon that answers on request."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from gnoctl.ui import session as sessions
from gnoctl.ui.keys import KEYS, key_line
from gnoctl.ui.narrowing import FilterChoice, Narrowing
from gnoctl.ui.session import UiSession
from gnod.errors import QuerySyntaxError
from gnod.protocol.search import Hit, SearchResult
from tests.client.samples import found, hit
from tests.waiting import until


class Daemon:
    """Answers by method; records requests and cancelled requests. While `held`, it does not answer."""

    def __init__(self) -> None:
        self.answers: dict[str, SearchResult | Exception] = {}
        self.asked: list[tuple[str, Any]] = []
        self.cancelled: list[str] = []
        self.free = asyncio.Event()
        self.free.set()

    async def call(self, method: str, params: Any, result_type: Any) -> Any:  # noqa: ARG002
        self.asked.append((method, params))
        try:
            await self.free.wait()
        except asyncio.CancelledError:
            self.cancelled.append(params.query)
            raise
        answer = self.answers.get(method, found())
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]


class Shown(list[tuple[str, ...]]):
    """The titles of the hits, each time they are shown."""

    def __init__(self) -> None:
        self.daemon = Daemon()
        self.session = UiSession(self.daemon, self.take)

    def take(self) -> None:
        result = self.session.result
        self.append(tuple(each.title for each in result.hits) if result else ())


def titled(*titles: str, **more: Any) -> SearchResult:
    return found(*(_hit(title) for title in titles), **more)


def _hit(title: str) -> Hit:
    return hit(title=title, docid=f"#{title}")


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PAUSE_S", 0.01)
    monkeypatch.setattr(sessions, "QUIET_S", 0.01)


@pytest.fixture
def shown() -> Shown:
    return Shown()


async def test_keyword_results_come_at_once_and_those_of_models_after_a_pause(shown: Shown) -> None:
    shown.session.has_models = True
    shown.daemon.answers = {"search.lexical": titled("words"), "search.query": titled("meaning", mode="hybrid")}
    shown.session.search_for("boat")
    await until(lambda: len(shown) == 2)
    assert shown == [("words",), ("meaning",)]
    lexical, hybrid = shown.daemon.asked
    assert (lexical[0], lexical[1].prefix_last_term, hybrid[0]) == ("search.lexical", True, "search.query")


async def test_hybrid_search_that_finds_nothing_for_half_a_word_leaves_the_results(shown: Shown) -> None:
    shown.session.has_models = True
    shown.daemon.answers = {"search.lexical": titled("words"), "search.query": found(mode="hybrid")}
    shown.session.search_for("bo")
    await until(lambda: shown.daemon.methods == ["search.lexical", "search.query"] and not shown.session.is_searching)
    assert shown == [("words",)]


async def test_loosely_similar_documents_come_on_request_and_last(shown: Shown) -> None:
    shown.session.has_models = True
    far, near = hit(title="far", docid="#far", loose=True), _hit("near")
    shown.daemon.answers = {"search.lexical": titled(), "search.query": found(far, near, mode="hybrid")}
    shown.session.search_for("boat")
    await until(lambda: len(shown) == 2)
    shown.session.toggle_loose()
    await until(lambda: len(shown) == 4)
    assert shown[-1] == ("near", "far")
    assert [params.loose for method, params in shown.daemon.asked if method == "search.query"] == [False, True]


async def test_results_of_another_query_are_late_after_half_a_second(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "LATE_S", 0.05)
    shown.daemon.answers["search.lexical"] = titled("one")
    shown.session.search_for("a")
    await until(lambda: shown == [("one",)])
    assert not shown.session.is_late
    shown.daemon.free.clear()
    for query in ("ab", "abc"):
        shown.session.search_for(query)
    await until(lambda: shown.session.is_late)
    assert shown == [("one",), ("one",)]
    shown.daemon.free.set()
    await until(lambda: len(shown) == 3)
    assert not shown.session.is_late


async def test_without_models_only_keywords_are_searched(shown: Shown) -> None:
    shown.session.search_for("boat")
    await until(lambda: not shown.session.is_searching)
    assert shown.daemon.methods == ["search.lexical"]


async def test_vector_search_keeps_the_results_until_it_has_its_own(shown: Shown) -> None:
    shown.daemon.answers = {"search.lexical": titled("words"), "search.vector": titled("meaning", mode="vector")}
    shown.session.search_for("boat")
    await until(lambda: shown)
    shown.session.use("vector")
    shown.session.search_for("boats")
    await until(lambda: len(shown) == 2)
    assert shown == [("words",), ("meaning",)]
    assert shown.daemon.methods == ["search.lexical", "search.vector"]


async def test_an_outdated_search_is_cancelled_and_never_shown(shown: Shown) -> None:
    shown.daemon.answers["search.lexical"] = titled("one")
    shown.daemon.free.clear()
    shown.session.search_for("a")
    await until(lambda: shown.daemon.asked)
    shown.session.search_for("ab")
    await until(lambda: len(shown.daemon.asked) == 2)
    shown.daemon.free.set()
    await until(lambda: not shown.session.is_searching)
    assert shown == [("one",)]
    assert shown.daemon.cancelled == ["a"]


async def test_a_faulty_query_leaves_the_results_and_says_why(shown: Shown) -> None:
    shown.daemon.answers["search.lexical"] = titled("one")
    shown.session.search_for("a")
    await until(lambda: shown)
    shown.daemon.answers["search.lexical"] = QuerySyntaxError("a quotation mark is not closed")
    shown.session.search_for('a "b')
    await until(lambda: shown.session.problem)
    assert shown[-1] == ("one",)
    assert shown.session.problem == "a quotation mark is not closed"


async def test_changes_during_a_search_are_searched_once_afterwards(shown: Shown) -> None:
    shown.daemon.free.clear()
    shown.session.search_for("a")
    await until(lambda: shown.daemon.asked)
    for _ in range(5):
        shown.session.again()
    shown.daemon.free.set()
    await until(lambda: not shown.session.is_searching)
    assert shown.daemon.methods == ["search.lexical"] * 2
    assert not shown.session.is_new


async def test_filters_alone_list_the_documents(shown: Shown) -> None:
    shown.session.has_models = True
    narrowing = Narrowing.to(collections=["notes"], tags=["tax"])
    for choice in (("ext", "md"), ("after", "1y"), ("after", "7d"), ("status", "open"), ("ext", "pdf")):
        narrowing = narrowing.toggled(FilterChoice(*choice))
    shown.session.narrow(narrowing)
    await until(lambda: shown)
    ((_, asked),) = shown.daemon.asked
    assert (asked.collections, asked.tags_all, asked.sort) == (["notes"], ["tax"], "-modified")
    assert asked.fields == {"ext": ["md", "pdf"], "after": ["7d"], "status": ["open"]}
    assert str(narrowing) == "notes · #tax · md, pdf · newer than 7 days · status: open"
    assert narrowing.toggled(FilterChoice("ext", "md")).params()["fields"] == {**asked.fields, "ext": ["pdf"]}


async def test_without_words_the_documents_that_changed_last_are_listed(shown: Shown) -> None:
    shown.daemon.answers["search.lexical"] = titled("new", "old", mode="list")
    shown.session.has_models = True
    shown.session.again()
    await until(lambda: shown == [("new", "old")])
    assert shown.session.is_blank
    assert shown.daemon.asked[0][1].sort == "-modified"


async def test_more_results_are_fetched_as_long_as_there_are_more(shown: Shown) -> None:
    shown.daemon.answers["search.lexical"] = titled(*map(str, range(20)))
    shown.session.search_for("a")
    await until(lambda: shown)
    shown.session.more()
    await until(lambda: len(shown) == 2)
    shown.session.more()  # the second answer was not full
    assert [params.limit for _, params in shown.daemon.asked] == [20, 80]


async def test_similar_documents_and_back(shown: Shown) -> None:
    shown.daemon.answers = {"search.similar": titled("like it", mode="similar"), "search.lexical": titled("words")}
    shown.session.query = "boat"
    shown.session.find_similar(_hit("it"))
    await until(lambda: shown == [("like it",)])
    shown.session.find_similar(None)
    await until(lambda: shown[-1] == ("words",))


def test_the_key_line_always_ends_with_the_help() -> None:
    for width in range(200):
        pairs = key_line(width, "open")
        assert pairs[-1] == ("F1", "help")
        assert len(pairs) == 1 or sum(len(key) + len(label) + 3 for key, label in pairs) - 2 <= width


def test_only_the_screen_imports_textual() -> None:
    script = (
        "import sys, gnoctl.commands.ui, gnoctl.ui.session, gnoctl.ui.connection, gnoctl.ui.linear, gnoctl.ui.keys\n"
        "sys.exit(bool({'textual', 'rich'} & {*sys.modules}))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_no_key_has_two_meanings() -> None:
    names = [name for key in KEYS for name in key.name.split(",")]
    assert len(names) == len(set(names))
