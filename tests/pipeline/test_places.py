"""The best vector of each document, after any changes of which documents hold which vectors."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gnod.pipeline.places import Places

PAIRS = st.sets(st.tuples(st.integers(1, 30), st.integers(1, 9)), max_size=60)


def arrays(pairs: set[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = np.asarray(sorted(pairs), np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


@settings(max_examples=60)
@given(PAIRS, st.sets(st.integers(1, 30)), PAIRS, st.sets(st.integers(1, 30)))
def test_it_equals_brute_force(
    before: set[tuple[int, int]], changed: set[int], now: set[tuple[int, int]], known: set[int]
) -> None:
    arrived = {pair for pair in now if pair[0] in changed}
    places = Places.of(*arrays(before)).replaced(np.asarray(sorted(changed), np.int64), *arrays(arrived))
    left = {pair for pair in before if pair[0] not in changed} | arrived
    ids = np.asarray(sorted(known), np.int64)
    cosines = np.sin(ids.astype(np.float32))
    layout = places.layout(ids)
    expected: dict[int, list[int]] = {}
    for vector, document in left:
        if vector in known:
            expected.setdefault(document, []).append(vector)
    assert layout.documents.tolist() == sorted(expected)
    best = [max(np.sin(np.float32(vector)) for vector in expected[document]) for document in sorted(expected)]
    assert np.allclose(layout.best(cosines), best)
    numbers = np.arange(len(layout.documents))[::2]
    rows, owners = layout.rows_of(numbers)
    found = {(int(ids[row]), int(layout.documents[numbers[owner]])) for row, owner in zip(rows, owners, strict=True)}
    assert found == {(vector, d) for d in sorted(expected)[::2] for vector in expected[d]}
