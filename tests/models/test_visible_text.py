"""The part of a model's output that is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.models.run.llama.generation import VisibleText


def shown_of(pieces: list[bytes], *, may_think: bool = True) -> list[str]:
    visible = VisibleText(may_think=may_think)
    return [*(visible.add(piece) for piece in pieces), visible.rest()]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("The gate is shut.", "The gate is shut."),
        ("<think>Which gate?</think>\n\nThe east gate.", "The east gate."),
        ("\n<think>\n\n</think>\n\nThe east gate.", "The east gate."),
        ("<think>Which gate? There are", ""),
        ("<thin ice>", "<thin ice>"),
        ("<thi", "<thi"),
        ("The form is <think>so</think>.", "The form is <think>so</think>."),
        ("<think>a</think>b<think>c</think>", "b<think>c</think>"),
        ("Ærøskøbing 港 🚢", "Ærøskøbing 港 🚢"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_thoughts_are_hidden_however_the_output_is_split(output: str, shown: str, step: int) -> None:
    data = output.encode()
    assert "".join(shown_of([data[at : at + step] for at in range(0, len(data), step)])) == shown


def test_nothing_is_held_back_without_thoughts() -> None:
    assert shown_of([b"<", b"think", b">"], may_think=False) == ["<", "think", ">", ""]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5))
def test_characters_are_complete(text: str, step: int) -> None:
    data = text.encode()
    pieces = shown_of([data[at : at + step] for at in range(0, len(data), step)], may_think=False)
    assert "".join(pieces) == text


def test_an_incomplete_character_at_the_end_is_hidden() -> None:
    assert "".join(shown_of([b"caf", "é".encode()[:1]])) == "caf"
