"""A daemon with its own folders also searches a collection on a server: all methods, and an unreachable server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.machine import Machine, wait_until
from tests.shared.milvus_server import MilvusServer
from tests.shared.proxy import SwallowingProxy

pytestmark = pytest.mark.slow

HANDBOOK = {
    "leave/parental.md": "---\ntags: [people]\n---\n# Parental leave\n\nParental leave is paid for fourteen weeks.\n",
    "leave/holidays.md": "# Holidays\n\nEverybody has thirty days of paid holiday a year.\n",
    "travel.md": "# Travel\n\nExpenses of a journey are refunded within ten days. Xylophones are not.\n",
    **{f"rooms/{n}.md": f"# Room {n}\n\nThe meeting room {n} has a screen.\n" for n in range(40)},
}


@pytest.fixture(scope="module")
def publisher(milvus: MilvusServer) -> Iterator[Machine]:
    """Yield another person's machine, which publishes a handbook."""
    with Machine.in_temporary_folder() as machine:
        for path, text in HANDBOOK.items():
            (machine.notes / path).parent.mkdir(parents=True, exist_ok=True)
            (machine.notes / path).write_text(text)
        machine.ok("init", str(machine.notes), "--name", "handbook")
        machine.ok("collection", "publish", "handbook", "--to", str(milvus.address("handbook")), "--yes")
        yield machine


@pytest.fixture(scope="module")
def handbook(publisher: Machine, milvus: MilvusServer) -> str:
    """Return the address of a published collection."""
    assert publisher
    return str(milvus.address("handbook"))


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine.in_temporary_folder() as machine:
        machine.write(mine_md="# My leave\n\nI want parental leave in May.\n", other_md="# Bread\n\nRye and water.\n")
        machine.ok("init", str(machine.notes))
        yield machine


def test_shared_documents_are_searched_with_local_folders(machine: Machine, handbook: str) -> None:
    printed = machine.ok("collection", "attach", handbook, "--yes")
    assert "sends its words and vector to" in printed
    wait_until_searched(machine)
    for method in ("search.lexical", "search.query"):
        found = machine.call(method, query="parental leave")
        assert {each["uri"] for each in found["hits"][:2]} == {
            "gno://notes/mine.md",
            "gno://handbook/leave/parental.md",
        }, method
        assert "notes" not in found or found["notes"] == []
        assert [each["rank"] for each in found["hits"]] == list(range(1, len(found["hits"]) + 1))
    only = machine.call("search.lexical", query="parental", collections=["handbook"])
    assert [each["path"] for each in only["hits"]] == ["leave/parental.md"]
    assert "fourteen weeks" in only["hits"][0]["snippet"]
    # No document on this machine has the word, but it must not count as a spelling error.
    (found,) = machine.call("search.query", query="xylophones")["hits"]
    assert found["uri"] == "gno://handbook/travel.md"
    tagged = machine.call("search.lexical", query="leave", tags_all=["people"])
    assert [each["uri"] for each in tagged["hits"]] == ["gno://handbook/leave/parental.md"]
    best = machine.call("search.lexical", query="room screen")["hits"][0]
    assert best["uri"].startswith("gno://handbook/rooms/")
    counted = machine.call("search.lexical", query="parental", facets=["collection"])["facets"]["collection"]
    assert {each["value"]: each["count"] for each in counted} == {"handbook": 1, "notes": 1}
    machine.ok("context", "add", "handbook:", "What people work by")
    hit = machine.call("search.lexical", query="holiday")["hits"][0]
    assert (hit["path"], hit["context"]) == ("leave/holidays.md", "What people work by")


def test_shared_documents_answer_questions_and_can_be_read(machine: Machine, handbook: str) -> None:
    answered = machine.call("ask.answer", question="How long is parental leave paid?")
    assert answered["quotes"][0]["uri"] == "gno://handbook/leave/parental.md"
    gathered = machine.call("evidence.gather", question="How long is parental leave paid?")
    assert "fourteen weeks" in gathered["passages"][0]["text"]
    got = machine.call("document.get", ref="gno://handbook/travel.md:3")
    assert got["text"].startswith("Expenses")
    assert got["stale"] is False
    assert machine.call("document.get", ref="handbook/leave/holidays.md")["title"] == "Holidays"
    several = machine.call("document.multi_get", refs=["gno://handbook/travel.md", "notes/mine.md", "handbook/no.md"])
    assert {each["uri"] for each in several["documents"]} == {"gno://handbook/travel.md", "gno://notes/mine.md"}
    assert "no document" in several["skipped"][0]["reason"]
    listed = machine.call("document.list", scope="handbook/leave")
    assert [each["path"] for each in listed["documents"]] == ["leave/holidays.md", "leave/parental.md"]
    assert "no document" in machine.run("get", "gno://handbook/nothing.md").stderr
    assert "is in a shared collection" in machine.run("open", "gno://handbook/travel.md").stderr
    assert "travel.md" in machine.ok("ls", "handbook")
    assert machine.run("similar", "gno://handbook/travel.md").returncode != 0


def test_status_shows_the_age_of_the_collection(machine: Machine, handbook: str) -> None:
    (attached,) = machine.call("index.status")["attached"]
    assert (attached["name"], attached["documents"], attached["behind"]) == ("handbook", len(HANDBOOK), 0)
    assert "s ago, nothing is missing" in machine.ok("status")
    assert handbook in machine.ok("collection", "list")
    assert "attached collection handbook" in machine.run("doctor").stdout
    assert "already a collection" in machine.run("collection", "attach", handbook, "--yes").stderr


def test_an_edit_of_the_publisher_is_found(machine: Machine, publisher: Machine, handbook: str) -> None:
    assert handbook
    (publisher.notes / "travel.md").write_text("# Travel\n\nZeppelins are refunded.\n")
    wait_until(lambda: [each["path"] for each in machine.call("search.lexical", query="zeppelins")["hits"]])
    assert "Zeppelins" in machine.call("document.get", ref="gno://handbook/travel.md")["text"]
    assert machine.call("search.lexical", query="xylophones")["hits"] == []
    (publisher.notes / "travel.md").unlink()
    wait_until(lambda: not machine.call("search.lexical", query="zeppelins")["hits"])
    assert machine.run("get", "gno://handbook/travel.md").returncode != 0


def test_a_server_that_never_answers_costs_one_budget(machine: Machine, handbook: str) -> None:
    with SwallowingProxy(handbook) as proxy:
        machine.ok("collection", "attach", proxy.address, "--name", "far", "--yes")
        wait_until_searched(machine, "far")
        proxy.swallow()
        found = machine.call("search.lexical", query="rye")
        assert [each["uri"] for each in found["hits"]] == ["gno://notes/other.md"]
        assert found["notes"][0].startswith("far did not answer: no answer within"), (
            "the budget, not the connection's time"
        )
        found = machine.call("search.query", query="rye")
        assert found["notes"][0].startswith("far did not answer")
        assert "not searched" in machine.ok("status")
        assert "does not answer" in machine.run("get", "gno://far/travel.md").stderr
    machine.ok("collection", "detach", "far")
    wait_until(lambda: not list((machine.folder / "data").glob("*far*")))


def wait_until_searched(machine: Machine, name: str = "handbook") -> None:
    def is_searched() -> bool:
        known: dict[str, Any] = {each["name"]: each for each in machine.call("index.status")["attached"]}
        return name in known and not known[name].get("problem")

    wait_until(is_searched)
