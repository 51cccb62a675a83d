"""Very many vectors: only vectors whose signs are like the query's are compared, and the nearest are found.

The tests use small limits, so that a thousand documents count as very many.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnod.search.meaning import candidate_documents, presorted_vectors
from gnod.search.meaning.vector_search import Nearest
from gnod.store.connection import Connection
from gnod.store.tables.filters import Filters
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece
from tests.small_index import SmallIndex

URI = "file:/models/one.gguf"
DIMENSIONS = 96
LIMIT = 10
SHARES = {"all": 1, "third": 3, "tenth": 10, "hundredth": 100, "thousandth": 1000}

Floats = NDArray[np.float32]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presorted_vectors, "_LEAST", 160)
    monkeypatch.setattr(presorted_vectors, "_PER_DOCUMENT", 2)
    monkeypatch.setattr(presorted_vectors, "_FEW", 60)
    monkeypatch.setattr(presorted_vectors, "_MANY", 0.75)


def clustered(count: int, seed: int) -> Floats:
    """Return vectors like those of texts: in clusters, with a large common part."""
    shape, chance = np.random.default_rng(1), np.random.default_rng(seed)
    centres = shape.standard_normal((200, DIMENSIONS)) * np.arange(1, DIMENSIONS + 1) ** -0.5
    rows = centres[chance.integers(0, len(centres), count)]
    rows = rows + 0.5 * chance.standard_normal((count, DIMENSIONS)) * np.arange(1, DIMENSIONS + 1) ** -0.5
    return np.asarray(rows + 2 * shape.standard_normal(DIMENSIONS), np.float32)


def embed(index: SmallIndex, seed: int) -> None:
    def work(connection: Connection) -> None:
        chunks = vectors.pending(connection, URI, tuple(SHARES), 100_000)
        rows = clustered(len(chunks), seed)
        vectors.put(connection, URI, {c.embed_hash: [StoredPiece(row)] for c, row in zip(chunks, rows, strict=True)})

    index.write(work)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    """An index of 4,000 documents, in collections of different shares."""
    index = SmallIndex(tmp_path_factory.mktemp("many") / "index.sqlite")
    left, texts = list(range(4000)), {}
    for name in ("thousandth", "hundredth", "tenth", "third"):
        part = [left.pop() for _ in range(4000 // SHARES[name])]
        texts[name] = part
    texts["all"] = left
    for name, numbers in texts.items():
        index.add({f"{n}.md": f"note {n}" for n in numbers}, collection=name)
    embed(index, seed=2)
    yield index
    index.close()


def recall(index: SmallIndex, searched: Nearest, filters: Filters) -> float:
    """Return the share of the exact results that the search finds. Their scores and places must be the same."""
    exact, right, wanted = Nearest(), 0, 0
    for query in clustered(15, seed=3):
        found, true = (
            candidate_documents.placed(
                index.reader, each.survey(index.reader, URI, query, filters, limit=LIMIT, also=()).ranked
            )
            for each in (searched, exact)
        )
        expected = {each.id: each for each in true}
        assert len(found) == len(true)
        for each in found:
            if each.id in expected:
                assert each.score == pytest.approx(expected[each.id].score, abs=1e-6)
                assert each.span == expected[each.id].span
        right, wanted = right + len({each.id for each in found} & expected.keys()), wanted + len(true)
    return right / wanted


@pytest.mark.stress
@pytest.mark.parametrize("name", SHARES)
def test_nearly_all_of_the_nearest_are_found_with_any_filter(many: SmallIndex, name: str) -> None:
    searched = Nearest(exact_bytes=0, compared_rows=1000)
    collections = () if name == "all" else (name,)
    assert recall(many, searched, Filters(collections=collections)) >= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARES)
def test_if_signs_are_no_good_guide_all_are_compared(
    many: SmallIndex, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presorted_vectors, "_MANY", 0.0)
    searched = Nearest(exact_bytes=0, compared_rows=1000)
    collections = () if name == "all" else (name,)
    assert recall(many, searched, Filters(collections=collections)) >= (1.0 if name in ("all", "third") else 0.99)


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=500), st.integers(1, 600))
def test_the_nearest_are_among_those_that_are_kept(cosines: list[float], count: int) -> None:
    given_ = np.asarray(cosines, np.float32)
    kept = presorted_vectors._nearest(given_, count)
    assert (np.diff(kept) > 0).all()
    assert np.array_equal(np.sort(given_[kept])[-count:], np.sort(given_)[-count:])


@pytest.mark.slow
def test_requested_documents_are_found_at_any_rank(many: SmallIndex) -> None:
    query, also = clustered(1, seed=4)[0], set(range(1, 4000, 97))

    def survey(nearest: Nearest, connection: Connection) -> tuple[dict[int, float], float | None]:
        found = nearest.survey(connection, URI, query, Filters(), limit=LIMIT, also=also)
        return {each.id: each.score for each in found.ranked}, found.prominence

    found, prominence = survey(Nearest(exact_bytes=0, compared_rows=1000), many.reader)
    expected, exact = survey(Nearest(), many.reader)
    assert also <= found.keys()
    assert {id_: found[id_] for id_ in also} == pytest.approx({id_: expected[id_] for id_ in also}, abs=1e-6)
    assert prominence == pytest.approx(exact, rel=0.05)


@pytest.mark.stress
def test_after_any_changes_it_is_as_good_as_from_scratch(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "index.sqlite")
    searched, chance = Nearest(exact_bytes=0, compared_rows=1000), random.Random(5)
    index.add({f"{n}.md": f"note {n}" for n in range(1500)}, collection="all")
    embed(index, seed=6)
    for round_ in range(3):
        assert recall(index, searched, Filters()) >= 0.98
        numbers = chance.sample(range(1500), 400)
        index.remove(*(f"{n}.md" for n in numbers[:200]), collection="all")
        index.add({f"{n}.md": f"note {n}, again in {round_}" for n in numbers[200:]}, collection="all")
        index.add(
            {f"{n}.md": f"new in {round_}" for n in range(2000 + 300 * round_, 2300 + 300 * round_)}, collection="all"
        )
        embed(index, seed=7 + round_)
    incremental = recall(index, searched, Filters())
    assert incremental >= recall(index, Nearest(exact_bytes=0, compared_rows=1000), Filters()) - 0.01
    index.close()


@pytest.mark.slow
def test_a_growing_index_changes_to_signs_and_back(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "index.sqlite")
    searched = Nearest(exact_bytes=0, compared_rows=400)
    for size in (300, 450, 700):
        index.add({f"{n}.md": f"note {n}" for n in range(size)}, collection="all")
        embed(index, seed=size)
        assert recall(index, searched, Filters()) >= 0.98
    index.remove(*(f"{n}.md" for n in range(20, 700)), collection="all")
    assert recall(index, searched, Filters()) == 1.0
    index.close()
