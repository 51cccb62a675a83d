"""The types of memories."""

from __future__ import annotations

import pytest

from gnod.errors import InvalidName
from gnod.memory import kinds


@pytest.mark.parametrize(
    ("given", "stored"), [("fact", "fact"), (" Fact ", "fact"), ("open_task_done", "open_task_done"), ("p0", "p0")]
)
def test_types(given: str, stored: str) -> None:
    assert kinds.checked(given) == stored


@pytest.mark.parametrize(
    "given", ["", "_done", "done_", "a__b", "0fact", "fact!", "two words", "x" * 41, "\ud800", "é"]
)
def test_what_is_no_type(given: str) -> None:
    with pytest.raises(InvalidName, match="such as fact") as raised:
        kinds.checked(given)
    raised.value.message.encode()


def test_done() -> None:
    assert (kinds.base("decision_done"), kinds.is_done("decision_done")) == ("decision", True)
    assert (kinds.base("done"), kinds.is_done("done")) == ("done", False)
