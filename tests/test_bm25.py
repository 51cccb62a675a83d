"""One formula computes all scores by words, and gives the same results for numbers and arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod import bm25


@given(st.lists(st.integers(1, 10_000), min_size=1), st.floats(0.01, 100.0))
def test_arrays_and_numbers_give_the_same(frequencies: list[int], length: float) -> None:
    found = bm25.saturated(np.array(frequencies, np.float64), length)
    assert found.tolist() == [bm25.saturated(float(each), length) for each in frequencies]


@given(st.floats(0.1, 1e6), st.floats(0.1, 1e3), st.floats(1.01, 10.0))
def test_more_occurrences_and_shorter_texts_score_higher(frequency: float, length: float, factor: float) -> None:
    score = bm25.saturated(frequency, length)
    assert score <= bm25.saturated(factor * frequency, length) <= bm25.greatest(1.0)
    assert score >= bm25.saturated(frequency, factor * length)


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_rarer_terms_weigh_more(texts: int, frequency: int) -> None:
    frequency = min(frequency, texts)
    assert bm25.idf(texts, frequency) >= bm25.idf(texts, min(frequency + 1, texts)) >= 0


def test_a_term_that_occurs_once_in_a_text_of_mean_length_gives_its_weight() -> None:
    assert bm25.saturated(1.0) == pytest.approx(1.0)
