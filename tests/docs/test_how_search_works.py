"""docs/how-search-works.md names the constants of the code with their values."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-search-works.md"

_ROW = re.compile(r"^\| `(gnod[\w.]*):(\w+)` \| `([^`]+)` \| \S", re.MULTILINE)
_NAMED = re.compile(r"`gnod[\w.]*:\w+`")
ROWS = _ROW.findall(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("module", "name", "value"), ROWS, ids=[f"{module}:{name}" for module, name, _ in ROWS])
def test_a_constant_has_the_value_of_the_code(module: str, name: str, value: str) -> None:
    assert getattr(importlib.import_module(module), name) == ast.literal_eval(value)


def test_every_constant_of_the_page_is_checked_once() -> None:
    named = _NAMED.findall(PAGE.read_text(encoding="utf-8"))
    assert len(named) == len(set(named)) == len(ROWS) > 50
