"""Text made safe and made to fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnoctl.printing import text
from tests.client.samples import few, hostile_text


@few
@given(hostile_text)
def test_made_safe_it_has_the_same_length(raw: str) -> None:
    for safe in (text.line(raw), text.block(raw)):
        assert text.is_safe(safe)
        assert len(safe) == len(raw)
    assert text.block(raw).count("\n") == raw.count("\n")


@few
@given(hostile_text, st.integers(1, 30))
def test_clipped_it_fits(raw: str, width: int) -> None:
    safe = text.line(raw)
    for clipped in (text.clip(safe, width), text.clip_start(safe, width)):
        assert text.cells(clipped) <= width


@few
@given(hostile_text, st.integers(2, 30))
def test_wrapped_it_fits_and_nothing_but_space_is_lost(raw: str, width: int) -> None:
    safe = text.block(raw).replace("\t", " ")
    spans = text.wrap(safe, width)
    pieces = [safe[start:end] for start, end in spans]
    assert all(text.cells(piece) <= width for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(safe.split())
    assert spans == sorted(spans)


def test_bidirectional_text_of_honest_languages_stays() -> None:
    assert text.line("שלום مرحبا\u200f") == "שלום مرحبا\u200f"


@pytest.mark.parametrize(
    ("raw", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("👍", 2), ("हिन्दी", 5), ("\u200d", 0)]
)
def test_cells(raw: str, width: int) -> None:
    assert text.cells(raw) == width


def test_a_long_path_keeps_its_end() -> None:
    assert text.clip_start("notes/2026/deploy.md", 10) == "…deploy.md"


def test_chinese_is_broken_without_spaces() -> None:
    assert [end - start for start, end in text.wrap("知識検索デーモン", 6)] == [3, 3, 2]
