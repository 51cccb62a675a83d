"""Rows in memory: what is added can be found, what is removed cannot, exact and quantised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.meaning import vector_matrix as matrix_module
from gnod.search.meaning import vector_signs
from gnod.search.meaning.vector_matrix import SEGMENT_ROWS, Floats, Matrix


def unit_vectors(count: int, dimensions: int = 16, seed: int = 0) -> Floats:
    found = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 40), st.lists(st.integers(1, 120), max_size=30)), max_size=8), st.booleans())
def test_any_sequence_of_changes(steps: list[tuple[int, list[int]]], quantised: bool) -> None:
    matrix = Matrix(16, quantised=quantised)
    vectors = unit_vectors(400)
    expected: set[int] = set()
    next_id = 1
    for added, removed in steps:
        new = np.arange(next_id, next_id + added)
        matrix.add(new, vectors[new])
        next_id += added
        expected |= set(new.tolist())
        matrix.remove(np.asarray(removed, np.int64))
        expected -= set(removed)
        if len(removed) > 20:
            matrix._compact()
        assert len(matrix) == len(expected)
        cosines = matrix.cosines(vectors[0])
        there = cosines > -np.inf
        assert set(matrix.ids()[there].tolist()) == expected
        true = vectors[matrix.ids()[there]] @ vectors[0]
        assert np.allclose(cosines[there], true, atol=matrix.margin(vectors[0]))


@pytest.mark.parametrize("quantised", [False, True])
def test_several_segments_and_a_compaction(quantised: bool) -> None:
    count = SEGMENT_ROWS + 5000
    vectors = unit_vectors(count)
    matrix = Matrix(16, quantised=quantised)
    for low in range(0, count, 7000):
        matrix.add(np.arange(low, min(low + 7000, count)) + 1, vectors[low : low + 7000])
    before = matrix.memory_bytes
    matrix.remove(np.arange(1, count // 2))
    assert len(matrix) == count - count // 2 + 1
    assert matrix.memory_bytes < 0.6 * before
    true = vectors[matrix.ids() - 1] @ vectors[3]
    assert np.allclose(matrix.cosines(vectors[3]), true, atol=matrix.margin(vectors[3]))
    assert matrix.last_id == count


def test_what_was_returned_does_not_change_later() -> None:
    vectors = unit_vectors(3000)
    matrix = Matrix(16)
    matrix.add(np.arange(2000), vectors[:2000])
    ids = matrix.ids()
    matrix.add(np.arange(2000, 3000), vectors[2000:])
    matrix.remove(np.arange(1500))
    assert np.array_equal(ids, np.arange(2000))


def test_signs_are_counted_as_of_the_time_when_it_was_asked_for() -> None:
    vectors = unit_vectors(3000)
    matrix = Matrix(16, quantised=True, centre=vectors.mean(axis=0))
    matrix.add(np.arange(1, 2001), vectors[:2000])
    matrix.remove(np.asarray([7]))
    count = matrix.counter(vectors[0])
    before = count(None).tolist()
    matrix.remove(np.arange(1, 1500))  # closes the gaps
    matrix.add(np.arange(2001, 3001), vectors[2000:])
    assert count(None).tolist() == before
    assert before[0] == 0
    assert before[6] == vector_signs.INFINITE


def test_signs_of_some_rows_are_counted_in_all_segments() -> None:
    vectors = unit_vectors(70_000)
    matrix = Matrix(16, quantised=True, centre=vectors.mean(axis=0))
    matrix.add(np.arange(70_000), vectors)
    count = matrix.counter(vectors[0])
    every = count(None)
    for rows in (
        [],
        [3],
        [65_535, 65_536],
        [*range(0, 70_000, 50), 69_999],
        [*range(17_000)],
        [*range(65_000), 69_999],
    ):
        some = np.asarray(rows, np.int64)
        assert count(some).tolist() == every[some].tolist()


def test_signs_of_any_number_of_dimensions_are_counted() -> None:
    for dimensions in (1, 64, 193, 400):
        vectors = unit_vectors(300, dimensions)
        matrix = Matrix(dimensions, quantised=True, centre=vectors.mean(axis=0))
        matrix.add(np.arange(300), vectors)
        are_positive = vectors > vectors.mean(axis=0)
        expected = (are_positive != are_positive[0]).sum(axis=1)
        count = matrix.counter(vectors[0])
        assert np.array_equal(count(None), expected)
        assert np.array_equal(count(np.arange(0, 300, 7)), expected[::7])


def test_some_rows_of_all_segments_are_compared_as_all_are() -> None:
    vectors = unit_vectors(140_000)
    matrix = Matrix(16, quantised=True)
    matrix.add(np.arange(140_000), vectors)
    compare, every = matrix.comparer(vectors[0]), matrix.cosines(vectors[0])
    for rows in ([], [3], [65_535, 65_536], [139_999], [*range(0, 140_000, 50)]):
        some = np.asarray(rows, np.int64)
        assert compare(some).tolist() == every[some].tolist()


def test_products_of_int8_are_exact() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-127, 128, (5000, 384), dtype=np.int8)
    query = rng.integers(-127, 128, (1, 384), dtype=np.int8)
    true = rows.astype(np.int64) @ query[0].astype(np.int64)
    found = np.empty(5000, np.float32)
    matrix_module._multiply(rows, np.ones(5000, np.float32), (query, np.float32(1)), found)
    assert np.array_equal(found, true)


def test_an_empty_matrix() -> None:
    matrix = Matrix(4, quantised=True)
    assert len(matrix.cosines(unit_vectors(1, 4)[0])) == 0
    matrix.remove(np.asarray([1, 2]))
    assert (len(matrix), matrix.last_id, matrix.memory_bytes) == (0, 0, 0)
