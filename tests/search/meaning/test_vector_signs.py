"""The signs of vectors: counted as one by one, and the fewest of them chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.meaning import vector_signs
from gnod.search.meaning.vector_signs import INFINITE, Signs


@pytest.mark.parametrize("dimensions", [1, 63, 64, 65, 384])
def test_differences_are_counted(dimensions: int) -> None:
    chance = np.random.default_rng(dimensions)
    rows, query, centre = (
        chance.standard_normal(shape).astype(np.float32) for shape in ((50, dimensions), dimensions, dimensions)
    )
    of_rows = Signs(centre, 60)
    of_rows.fill(0, rows[:20])
    of_rows.fill(20, rows[20:])
    found = np.empty(50, np.uint16)
    expected = ((rows > centre) != (query > centre)).sum(axis=1)
    of_query = vector_signs.of_query(query, centre)
    of_rows.count(of_query, found)
    assert found.tolist() == expected.tolist()
    chosen = np.arange(1, 50, 7)
    of_rows.count(of_query, found[: len(chosen)], chosen)
    assert found[: len(chosen)].tolist() == expected[chosen].tolist()


@given(st.lists(st.sampled_from([3, 5, 6, 7, 9, 200, INFINITE]), max_size=200), st.integers(1, 250))
def test_the_fewest_are_chosen_with_all_that_equal_the_last(values: list[int], count: int) -> None:
    differences = np.asarray(values, np.uint16)
    chosen = vector_signs.fewest(differences, count)
    finite = sorted(value for value in values if value < INFINITE)
    assert len(chosen) >= min(count, len(finite))
    assert chosen.tolist() == sorted(chosen)
    if len(chosen):
        most = int(differences[chosen].max())
        assert chosen.tolist() == [at for at, value in enumerate(values) if value <= most < INFINITE]


def test_as_many_signs_are_expected_to_differ_as_in_those_that_are_near() -> None:
    assert vector_signs.expected(np.asarray([90, 102], np.uint16), 384, 0) == 96
    assert vector_signs.expected(np.asarray([96, 96], np.uint16), 384, 2) == 96 + 16
    assert vector_signs.expected(np.asarray([0, 0], np.uint16), 384, 2) == 0
