"""The nearest documents are those of brute force on the current index, after any history."""

from __future__ import annotations

import random
import threading
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.search.meaning import candidate_documents
from gnod.search.meaning.vector_search import Nearest
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection
from gnod.store.documents import collections, writing
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece
from tests.small_index import SmallIndex, vector_of

URI = "file:/models/one.gguf"
OTHER = "file:/models/two.gguf"
MODELS = (URI, OTHER)
QUERY = vector_of("query", "")

KINDS = {
    "exact": {},
    "quantised": {"exact_bytes": 0},
    "presorted": {"exact_bytes": 0, "compared_rows": 0},
    "on disk": {"limit_bytes": 0},
}


def brute_force(connection: Connection, uri: str, filters: Filters, limit: int) -> list[tuple[int, float, int]]:
    """Return (document, similarity, start of its best piece), directly from the tables."""
    where, bound = filters.condition()
    rows = connection.execute(
        "SELECT d.id, k.start + v.start, v.embedding FROM documents d JOIN chunks k USING (mirror_hash)"
        " JOIN content_vectors v USING (embed_hash) JOIN embedding_models m ON m.id = v.model_id"
        f" WHERE m.uri = ? AND {where}",
        (uri, *bound),
    )
    query = (QUERY / np.linalg.norm(QUERY)).astype(np.float64)
    best: dict[int, tuple[float, int]] = {}
    for document_id, start, blob in rows:
        similarity = (1 + float(np.frombuffer(blob, "<f4").astype(np.float64) @ query)) / 2
        if document_id not in best or best[document_id] < (similarity, -start):
            best[document_id] = (similarity, -start)
    ranked = sorted(best, key=lambda i: (-round(best[i][0], 9), i))[:limit]
    return [(i, best[i][0], -best[i][1]) for i in ranked]


def found(
    index: SmallIndex, nearest: Nearest, uri: str = URI, filters: Filters | None = None, limit: int = 10
) -> list[RankedDocument]:
    return surveyed(index.reader, nearest, filters or Filters(), limit, uri=uri)


def surveyed(
    connection: Connection, nearest: Nearest, filters: Filters, limit: int, also: Collection[int] = (), uri: str = URI
) -> list[RankedDocument]:
    survey = nearest.survey(connection, uri, QUERY, filters, limit=limit, also=also)
    return candidate_documents.placed(connection, survey.ranked)


def assert_right(index: SmallIndex, nearest: Nearest, uri: str, filters: Filters, limit: int) -> None:
    expected = brute_force(index.reader, uri, filters, limit)
    ours = found(index, nearest, uri, filters, limit)
    assert [(n.id, n.span and n.span.start) for n in ours] == [(i, start) for i, _, start in expected]
    assert np.allclose([n.score for n in ours], [s for _, s, _ in expected], atol=1e-6)


TEXTS = st.lists(
    st.sampled_from(["zebra. ", "lion. " * 200, "\n\n## Part\n\n", "tiger. " * 300]), min_size=1, max_size=9
)
PATHS = st.sampled_from([f"{n}.md" for n in "abcdef"])
NAMES = st.sampled_from(["one", "two"])
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, PATHS, TEXTS.map("".join)),
    st.tuples(st.just("remove"), NAMES, PATHS),
    st.tuples(st.just("embed"), NAMES, st.sampled_from(MODELS), st.integers(1, 20)),
    st.tuples(st.just("serve"), NAMES, st.sampled_from(MODELS)),
    st.tuples(st.just("drop"), st.lists(st.sampled_from(MODELS), max_size=2)),
    st.tuples(st.just("collection"), NAMES),
    st.tuples(st.just("cleanup")),
    st.tuples(st.just("reopen"), st.booleans()),
)


@pytest.mark.stress
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=25))
def test_after_any_history_nothing_is_stale(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, ...]]
) -> None:
    path = tmp_path_factory.mktemp("history") / "i.sqlite"
    index = SmallIndex(path)
    searchers = [Nearest(**options) for options in KINDS.values()]
    for step in steps:
        match step:
            case ("put", str(name), str(file), str(text)):
                index.add(
                    {file: text}, collection=name, source=f"{name}/{file}: {text}"
                )  # no copies, because searches leave them out
            case ("remove", str(name), str(file)):
                if name in names(index):
                    index.remove(file, collection=name)
            case ("embed", str(name), str(uri), int(limit)):
                index.embed(uri, name, limit=limit, pieces=2)
            case ("serve", str(name), str(uri)):
                index.write(partial(vectors.serve, collection=name, uri=uri))
            case ("drop", list(wanted)):
                index.write(partial(vectors.drop_unserved, wanted=wanted))
            case ("collection", str(name)):
                index.write(partial(collections.remove, name=name))
            case ("cleanup",):
                index.write(writing.purge)
                index.database.submit_maintenance(writing.compact).result()
            case ("reopen", bool(use_knn)):
                index.close()
                index = SmallIndex(path, use_knn=use_knn)
        for searcher in searchers:
            for uri in MODELS:
                assert_right(index, searcher, uri, Filters(), 3)
                assert_right(index, searcher, uri, Filters(collections=("two",)), 10)
        index.database.submit_read(assert_consistent).result()
    index.close()


def assert_consistent(connection: Connection) -> None:
    stray = "SELECT count(*) FROM content_vectors WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks)"
    assert connection.execute(stray).get == 0
    orphans = "SELECT count(*) FROM content WHERE mirror_hash NOT IN (SELECT mirror_hash FROM documents WHERE active)"
    assert connection.execute(orphans).get == 0


def names(index: SmallIndex) -> set[object]:
    return {name for (name,) in index.rows("SELECT name FROM collections")}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    """An index of 600 documents, some with the same text, one in a separate collection; all but one are embedded. For
    tests that only read."""
    index = SmallIndex(tmp_path_factory.mktemp("library") / "index.sqlite")
    chance = random.Random(7)
    texts = {f"{i}.md": f"# Note {chance.randrange(500)}\n\nwords. " for i in range(600)}
    index.add(texts)
    index.add({"long.md": "".join(f"## {i}\n\n{'words. ' * 450}\n\n" for i in range(300))})
    index.add({"only.md": "one alone"}, collection="small")
    index.embed(URI, "notes", "small")
    index.add({"unembedded.md": "no vector yet"})
    yield index
    index.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(collections=("small",)),
        Filters(collections=("notes",)),
        Filters(path_prefix="12"),
        Filters(path_prefix="nowhere"),
    ],
)
def test_filters_are_exact_at_any_depth(library: SmallIndex, kind: str, filters: Filters) -> None:
    nearest = Nearest(**KINDS[kind])
    for limit in (1, 20, 1000):
        assert_right(library, nearest, URI, filters, limit)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "filters", [Filters(), Filters(collections=("notes",)), Filters(path_prefix="1"), Filters(path_prefix="nowhere")]
)
def test_a_survey_also_has_the_requested_documents(library: SmallIndex, kind: str, filters: Filters) -> None:
    nearest = Nearest(**KINDS[kind])
    also = {*range(1, 700, 7), 10_000}

    expected = brute_force(library.reader, URI, filters, 1000)
    for limit in (1, 20):
        wanted = [*expected[:limit], *(each for each in expected[limit:] if each[0] in also)]
        found = surveyed(library.reader, nearest, filters, limit, also)
        assert [(n.id, n.span and n.span.start) for n in found] == [(i, start) for i, _, start in wanted]
        assert np.allclose([n.score for n in found], [s for _, s, _ in wanted], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_survey_says_how_far_the_best_stands_out(library: SmallIndex, kind: str) -> None:
    def work(connection: Connection) -> tuple[float | None, float | None, np.ndarray]:
        nearest = Nearest(**KINDS[kind])
        everywhere = nearest.survey(connection, URI, QUERY, Filters(), limit=5, also=())
        small = nearest.survey(connection, URI, QUERY, Filters(collections=("small",)), limit=5, also=())
        best = [2 * similarity - 1 for _, similarity, _ in brute_force(connection, URI, Filters(), 10_000)]
        return everywhere.prominence, small.prominence, np.array(best)

    peak, in_small, cosines = library.database.submit_read(work).result()
    if kind == "on disk":
        assert peak is None
        return
    assert peak is not None
    assert peak == pytest.approx((cosines.max() - cosines.mean()) / cosines.std(), rel=0.02)
    assert in_small is not None
    assert in_small < peak, "the spread is over all documents, the best one passes the filters"


def test_without_sqlite_vec_the_rows_are_read_each_time(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "i.sqlite", use_knn=False)
    index.add({f"{i}.md": f"note {i}" for i in range(50)})
    index.embed(URI)
    assert_right(index, Nearest(limit_bytes=0), URI, Filters(), 20)
    index.close()


@pytest.mark.slow
def test_equal_vectors_go_by_document(small_index: SmallIndex) -> None:
    small_index.add({f"{i}.md": f"note {i}" for i in range(300)})

    def work(connection: Connection) -> None:
        chunks = vectors.pending(connection, URI, ["notes"], 1000)
        vectors.put(connection, URI, {c.embed_hash: [StoredPiece(QUERY)] for c in chunks})

    small_index.write(work)
    for options in KINDS.values():
        near = found(small_index, Nearest(**options), limit=100)
        assert [n.id for n in near] == list(range(1, 101))
        assert all(n.score == pytest.approx(1.0) for n in near)


@pytest.mark.parametrize("query", [np.zeros(8), np.ones(5)])
def test_an_invalid_query_vector_finds_nothing(small_index: SmallIndex, query: np.ndarray) -> None:
    small_index.add({"a.md": "text"})
    small_index.embed(URI)
    assert Nearest().survey(small_index.reader, URI, query, Filters(), limit=5, also=()).ranked == []
    assert found(small_index, Nearest(), "file:/never/heard/of.gguf") == []


def test_memory_is_counted_and_given_back(small_index: SmallIndex) -> None:
    nearest = Nearest()
    small_index.add({"a.md": "text", "b.md": "more"})
    small_index.embed(URI)
    small_index.embed(OTHER)
    for uri in MODELS:
        nearest.load(small_index.reader, uri=uri)
    both = nearest.memory_bytes()
    small_index.write(lambda c: vectors.drop_unserved(c, [URI]))
    found(small_index, nearest)
    assert 0 < nearest.memory_bytes() < both


def test_a_growing_index_changes_its_kind(small_index: SmallIndex) -> None:
    nearest = Nearest(exact_bytes=100 * 4 * 8)
    for size in (50, 101, 130, 200):
        small_index.add({f"{i}.md": f"note {i}" for i in range(size)})
        small_index.embed(URI)
        assert_right(small_index, nearest, URI, Filters(), 30)
    small_index.remove(*(f"{i}.md" for i in range(20, 200)))
    assert_right(small_index, nearest, URI, Filters(), 30)


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_snapshot_finds_only_what_it_has(small_index: SmallIndex, kind: str) -> None:
    nearest = Nearest(**KINDS[kind])
    small_index.add({f"{i}.md": f"note {i}" for i in range(30)})
    small_index.embed(URI)
    older = small_index.database.open_reader()
    older.execute("BEGIN")
    expected = brute_force(older, URI, Filters(), 100)
    small_index.add({"0.md": "another text", "30.md": "a new document"})
    small_index.embed(URI)
    assert_right(small_index, nearest, URI, Filters(), 100)  # the vectors in memory are current
    known = {id_: start for id_, _, start in expected}
    for found in (
        surveyed(older, nearest, Filters(), 100),
        surveyed(older, nearest, Filters(), 5, also=range(1, 100)),
    ):
        assert {each.id: each.span and each.span.start for each in found}.items() <= known.items()
        assert len(found) >= 29


@pytest.mark.slow
def test_many_threads_search_while_documents_come_and_go(tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "i.sqlite", readers=4)
    index.add({f"{i}.md": f"note {i}" for i in range(200)})
    index.embed(URI)
    nearest = Nearest()
    stop = threading.Event()

    def edit() -> None:
        chance = random.Random(3)
        while not stop.is_set():
            index.add({f"{chance.randrange(200)}.md": f"note {chance.random()}"})
            index.embed(URI)

    editor = threading.Thread(target=edit)
    editor.start()

    def search(connection: Connection) -> bool:
        near = surveyed(connection, nearest, Filters(), 10)
        there = documents.by_ids(connection, [n.id for n in near])
        return len(near) == len(there) == 10 and all(each.span for each in near)

    for _ in range(50):
        assert all(future.result() for future in [index.database.submit_read(search) for _ in range(8)])
    stop.set()
    editor.join()
    assert_right(index, nearest, URI, Filters(), 10)
    index.close()
