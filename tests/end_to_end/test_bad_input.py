"""Bad input: one clear sentence, the right exit status, and nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine import Machine

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search", 'say "hello'], "quotation mark is not closed"),
        (["search", "--", "-only"], "only excludes words"),
        (["search", ""], "the query has no words"),
        (["search", "zebra", "-c", "nowhere"], "no collection 'nowhere'"),
        (["search", "zebra", "--since", "soon"], "is not a date"),
        (["search", "zebra", "--since", "2026-01-02", "--until", "2026-01-01"], "is after until 2026-01-01: swap"),
        (["search", "zebra", "--since", "1d", "--until", "7d"], "is after until 7d: swap"),
        (["get", "notes/nowhere.md"], "no document"),
        (["get", "/etc/passwd"], "is not in the folder of a collection"),
        (["collection", "add", "/nowhere/at/all"], "does not exist"),
        (["collection", "add", "{notes}", "--name", "Bad Name"], "not valid"),
        (["collection", "add", "{notes}", "--name", "notes"], "notes"),
        (["collection", "remove", "nowhere"], "no collection 'nowhere'"),
        (["collection", "rename", "notes", "Bad Name"], "not valid"),
        (["context", "add", "nonsense scope", "text"], "scope"),
        (["index", "nowhere"], "no collection 'nowhere'"),
    ],
)
def test_validation_errors(busy: Machine, arguments: list[str], sentence: str) -> None:
    arguments = [argument.replace("{notes}", str(busy.notes)) for argument in arguments]
    done = busy.run(*arguments)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert busy.paths("deploy") == ["deploy.md"]


def test_a_config_with_errors_names_them_all(machine: Machine) -> None:
    machine.config.parent.mkdir()
    faulty = "collections:\n  - name: Bad Name\n    path: 3\ncontext: []\ningest:\n  timeout_s: soon\n"
    machine.config.write_text(faulty)
    done = machine.run("search", "x")
    assert done.returncode == 2
    for fault in ("index.yml:2", "index.yml:3", "index.yml:6"):
        assert fault in done.stderr
    assert machine.config.read_text() == faulty


def test_folders_that_cannot_be_written(machine: Machine) -> None:
    Path(machine.folder / "data").write_text("a file where the folder should be")
    done = machine.run("status")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(machine.folder / "data") in done.stderr
