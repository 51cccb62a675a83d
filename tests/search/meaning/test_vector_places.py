"""The best vector of each document, after any changes of which documents hold which vectors."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.meaning.vector_matrix import Layout

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
