"""What is shown of what a model says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.models.llama.speech import Speech


def heard(pieces: list[bytes], *, may_think: bool = True) -> list[str]:
    speech = Speech(may_think=may_think)
    return [*(speech.take(piece) for piece in pieces), speech.rest()]


@pytest.mark.parametrize(
    ("said", "shown"),
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
def test_thoughts_stay_away_however_it_is_cut(said: str, shown: str, step: int) -> None:
    data = said.encode()
    assert "".join(heard([data[at : at + step] for at in range(0, len(data), step)])) == shown


def test_nothing_is_kept_back_without_thoughts() -> None:
    assert heard([b"<", b"think", b">"], may_think=False) == ["<", "think", ">", ""]


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 5))
def test_a_character_comes_whole(text: str, step: int) -> None:
    data = text.encode()
    pieces = heard([data[at : at + step] for at in range(0, len(data), step)], may_think=False)
    assert "".join(pieces) == text


def test_half_a_character_at_the_end_stays_away() -> None:
    assert "".join(heard([b"caf", "é".encode()[:1]])) == "caf"
