"""Definitions by name: matches, their order, and updates with their documents."""

from __future__ import annotations

import pytest

from gnod.search.keyword import symbols
from gnod.search.keyword.symbols import Symbol, symbol
from gnod.store.tables import definitions, documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

FILES = {
    "a.py": "def retry_with_backoff():\n    pass\n",
    "b.py": "class Backoff:\n    def wait(self):\n        pass\n\n    def backoff(self):\n        pass\n",
    "c.ts": "export function retryWithBackoff() {\n}\n",
    "d.py": "def backoffs():\n    pass\n",
}


def found(
    index: SmallIndex, text: str, filters: Filters | None = None, limit: int = 10
) -> list[tuple[str, float, int]]:
    wanted = symbol(text)
    assert wanted is not None

    ranked = symbols.with_definitions(index.reader, [wanted], filters or Filters(), [], limit)
    by_id = documents.by_ids(index.reader, [each.id for each in ranked])
    return [(by_id[each.id].path, each.score, each.span.line if each.span else 0) for each in ranked]


def test_exact_names_come_first_then_parts(small_index: SmallIndex) -> None:
    small_index.add(FILES)
    assert found(small_index, "backoff") == [("b.py", 1.0, 1), ("c.ts", 0.75, 1), ("a.py", 0.75, 1)]
    assert found(small_index, "WAIT()") == [("b.py", 1.0, 2)]
    assert [path for path, _, _ in found(small_index, "backoff_retry")] == ["c.ts", "a.py"]


def test_qualified_names(small_index: SmallIndex) -> None:
    small_index.add(FILES)
    assert found(small_index, "Backoff.backoff") == [("b.py", 1.0, 5)]
    assert found(small_index, "Other::backoff") == []


def test_filters_hold(small_index: SmallIndex) -> None:
    small_index.add(FILES)
    assert found(small_index, "backoff", Filters(path_prefix="a")) == [("a.py", 0.75, 1)]


def test_definitions_follow_their_document(small_index: SmallIndex) -> None:
    small_index.add(FILES)
    small_index.add({"a.py": "def other():\n    pass\n"})
    assert [path for path, _, _ in found(small_index, "backoff")] == ["b.py", "c.ts"]
    small_index.remove(*FILES)
    assert small_index.rows("SELECT count(*) FROM definitions") == [(0,)]


def test_the_innermost_definition_around_a_line(small_index: SmallIndex) -> None:
    text = "import re\n\n# About A.\nclass A:\n    x = 1\n\n    # About f.\n    def f(self):\n        pass\n"
    small_index.add({"a.py": text})

    def name_at(line: int) -> str | None:
        read = small_index.database.submit_read(lambda connection: definitions.around(connection, 1, line))
        around = read.result()
        return around.name if around else None

    assert [name_at(line) for line in range(1, 10)] == [None, None, "A", "A", "A", "A", "f", "f", "f"]


@pytest.mark.parametrize("text", ["", "*", "::", ".", " ", "()"])
def test_texts_without_a_name(text: str) -> None:
    assert symbol(text) is None


def test_qualified_and_long_names() -> None:
    assert symbol("tide::Ring.push()") == Symbol(("tide", "ring"), "push")
    assert symbol("x" * 4000) == Symbol((), "x" * 4000)
