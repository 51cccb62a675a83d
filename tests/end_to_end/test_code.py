"""Source code through the daemon and `gnoctl`: definitions of hits, `symbol:`, and files that only look like code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.machine import Machine, temporary_machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NET = '''"""Calls that may fail."""


class Retry:
    """Growing pauses."""

    def run(self, attempts):
        # The zebra of all loops.
        for attempt in range(attempts):
            self.pause(attempt)


def retry_with_backoff(action):
    return Retry().run(action)
'''
FILES = {
    "net.py": NET,
    "main.go": "package main\n\nfunc backoff() {\n}\n",
    "use.py": "from net import retry_with_backoff\n\nretry_with_backoff(print)  # backoff\n",
    "notes.md": "# Pauses\n\nThe function retry_with_backoff waits: a backoff.\n",
    "bundle.js": "function backoffMinified(){return 1};" * 400,
    "broken.py": "((( def ]]] backoff } { giraffe ===> \n" * 20,
}


@pytest.fixture(scope="module")
def code() -> Iterator[Machine]:
    with temporary_machine() as machine:
        for name, text in FILES.items():
            (machine.notes / name).write_text(text)
        machine.ok("init", str(machine.notes))
        machine.ok("update")
        yield machine


def shown(result: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(hit["path"], (hit["definition"] or {}).get("label")) for hit in result["hits"]]


def test_a_hit_names_the_definition_that_it_is_in(code: Machine) -> None:
    (hit,) = code.json("search", "zebra")["hits"]
    assert hit["line"] == 8
    assert hit["definition"] == {
        "name": "run",
        "kind": "method",
        "path": ["Retry"],
        "label": "Retry.run",
        "line": 7,
        "end_line": 10,
    }
    assert "net.py:8 in Retry.run" in code.ok("search", "zebra")


@pytest.mark.parametrize("command", ["search", "query"])
def test_definitions_come_before_uses(code: Machine, command: str) -> None:
    found = shown(code.json(command, "symbol:Backoff"))
    assert found[:2] == [("main.go", "backoff"), ("net.py", "retry_with_backoff")]
    assert {path for path, _ in found[2:]} == {"use.py", "notes.md", "broken.py", "bundle.js"}


def test_a_name_with_what_it_is_in(code: Machine) -> None:
    assert shown(code.json("search", "symbol:Retry.run"))[0] == ("net.py", "Retry.run")
    assert code.run("search", "symbol:").returncode == 1
    assert "has no name to search for" in code.run("search", "symbol:*").stderr


def test_what_people_did_not_write_defines_nothing(code: Machine) -> None:
    assert shown(code.json("search", "backoffMinified")) == [("bundle.js", None)]
    assert shown(code.json("search", "giraffe")) == [("broken.py", None)]
    assert {path for path, _ in shown(code.json("search", "has:symbol"))} == {"net.py", "main.go"}
