"""The types of memories."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.errors import InvalidName
from gnod.memory_types import DONE_PENALTY, MEMORY_TYPES, checked_type, is_done, type_named

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(
    ("given", "stored"), [("fact", "fact"), (" Fact ", "fact"), ("open_task_done", "open_task_done"), ("p0", "p0")]
)
def test_types(given: str, stored: str) -> None:
    assert checked_type(given) == stored


@pytest.mark.parametrize(
    "given", ["", "_done", "done_", "a__b", "0fact", "fact!", "two words", "x" * 41, "\ud800", "é"]
)
def test_invalid_types_are_refused(given: str) -> None:
    with pytest.raises(InvalidName, match="such as fact") as raised:
        checked_type(given)
    raised.value.message.encode()


def test_done() -> None:
    assert (type_named("decision_done").name, is_done("decision_done")) == ("decision", True)
    assert (type_named("done").name, is_done("done")) == ("done", False)


def test_the_documented_table_is_the_registry() -> None:
    def factor(value: float) -> str:
        return f"×{value:g}" if value != 1 else ""

    rows = [
        [f"`{known.name}`", known.description, factor(known.fusion_boost), factor(known.rerank_boost * known.penalty)]
        for known in MEMORY_TYPES
    ]
    rows.append(["any type with `_done`", "finished or superseded", "", f"{factor(DONE_PENALTY)} in addition"])
    _, _, table = (DOCS / "memory.md").read_text().partition("| type | for | as a candidate | final score |\n")
    lines = table.partition("\n\n")[0].splitlines()[1:]
    assert [[cell.strip() for cell in line[1:-1].split("|")] for line in lines] == rows
