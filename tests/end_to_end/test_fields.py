"""Fields, order and facets through the daemon and `gnoctl`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.machine import Machine, temporary_machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NOTES = {
    "work__deploy_md": "---\ntags: [work, ops]\nstatus: open\nyear: 2021\nauthor: Ada\n---\n# Deploy\n\nFrom blue.",
    "work__plan_md": "---\ntags: work\nstatus: done\nyear: 2023\n---\n# Plan\n\nFrom blue to green, and some more.",
    "garden_md": "---\ntags: home\nyear: 2019\nstatus: open\n---\n# Garden\n\nGreen and blue flowers: see std::vector.",
}


@pytest.fixture(scope="module")
def notes() -> Iterator[Machine]:
    with temporary_machine() as machine:
        machine.write(**NOTES)
        machine.ok("init", str(machine.notes))
        machine.ok("update")
        yield machine


def paths(result: dict[str, Any]) -> list[str]:
    return [hit["path"] for hit in result["hits"]]


@pytest.mark.parametrize("command", ["search", "query"])
def test_fields_narrow_each_search(notes: Machine, command: str) -> None:
    assert set(paths(notes.json(command, "blue"))) == {"work/deploy.md", "work/plan.md", "garden.md"}
    assert paths(notes.json(command, "blue tag:work -status:done")) == ["work/deploy.md"]
    assert paths(notes.json(command, "blue year:2020..2022")) == ["work/deploy.md"]
    assert paths(notes.json(command, "title:garden")) == ["garden.md"]
    assert paths(notes.json(command, "std::vector")) == ["garden.md"]


def test_only_words_are_corrected(notes: Machine) -> None:
    result = notes.json("search", "flwers tag:home -status:opne")
    assert (paths(result), [each["searched"] for each in result["corrections"]]) == (["garden.md"], ["flowers"])
    assert paths(notes.json("search", "flow* status:open")) == ["garden.md"]


def test_fields_alone_list_documents(notes: Machine) -> None:
    for command in ("search", "query", "vsearch"):
        result = notes.json(command, "status:open", "-n", "1")
        assert (result["mode"], result["total"], len(result["hits"])) == ("list", 2, 1)
    assert notes.json("search", "blue -tag:home", "--explain")["explain"]["fields"] == ["-tag:home"]
    assert "2 of 2 documents" in notes.ok("search", "status:open")
    assert "1 of 1 document" in notes.ok("search", "tag:work -green")


def test_questions_take_fields_too(notes: Machine) -> None:
    packet = notes.json("evidence", "what is blue path:/work status:open")
    assert {each["path"] for each in packet["passages"]} == {"work/deploy.md"}
    answer = notes.json("ask", "what is blue status:done")
    assert {quote["path"] for quote in answer["quotes"]} == {"work/plan.md"}
    failed = notes.run("ask", "status:done")
    assert (failed.returncode, "the question is empty: add some words" in failed.stderr) == (2, True)


def test_results_are_sorted_and_counted(notes: Machine) -> None:
    assert paths(notes.json("search", "blue", "--sort", "year")) == ["garden.md", "work/deploy.md", "work/plan.md"]
    assert paths(notes.json("search", "blue", "--sort", "-year", "-n", "2")) == ["work/plan.md", "work/deploy.md"]
    assert paths(notes.json("query", "blue", "--sort=title")) == ["work/deploy.md", "garden.md", "work/plan.md"]
    assert paths(notes.json("search", "has:year", "--sort=-year"))[0] == "work/plan.md"
    result = notes.json("search", "green", "--facets", "tag,status", "-n", "1")
    assert result["facets"]["tag"] == [{"value": "home", "count": 1}, {"value": "work", "count": 1}]
    assert "status: open 2, done 1" in notes.ok("query", "blue", "--facets", "status")


def test_fields_as_rows(notes: Machine) -> None:
    asked = ("has:year", "--columns", "title,year,status", "--sort", "-year", "-n", "2")
    for command in ("search", "query", "vsearch"):
        result = notes.json(command, *asked)
        assert [row["values"] for row in result["rows"]] == [
            {"title": "Plan", "year": 2023, "status": "done"},
            {"title": "Deploy", "year": 2021, "status": "open"},
        ]
        assert (result["hits"], result["total"]) == ([], 3)
    (last,) = notes.json("search", *asked, "--offset", "2")["rows"]
    assert (last["uri"], last["values"]["year"]) == ("gno://notes/garden.md", 2019)
    assert [row["values"] for row in notes.json("query", "green flowers", "--columns", "author")["rows"]][:1] == [{}]
    assert notes.ok("search", *asked, "--csv").splitlines() == [
        "title,year,status",
        "Plan,2023,done",
        "Deploy,2021,open",
    ]
    shown = notes.run("search", *asked)
    assert shown.stdout.splitlines()[:3] == ["title   year  status", "Plan    2023  done", "Deploy  2021  open"]
    assert "1 more: --offset 2" in shown.stderr
    sorted_pages = (notes.json("query", "blue", "--sort", "-title", "-n1", "--offset", str(n)) for n in range(3))
    assert {(hit["rank"], hit["path"]) for page in sorted_pages for hit in page["hits"]} == {
        (hit["rank"], hit["path"]) for hit in notes.json("query", "blue")["hits"]
    }
    beyond = notes.run("search", *asked, "--offset", "3")
    assert (beyond.returncode, "All 3 documents are before --offset 3" in beyond.stderr) == (1, True)
    wrong = notes.run("search", *asked, "--paths")
    assert "--columns cannot be used with --paths: choose --csv or --json" in wrong.stderr


@pytest.mark.parametrize("method", ["search.lexical", "search.query"])
def test_a_filter_leaves_the_counts_of_its_own_field(notes: Machine, method: str) -> None:
    chosen = {"status": ["open"], "folder": ["notes/work"]}
    result = notes.call(
        method, query="blue", fields=chosen, collections=["notes"], facets=["folder", "collection", "*"]
    )
    assert paths(result) == ["work/deploy.md"]
    counts = {name: {each["value"]: each["count"] for each in found} for name, found in result["facets"].items()}
    assert counts == {
        "folder": {"notes": 2, "notes/work": 1},
        "collection": {"notes": 1},
        "status": {"open": 1, "done": 1},
        "year": {"2021": 1},
    }
    few = notes.call(method, query="blue", facets=["*"], facet_values=1)["facets"]
    assert {name: len(found) for name, found in few.items()} == {"status": 1, "year": 1}


def test_chosen_fields_are_saved_with_a_search(notes: Machine) -> None:
    saved = notes.call("search.save", name="done", query="blue", fields={"folder": ["notes/work"], "status": ["done"]})
    assert saved["search"]["query"] == 'blue folder:"notes/work" status:done'
    assert paths(notes.call("search.lexical", query="@done")) == ["work/plan.md"]
    notes.call("search.remove", name="done")
    refused = notes.answer("search.save", name="none", query="blue", fields={"made by": ["ada"]})
    assert "cannot name the field 'made by'" in refused["error"]["message"]


def test_saved_searches(notes: Machine) -> None:
    assert "No search is saved yet" in notes.run("saved", "list").stderr
    assert notes.ok("saved", "add", "todo", "tag:work -status:done").strip() == "@todo  tag:work -status:done"
    notes.ok(
        "saved", "add", "green", "green", "--tag", "home", "--path", "gar", "--since", "2000-01-01", "--author", ""
    )
    assert paths(notes.json("search", "@todo")) == ["work/deploy.md"]
    assert paths(notes.json("query", "@todo", "blue")) == ["work/deploy.md"]
    assert paths(notes.json("search", "@green")) == ["garden.md"]
    assert paths(notes.json("search", "@green tag:work")) == []
    assert "quotes" in notes.json("ask", "@green which flowers are there")
    listed = {each["name"]: each["query"] for each in notes.json("saved", "list")["searches"]}
    assert listed == {
        "todo": "tag:work -status:done",
        "green": 'green tag:home path:"/gar" after:2000-01-01',
    }
    notes.ok("saved", "add", "todo", "status:open")
    assert len(paths(notes.json("search", "@todo"))) == 2
    assert "did you mean @todo?" in notes.run("search", "@tood", "blue").stdout
    assert "searches:" in notes.config.read_text()
    notes.ok("saved", "remove", "@todo")
    assert paths(notes.json("search", "@todo green")) == paths(notes.json("search", "todo green"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "No Name", "x"), "not a valid name"),
        (("add", "x", "size:abc"), "not a size"),
        (("add", "x", " "), "no words"),
        (("remove", "nothing"), "there is no saved search 'nothing'"),
    ],
)
def test_what_cannot_be_saved(notes: Machine, arguments: tuple[str, ...], message: str) -> None:
    failed = notes.run("saved", *arguments)
    assert (failed.returncode, message in failed.stderr) == (2, True), failed.stderr
