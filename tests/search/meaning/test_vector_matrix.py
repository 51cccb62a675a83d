"""Vectors in memory, exact and quantised: added vectors are found, and removed ones are not. Counts of signs equal
counts one by one, and each document has its best vector.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.meaning import vector_matrix as matrix_module
from gnod.search.meaning import vector_signs
from gnod.search.meaning.vector_matrix import SEGMENT_ROWS, Floats, Layout, Matrix
from gnod.search.meaning.vector_signs import INFINITE, Signs


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


def test_returned_arrays_do_not_change_later() -> None:
    vectors = unit_vectors(3000)
    matrix = Matrix(16)
    matrix.add(np.arange(2000), vectors[:2000])
    ids = matrix.ids()
    matrix.add(np.arange(2000, 3000), vectors[2000:])
    matrix.remove(np.arange(1500))
    assert np.array_equal(ids, np.arange(2000))


def test_a_counter_of_signs_ignores_later_changes() -> None:
    vectors = unit_vectors(3000)
    matrix = Matrix(16, quantised=True, centre=vectors.mean(axis=0))
    matrix.add(np.arange(1, 2001), vectors[:2000])
    matrix.remove(np.asarray([7]))
    count = matrix.counter(vectors[0])
    before = count(None).tolist()
    matrix.remove(np.arange(1, 1500))  # causes a compaction
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


PAIRS = st.sets(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=60)


def arrays(pairs: set[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, documents and collections: document n is in collection n modulo 3."""
    found = np.asarray(sorted(pairs), np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1], (found[:, 1] % 3).astype(np.int32)


def ascending(numbers: set[int]) -> np.ndarray:
    return np.asarray(sorted(numbers), np.int64)


def pairs_of(layout: Layout) -> set[tuple[int, int]]:
    assert layout.collections.tolist() == (layout.documents % 3).tolist()
    rows, owners = layout.rows_of(np.arange(len(layout.documents)))
    return set(zip(rows.tolist(), layout.documents[owners].tolist(), strict=True))


@given(PAIRS, st.sets(st.integers(0, 30)), PAIRS)
def test_it_equals_brute_force(before: set[tuple[int, int]], changed: set[int], now: set[tuple[int, int]]) -> None:
    arrived = {pair for pair in now if pair[0] in changed}
    layout = Layout.of(*arrays(before)).without(ascending(changed)).plus(*arrays(arrived))
    left = {pair for pair in before if pair[0] not in changed} | arrived
    assert pairs_of(layout) == left == pairs_of(Layout.of(*arrays(left)))
    cosines = np.sin(np.arange(31, dtype=np.float32))
    documents = sorted({document for _, document in left})
    assert layout.documents.tolist() == documents
    best = [max(cosines[row] for row, each in left if each == document) for document in documents]
    assert np.allclose(layout.best(cosines), best)
    assert layout.documents[layout.numbers(np.asarray([99, 3, 1, 3]))].tolist() == sorted({1, 3} & set(documents))
    within = layout.documents[layout.in_collections([0, 2, 50])].tolist()
    assert within == [document for document in documents if document % 3 != 1]
    few = layout.in_collections([1], np.arange(len(documents))[1:])
    assert layout.documents[few].tolist() == [document for document in documents[1:] if document % 3 == 1]
    some = layout.of_numbers(np.arange(len(documents))[::2])
    assert pairs_of(some) == {(row, document) for row, document in left if document in documents[::2]}


@given(PAIRS, st.sets(st.integers(0, 40)))
def test_places_of_some_rows_are_numbered_by_these(pairs: set[tuple[int, int]], rows: set[int]) -> None:
    layout = Layout.of(*arrays(pairs))
    numbered = {row: number for number, row in enumerate(sorted(rows))}
    for owners in (None, layout.owners(41)):
        among = layout.among(ascending(rows), 41, owners)
        assert pairs_of(among) == {(numbered[row], document) for row, document in pairs if row in rows}


@given(PAIRS, st.sets(st.integers(0, 30)))
def test_rows_are_renumbered_after_gaps_are_closed(pairs: set[tuple[int, int]], gone: set[int]) -> None:
    before = np.arange(31) * 3
    layout = Layout.of(*arrays(pairs)).without(ascending(gone))
    after = np.delete(before, ascending(gone))
    ids = {(int(after[row]), document) for row, document in pairs_of(layout.renumbered(before, after))}
    assert ids == {(int(before[row]), document) for row, document in pairs if row not in gone}
