"""The text of a memory in a list of results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.memory.listing import PREVIEW_CHARACTERS, preview

LONG = "one two three " * 60


def test_a_short_text_is_complete() -> None:
    assert preview("x" * 240, 0.1, 9, 3) == ("x" * 240, True)


def test_a_long_one_is_cut_at_a_word() -> None:
    text = "a" * 230 + " " + "b" * 30
    assert preview(text, 0.1, 0, 3) == ("a" * 230 + "…", False)
    # 239 characters and a space after them: the last word is whole.
    assert preview("a" * 230 + " " + "b" * 8 + " more", 0.1, 0, 3) == ("a" * 230 + " " + "b" * 8 + "…", False)


def test_one_word_is_cut_within() -> None:
    assert preview("部" * 300, 0.1, 0, 3) == ("部" * 239 + "…", False)
    assert preview("see " + "x" * 300, 0.1, 0, 3) == ("see " + "x" * 235 + "…", False)


@pytest.mark.parametrize(
    ("score", "rank", "whole", "complete"),
    [
        (0.81, 0, 3, True),
        (0.81, 2, 3, True),
        (0.81, 3, 3, False),
        (0.81, 4, 5, True),
        (0.81, 5, 5, False),
        (0.80, 0, 3, False),
        (0.3, 0, 3, False),
        (1.0, 0, 3, True),
    ],
)
def test_the_first_good_ones_come_whole(score: float, rank: int, whole: int, complete: bool) -> None:
    text, is_complete = preview(LONG, score, rank, whole)
    assert is_complete == complete
    assert (text == LONG) == complete


@pytest.mark.parametrize(("length", "complete"), [(2047, True), (2048, False)])
def test_only_below_2048_characters(length: int, complete: bool) -> None:
    assert preview("y" * length, 0.9, 0, 3)[1] == complete


# Repeat short strings, because hypothesis rarely generates texts that are longer than a preview.
repeated = st.builds(str.__mul__, st.text(min_size=1, max_size=12), st.integers(PREVIEW_CHARACTERS + 1, 600))


@given(repeated, st.floats(0, 0.8), st.integers(0, 8))
def test_any_long_text_is_cut_to_its_beginning(text: str, score: float, rank: int) -> None:
    shown, is_complete = preview(text, score, rank, 3)
    assert not is_complete
    assert len(shown) <= PREVIEW_CHARACTERS
    assert shown.endswith("…")
    assert text.startswith(shown.removesuffix("…"))
