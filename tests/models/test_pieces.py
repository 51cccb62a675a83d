"""Pieces of a chunk: complete, in order, within the limit, and cut at good boundaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gnod.models.embedding_profiles import cut


@given(st.text(alphabet=st.sampled_from("ab .\n。é"), max_size=400), st.integers(1, 60))
def test_pieces_are_the_text_in_parts(text: str, limit: int) -> None:
    spans = cut(text, limit)
    assert "".join(text[start:end] for start, end in spans) == text
    assert spans[0].start == 0
    assert all(end - start <= limit for start, end in spans)
    assert all(end > start for start, end in spans) or not text


def test_without_a_limit_the_text_is_one_piece() -> None:
    assert cut("word " * 1000, None) == [(0, 5000)]
    assert cut("", 10) == [(0, 0)]


def test_a_blank_line_comes_before_a_sentence_and_a_sentence_before_a_space() -> None:
    text = "One sentence here. And two.\n\nThree words more and some. Last one is here."
    assert [text[start:end].strip() for start, end in cut(text, 50)] == [
        "One sentence here. And two.",
        "Three words more and some. Last one is here.",
    ]
    assert [end - start for start, end in cut("x" * 100, 40)] == [40, 40, 20]


def test_pieces_are_of_like_length() -> None:
    text = "Seven words make one short sentence here. " * 40
    lengths = [end - start for start, end in cut(text, 600)]
    assert len(lengths) == 3
    assert max(lengths) - min(lengths) < 120
