"""Loops are detected in every script, wherever the text stops; text that continues is left alone."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.models.run.repetition import CHARACTERS, REACH, REPEATS, repetition_start


def cut(text: str) -> str | None:
    start = repetition_start(text)
    return None if start is None else text[:start]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Set it:\n" + "sysctl net.core.rmem_max\n" * 4, "Set it:\nsysctl net.core.rmem_max"),
        ("Set it:\n" + "".join(f"{n}. sysctl net.core\n" for n in range(1, 9)), "Set it:\n1. sysctl net.core"),
        ("答えは東京です。" * 8, "答えは東京です。"),
        ("นี่คือคำตอบ " * 8, "นี่คือคำตอบ "),
        ("The answer is [1]: the Answer " * 4, "The answer is [1]: the Answer "),
        ("no " * 40, "no "),
        ("0" * 80, "0"),
    ],
)
def test_a_loop_is_cut_after_its_first_round(text: str, kept: str) -> None:
    assert cut(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The same. The same. ",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        "-" * 200,
        "\n" * 200,
        "".join(f"{n}. Turn the handle {n} times.\n" for n in range(1, 30)),
        "| 1 | 0 | 0 |\n| 2 | 0 | 0 |\n| 3 | 0 | 0 |\n| 4 | 0 | 0 |\n| 5 | 0 | 0 |\n",
    ],
)
def test_other_text_is_no_loop(text: str) -> None:
    assert repetition_start(text) is None


@given(st.text(max_size=40), st.text(min_size=1, max_size=30), st.integers(0, 29))
def test_any_loop_is_found_wherever_the_text_stops(before: str, unit: str, more: int) -> None:
    rounds = REPEATS + CHARACTERS
    text = before + unit * rounds + unit[:more]
    start = repetition_start(text)
    if any(map(str.isalnum, unit)):
        assert start is not None
        first = max(len(before), len(text) - REACH)
        assert start <= first + 2 * len(unit) + 1, "not much more than the first round stays"
    assert start is None or 0 < start < len(text)


units = st.text("ab 1.", max_size=4) | st.text(max_size=8)
rounds = st.builds(str.__mul__, units, st.sampled_from([1, 1, 2, REPEATS, 40]))


@given(st.lists(rounds, max_size=4).map("".join))
@example("no " * 40)
@example("a. a. a. 1 " + "b" * 40)
def test_what_is_cut_is_a_repetition(text: str) -> None:
    start = repetition_start(text)
    if start is None:
        return
    rest = " ".join(text[start:].lower().split())
    assert any(map(str.isalnum, rest))
    assert len(text) - start >= CHARACTERS // REPEATS
