"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import gnod

_REPOSITORY = Path(gnod.__file__).resolve().parents[1]
_FILES = sorted(
    file
    for package in ("gnod", "gnoctl")
    for file in (_REPOSITORY / package).rglob("*.py")
    if "\n    >>> " in file.read_text()
)


@pytest.mark.parametrize("file", _FILES, ids=lambda file: str(file.relative_to(_REPOSITORY)))
def test_the_examples_are_right(file: Path) -> None:
    module = importlib.import_module(".".join(file.relative_to(_REPOSITORY).with_suffix("").parts))
    done = doctest.testmod(module)
    assert done.failed == 0, "see the output above"
    assert done.attempted > 0
