"""The first run in a terminal, and the daemon's preview of a folder before it is added."""

from __future__ import annotations

import sys

import pytest

from tests.machine import Machine
from tests.terminal import Terminal

pytestmark = pytest.mark.slow


@pytest.fixture
def machine(emptied: Machine) -> Machine:
    emptied.write(**{"a_md": "heron\n", "old notes__b_md": "heron\n", ".hidden__c_md": "heron\n"})
    (emptied.notes / "film.mp4").write_bytes(b"\0\0\0\x18ftypmp42")
    return emptied


def init(machine: Machine, *arguments: str) -> Terminal:
    command = [sys.executable, "-m", "gnoctl", "init", "--preset", "none", *arguments]
    return Terminal(command, machine.environment | {"TERM": "dumb", "COLUMNS": "200"})


def test_it_asks_for_a_folder_and_its_name_and_ends_with_things_to_try(machine: Machine) -> None:
    with init(machine) as terminal:
        terminal.read_until(lambda shown: "Which folder do you want to search? " in shown)
        terminal.type_line(str(machine.folder / "nowhere"))
        terminal.read_until(lambda shown: shown.count("Which folder") == 1)
        assert f"the folder {machine.folder}/nowhere does not exist" in terminal.shown
        terminal.type_line(f"{machine.notes}/")
        terminal.read_until(lambda shown: "Name of the collection [notes]: " in shown)
        assert f"{machine.notes} has 2 files to read: Markdown 2" in terminal.shown
        assert "not read: video 1" in terminal.shown
        terminal.type_line("birds")
        assert terminal.finish() == 0
    assert "added birds: " in terminal.shown
    assert [line.split()[1] for line in terminal.shown.splitlines()[-3:]] == ["search", "ask", "web"]
    assert machine.call("collection.list")["collections"][0]["name"] == "birds"


def test_the_name_that_is_proposed_is_free_and_an_empty_answer_adds_nothing(machine: Machine) -> None:
    machine.ok("init", str(machine.folder), "--name", "notes")
    with init(machine) as terminal:
        terminal.read_until(lambda shown: "Which folder" in shown)
        terminal.type_line(str(machine.notes))
        terminal.read_until(lambda shown: "[notes-2]: " in shown)
        assert "already in the index, whole or in part: notes" in terminal.shown
        terminal.type_line("")
        assert terminal.finish() == 0
    assert "added notes-2: " in terminal.shown
    with init(machine) as terminal:
        terminal.read_until(lambda shown: "Which folder" in shown)
        terminal.type_line("")
        assert terminal.finish() == 0
    assert "next: `gnoctl collection add FOLDER`" in terminal.shown
    assert len(machine.call("collection.list")["collections"]) == 2


def test_without_a_terminal_nothing_is_asked(machine: Machine) -> None:
    assert machine.ok("init").endswith("next: `gnoctl collection add FOLDER`\n")
    assert "to try" not in machine.ok("init", str(machine.notes))


def test_folders_to_choose_from(machine: Machine) -> None:
    machine.ok("init")
    found = machine.call("collection.folders", path=str(machine.notes))
    assert found == {"path": str(machine.notes), "folders": ["old notes"], "has_more": False}
    assert "notes" in machine.call("collection.folders")["folders"]  # the home folder
    for method in ("collection.folders", "collection.preview"):
        for path, kind in (("nowhere", "folder_not_found"), ("notes/a.md", "folder_unreadable")):
            error = machine.answer(method, path=str(machine.folder / path))["error"]
            assert error["data"]["kind"] == kind
    (machine.folder / "Übung").mkdir()
    (machine.folder / "ノート").mkdir()
    assert machine.call("collection.preview", path=str(machine.folder / "Übung"))["name"] == "ubung"
    assert machine.call("collection.preview", path=str(machine.folder / "ノート"))["name"] == ""
