"""A search in a published collection returns the same documents and scores as in the index that it comes from."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from benchmarks.local_engine import LocalEngine
from gnod.configured.configuration import Configuration
from gnod.search.hybrid import across_indexes, retrieval
from gnod.search.hybrid.across_indexes import Joined
from gnod.search.hybrid.retrieval import Retrieved
from gnod.search.keyword import lexical
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import parse_clauses, parse_query
from gnod.search.ranking import fusion
from gnod.search.ranking.ranked import RankedDocument
from gnod.shared.attached import AttachedCollections
from gnod.shared.engine import (
    CollectionHeader,
    Key,
    PublishedPiece,
    Restriction,
    ScoredDocument,
    SharedDocument,
    Vector,
    key_of,
)
from gnod.shared.replica import Replica, number_of
from gnod.store.connection import Connection, index_of
from gnod.store.database import Database
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex, vector_of
from tests.waiting import until

pytestmark = pytest.mark.slow

MODEL = "file:/models/one.gguf"
WORDS = ["refund", "travel", "office", "holiday", "laptop", "salary", "coffee", "meeting", "state-of-the-art"]
QUERIES = [
    "refund",
    "travel holiday",
    "coffee meeting salary",
    '"coffee meeting"',
    "laptop -office",
    "state-of-the-art laptop",
    "nobody",
]
_ALL = Filters()


class Engine(LocalEngine):
    """The index as an engine that can be stopped. Only one thread at a time uses a connection."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, "notes", MODEL)
        self.works = threading.Event()
        self.works.set()
        self.says: dict[str, object] = {}
        self._lock = threading.Lock()
        self._documents = {document.key: document for document in super().documents(None)}

    def header(self) -> CollectionHeader | None:
        self.works.wait(20)
        with self._lock:
            header = super().header()
        return msgspec.structs.replace(header, **self.says) if header else None

    def by_words(self, weights: Mapping[int, float], within: Restriction, limit: int) -> list[ScoredDocument]:
        self.works.wait(20)
        with self._lock:
            return super().by_words(weights, within, limit)

    def nearest(self, query: Vector, within: Restriction, limit: int) -> list[ScoredDocument]:
        with self._lock:
            return super().nearest(query, within, limit)

    def documents(self, keys: Collection[Key] | None, within: Restriction | None = None) -> list[SharedDocument]:
        wanted = [self._documents.get(key_of(d.path)) for d in self._all(within)]
        return [each for each in wanted if each and (keys is None or each.key in keys)]

    def remove_first(self, found: Mapping[str, float]) -> str:
        path = next(iter(found))
        del self._documents[key_of(path)]
        return path

    def spoil(self, change: str) -> None:
        """Change all documents into ones that no publisher sends."""
        wrong = {
            "key": {"key": "0" * 32},
            "payload": {"payload": b"nothing"},
            "vector": {"pieces": (PublishedPiece(0, 0, None, 0, None, b"\0" * 32),)},
            "piece": {"pieces": (PublishedPiece(99, 0, None, 0, None, np.ones(8, "<f4").tobytes()),)},
        }[change]
        self._documents = {
            key: msgspec.structs.replace(each, **wrong)  # type: ignore[arg-type]
            for key, each in self._documents.items()
        }


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path_factory.mktemp("published") / "index.sqlite")
    index.add(texts_of(150, seed=3), language="en")
    index.embed(MODEL)
    yield index
    index.close()


def texts_of(number: int, seed: int) -> dict[str, str]:
    chance = np.random.default_rng(seed)
    rare = 1 / np.arange(1, len(WORDS) + 1)
    texts = {}
    for n in range(number):
        chosen = " ".join(chance.choice(WORDS, chance.integers(2, 60), p=rare / rare.sum()))
        texts[f"{WORDS[n % 9]}/{seed}-{n}.md"] = f"# {WORDS[n % 7]} page\n\n{chosen}\n"
    return texts


class Reader(NamedTuple):
    """The searching part of a daemon, without its own documents."""

    database: Database
    attached: AttachedCollections
    engine: Engine

    @asynccontextmanager
    async def searching(self, filters: Filters = _ALL) -> AsyncIterator[Joined]:
        async with self.database.snapshot() as read, self.attached.searching(read, filters) as found:
            yield found


@asynccontextmanager
async def reader(published: SmallIndex, folder: Path, budget_s: float = 20.0) -> AsyncIterator[Reader]:
    engine = Engine(published.database.open_reader())

    async def connect(_: str, __: str) -> Engine:
        return engine

    (folder / "index.yml").write_text(
        f"attached: [{{name: notes, address: 'milvus://127.0.0.1/team/notes', budget_s: {budget_s}}}]"
    )
    database = Database(folder / "index.sqlite", readers=1)
    configuration = Configuration(folder / "index.yml", database)
    attached = AttachedCollections(configuration, folder, "shared-", connect, lambda uri, _: uri, beat_s=0.1)
    attached.reload()
    try:
        await until(lambda: attached.reports()[0].problem is None and _sample(attached))
        yield Reader(database, attached, engine)
    finally:
        engine.works.set()
        await attached.close()
        database.close()


def _sample(attached: AttachedCollections) -> object:
    found = attached.of("notes")
    return found and found.shared and found.shared.sample


async def test_searches_equal_those_in_the_published_index(published: SmallIndex, tmp_path: Path) -> None:
    async with reader(published, tmp_path) as there:
        for query in QUERIES:
            assert await by_words(there, query) == pytest.approx(by_words_of(published, query), rel=1e-5), query
            assert await fused(there, query) == pytest.approx(fused_of(published, query), rel=0.02), query


async def test_a_spelling_that_only_the_collection_has_is_found(small_index: SmallIndex, tmp_path: Path) -> None:
    texts = {"plug.md": "The plug-in of the office.", "log.md": "Use your login.", "no.md": "No."}
    small_index.add(texts, language="en")
    small_index.embed(MODEL)
    (folder := tmp_path / "reader").mkdir()
    async with reader(small_index, folder) as there:
        for query in ("plugin", "office plugin", "log in", "wer war plugin"):
            expected = by_words_of(small_index, query)
            assert expected, query
            assert list(await by_words(there, query)) == list(expected), query
            assert await fused(there, query) == pytest.approx(fused_of(small_index, query), rel=0.02), query


async def by_words(there: Reader, query: str) -> dict[str, float]:
    async with there.searching() as (read, sources, notes, _):
        found = await across_indexes.search_words(read, sources, parse_clauses(query), Filters(), limit=10)
        assert not notes
        return await read(lambda connection: paths(connection, found.ranked))


def by_words_of(published: SmallIndex, query: str) -> dict[str, float]:
    connection = published.reader
    return paths(connection, lexical.search(connection, parse_clauses(query), Filters(), limit=10).ranked)


async def fused(there: Reader, query: str) -> dict[str, float]:
    lines = parse_query(query).lines
    async with there.searching() as (read, sources, *_):
        words = await across_indexes.survey_words(read, sources, lines, Filters())
        meant = [line for line in lines if not line.is_lexical]
        found = await across_indexes.retrieve(read, Nearest(), sources, words, meant, meaning(query), Filters())
        return await read(lambda connection: best(connection, found))


def fused_of(published: SmallIndex, query: str) -> dict[str, float]:
    lines, connection = parse_query(query).lines, published.reader
    words = retrieval.survey_words(connection, lines, Filters())
    meant = [line for line in lines if not line.is_lexical]
    return best(connection, retrieval.retrieve(connection, Nearest(), words, meant, meaning(query), Filters()))


def meaning(query: str) -> QueryVectors:
    row = vector_of(MODEL, query)
    return QueryVectors({MODEL: np.stack([row / np.linalg.norm(row)])}, {"notes": MODEL})


def best(connection: Connection, found: Retrieved) -> dict[str, float]:
    names = {id_: facts.docid for id_, facts in found.documents.items()}
    fused = fusion.fuse("convex", found.evidence, lambda id_: names[id_], found.trust, found.named)
    return {names[each.id]: each.score for each in fused.ranked[:10]}


def paths(connection: Connection, ranked: Sequence[RankedDocument]) -> dict[str, float]:
    by_id = documents.by_ids(connection, [each.id for each in ranked])
    return {by_id[each.id].path: each.score for each in ranked}


async def test_own_and_shared_documents_compete_as_in_one_index(published: SmallIndex, tmp_path: Path) -> None:
    own = texts_of(100, seed=4)
    together = SmallIndex(tmp_path / "together.sqlite")
    together.add(texts_of(150, seed=3), language="en")
    together.add(own, collection="own", language="en")
    (tmp_path / "reader").mkdir()
    mine = SmallIndex(tmp_path / "reader" / "index.sqlite")
    mine.add(own, collection="own", language="en")
    mine.close()
    async with reader(published, tmp_path / "reader") as there:
        for query in QUERIES:
            expected, found = by_words_of(together, query), await by_words(there, query)
            # Each index has its own mean length, which changes scores by a hundredth.
            for path in expected.keys() & found.keys():
                assert found[path] == pytest.approx(expected[path], rel=0.05), (query, path)
            assert len(expected.keys() & found.keys()) >= 0.8 * len(expected), query
    together.close()


async def test_a_removed_document_is_not_found(published: SmallIndex, tmp_path: Path) -> None:
    async with reader(published, tmp_path) as there:
        before = await by_words(there, "refund")
        removed = there.engine.remove_first(before)
        assert removed not in await by_words(there, "refund")
        assert len(await by_words(there, "refund")) == 10


async def test_a_slow_engine_costs_its_budget_once(published: SmallIndex, tmp_path: Path) -> None:
    async def is_found(there: Reader) -> bool:
        async with there.searching() as (read, sources, notes, _):
            found = await across_indexes.search_words(read, sources, parse_clauses("refund"), Filters(), limit=10)
            return bool(found.ranked) and not notes

    async with reader(published, tmp_path, budget_s=0.2) as there:
        there.engine.works.clear()
        async with there.searching() as (read, sources, notes, _):
            found = await across_indexes.search_words(read, sources, parse_clauses("refund"), Filters(), limit=10)
            assert found.ranked == []
            assert notes == ["notes did not answer: no answer within 0.2 s; its documents were not searched"]
        async with there.searching() as (_, sources, notes, _):
            assert sources == ()
            assert notes[0].startswith("notes did not answer")
        there.engine.works.set()
        async with asyncio.timeout(60):
            while not await is_found(there):  # noqa: ASYNC110 - a busy machine may need more than the budget again
                await asyncio.sleep(0.05)


async def test_documents_not_fetched_in_time_are_reported_and_found_later(
    published: SmallIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnod.shared.attached._FETCHING", 0.0)
    monkeypatch.setattr("gnod.shared.reading._FETCHED", 5)
    async with reader(published, tmp_path) as there:
        for found_so_far in (5, 10):
            async with there.searching() as (read, sources, notes, _):
                found = await across_indexes.search_words(read, sources, parse_clauses("refund"), Filters(), limit=10)
            assert len(found.ranked) == found_so_far
            assert [note.partition(":")[2] for note in notes] == [
                " some of the results could not be fetched in time: search again to get them"
            ]


@pytest.mark.parametrize("change", ["key", "vector", "payload", "piece"])
async def test_documents_that_no_publisher_sends_are_refused(
    published: SmallIndex, tmp_path: Path, change: str
) -> None:
    async with reader(published, tmp_path) as there:
        there.engine.spoil(change)
        async with there.searching() as (read, sources, notes, _):
            found = await across_indexes.search_words(read, sources, parse_clauses("refund"), Filters(), limit=10)
            assert (found.ranked, len(notes)) == ([], 1)
            assert "damaged" in notes[0]


async def test_a_damaged_replica_starts_empty(published: SmallIndex, tmp_path: Path) -> None:
    async with reader(published, tmp_path) as there:
        found = await by_words(there, "refund")
    (tmp_path / "shared-notes.sqlite").write_bytes(b"SQLite format 3\0" + bytes(5000))
    async with reader(published, tmp_path) as there:
        assert await by_words(there, "refund") == found


def test_a_replica_is_limited_and_keeps_used_documents(published: SmallIndex, tmp_path: Path) -> None:
    engine = Engine(published.database.open_reader())
    every = engine.documents(None)
    replica = Replica(tmp_path / "replica.sqlite", "notes", "milvus://127.0.0.1/team/notes", most=100)
    try:
        replica.store(every[:100], MODEL, 8)
        with replica.reading() as connection:
            assert len(replica.held(connection, [each.key for each in every[:20]])) == 20  # used
            replica.store(every[100:110], MODEL, 8)
            held = replica.held(connection, [each.key for each in every])
            assert {each.key for each in [*every[:20], *every[100:110]]} <= held.keys()
            assert len(held) == 90
            assert {index_of(id_) for _, id_ in held.values()} == {number_of("notes")}
    finally:
        replica.close()


async def test_parts_that_a_reader_cannot_search_are_reported(published: SmallIndex, tmp_path: Path) -> None:
    async with reader(published, tmp_path) as there:
        there.engine.says = {"analysis": 0, "behind": 12}
        await until(lambda: there.attached.reports()[0].limits)
        async with there.searching() as (read, sources, notes, behind):
            given = (read, sources, parse_clauses("refund"), Filters())
            assert (await across_indexes.search_words(*given, limit=10)).ranked == []
            assert notes == ["notes is searched without keywords: it was published by another version of gnod"]
            assert behind == 12
            near = await across_indexes.search_vectors(read, Nearest(), sources, meaning("refund"), Filters(), limit=10)
            assert len(near) == 10
        there.engine.says = {"model": None}
        await until(lambda: not there.attached.reports()[0].limits)
        assert await by_words(there, "refund")
        for name, value in (("format", 99), ("average", float("nan")), ("documents", -1)):
            there.engine.says = {name: value}
            await until(lambda: there.attached.reports()[0].problem)
            there.engine.says = {}
            await until(lambda: not there.attached.reports()[0].problem)
