"""The resident data gives the same results as brute force, after any changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnod.memory.records import Vector
from gnod.memory.resident import OwnedVector, Resident
from gnod.store.memory.memories import MemoryRow

few = settings(max_examples=40)

ids = st.integers(1, 12)
topics = st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), unique=True)
change = st.one_of(
    st.tuples(st.just("put"), ids, st.integers(1, 3), topics, st.integers(0, 3)),
    st.tuples(st.just("remove"), ids),
)


class Plain(NamedTuple):
    row: MemoryRow
    topics: Sequence[bytes]
    vectors: list[tuple[int, Vector]]


def vector(seed: int) -> Vector:
    found = np.random.default_rng(seed % 9).normal(size=6).astype(np.float32)
    return np.asarray(found / np.linalg.norm(found), np.float32)


@few
@given(
    st.lists(change, max_size=40), st.integers(0, 30), st.sampled_from([None, {1}, {1, 3}, set()]), st.integers(1, 9)
)
def test_it_equals_brute_force(
    changes: list[tuple[object, ...]], seed: int, namespaces: set[int] | None, limit: int
) -> None:
    resident, plain = Resident(), dict[int, Plain]()
    next_id = 0
    for step, each in enumerate(changes):
        id_ = each[1]
        assert isinstance(id_, int)
        if each[0] == "remove":
            resident.remove([id_])
            plain.pop(id_, None)
            continue
        _, _, namespace, found_by, pieces = each
        assert isinstance(namespace, int)
        assert isinstance(found_by, list)
        assert isinstance(pieces, int)
        namespace_id = plain[id_].row.namespace_id if id_ in plain else namespace
        row = MemoryRow(id_, f"m{id_}", namespace_id, "fact", 0, step, b"f%d" % id_)
        vectors = [(next_id + n + 1, vector(next_id + n)) for n in range(pieces)]
        next_id += pieces
        plain[id_] = Plain(row, found_by, vectors)
        resident.put(row, found_by)
        resident.put_vectors([id_], [OwnedVector(v_id, id_, v) for v_id, v in vectors])

    allowed = {i: p for i, p in plain.items() if namespaces is None or p.row.namespace_id in namespaces}
    assert sorted(resident.rows(namespaces)) == sorted(p.row for p in allowed.values())
    assert sorted(resident.without_vectors()) == sorted(i for i, p in plain.items() if not p.vectors)
    assert resident.unembedded == len(resident.without_vectors())
    query = vector(seed)
    best = {i: max(float(v @ query) for _, v in p.vectors) for i, p in allowed.items() if p.vectors}
    found = resident.nearest(query, limit, namespaces)
    assert len(found) == min(limit, len(best))
    assert np.allclose(list(found.values()), sorted(best.values(), reverse=True)[:limit], atol=1e-6)
    assert all(abs(best[i] - cosine) < 1e-6 for i, cosine in found.items())
    counts = {i: len({b"a", b"c"} & set(p.topics)) for i, p in allowed.items()}
    ranked = sorted((i for i in counts if counts[i]), key=lambda i: (-counts[i], -allowed[i].row.updated_ms, -i))
    assert resident.topical([b"a", b"c"], limit, namespaces) == ranked[:limit]


@pytest.mark.slow
def test_many_updates_leave_no_rows_behind() -> None:
    resident = Resident()
    for n in range(2500):
        resident.put(MemoryRow(1, "m1", 1, "fact", 0, n, b"f"), [])
        resident.put_vectors([1], [OwnedVector(n + 1, 1, vector(n))])
    assert list(resident.nearest(vector(2499), 10, None)) == [1]
    assert resident._matrix is not None
    assert len(resident._matrix) == 1
    assert len(resident._matrix.ids()) < 1500


def test_ties_are_ordered_by_age() -> None:
    resident = Resident()
    for n in (1, 2, 3):
        resident.put(MemoryRow(n, f"m{n}", 1, "fact", 0, 0, b"f"), [])
        resident.put_vectors([n], [OwnedVector(n, n, vector(1))])
    assert list(resident.nearest(vector(1), 2, None)) == [1, 2]


def test_a_query_of_another_length_finds_nothing() -> None:
    resident = Resident()
    resident.put(MemoryRow(1, "m1", 1, "fact", 0, 0, b"f"), [])
    assert resident.nearest(vector(1), 5, None) == {}
    resident.put_vectors([1], [OwnedVector(1, 1, vector(1))])
    assert resident.nearest(vector(1)[:4], 5, None) == {}
    assert resident.dimensions == 6
