"""A published collection is searched as the index that it comes from: the same documents, the same scores."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from gnod.egress import Egress
from gnod.pipeline import fusion, joint, lexical, retrieval
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.query import parse_clauses, parse_query
from gnod.pipeline.ranked import RankedDocument
from gnod.pipeline.retrieval import Knowledge, Retrieved
from gnod.pipeline.vector import QueryVectors
from gnod.services.attached import AttachedCollections, Joined
from gnod.services.configuration import Configuration
from gnod.shared.engine import Found, Header, Key, Restriction, SharedDocument, Vector, key_of
from gnod.shared.local import LocalEngine
from gnod.store.database import Connection, Database
from gnod.store.documents import documents
from gnod.store.documents.filters import Filters
from tests.small_index import SmallIndex, vector_of
from tests.waiting import until

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
    """The index as an engine that can be stopped. A connection is used in one thread at a time."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, "notes", MODEL)
        self.works = threading.Event()
        self.works.set()
        self._lock = threading.Lock()
        self._documents = {document.key: document for document in super().documents(None)}

    def header(self) -> Header | None:
        self.works.wait(20)
        with self._lock:
            return super().header()

    def by_words(self, weights: Mapping[int, float], within: Restriction, limit: int) -> list[Found]:
        self.works.wait(20)
        with self._lock:
            return super().by_words(weights, within, limit)

    def nearest(self, query: Vector, within: Restriction, limit: int) -> list[Found]:
        with self._lock:
            return super().nearest(query, within, limit)

    def documents(self, keys: Collection[Key] | None, within: Restriction | None = None) -> list[SharedDocument]:
        passing = self._all(within)
        return [self._documents[key_of(d.path)] for d in passing if keys is None or key_of(d.path) in keys]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path_factory.mktemp("published") / "index.sqlite")
    chance = np.random.default_rng(3)
    rare = 1 / np.arange(1, len(WORDS) + 1)
    texts = {}
    for number in range(150):
        chosen = " ".join(chance.choice(WORDS, chance.integers(2, 60), p=rare / rare.sum()))
        texts[f"{WORDS[number % 9]}/{number}.md"] = f"# {WORDS[number % 7]} page\n\n{chosen}\n"
    index.add(texts, language="en")
    index.embed(MODEL)
    yield index
    index.close()


class Reader(NamedTuple):
    """A daemon's part that searches, without documents of its own."""

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

    async def connect(_: str, __: Egress) -> Engine:
        return engine

    (folder / "index.yml").write_text(
        f"attached: [{{name: notes, address: 'milvus://127.0.0.1/team/notes', budget_s: {budget_s}}}]"
    )
    database = Database(folder / "index.sqlite", readers=1)
    configuration = Configuration(folder / "index.yml", database)
    attached = AttachedCollections(configuration, folder, "shared-", connect, lambda *_: True, beat_s=0.1)
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


def test_it_is_searched_as_the_index_that_was_published(published: SmallIndex, tmp_path: Path) -> None:
    async def compare() -> None:
        async with reader(published, tmp_path) as there:
            for query in QUERIES:
                assert await by_words(there, query) == pytest.approx(by_words_of(published, query), rel=1e-5), query
                assert await fused(there, query) == pytest.approx(fused_of(published, query), rel=0.02), query

    asyncio.run(compare())


async def by_words(there: Reader, query: str) -> dict[str, float]:
    async with there.searching() as (read, sources, notes):
        found = await joint.search_words(read, sources, parse_clauses(query), Filters(), limit=10)
        assert not notes
        return await read(lambda connection: paths(connection, found.ranked))


def by_words_of(published: SmallIndex, query: str) -> dict[str, float]:
    def work(connection: Connection) -> dict[str, float]:
        return paths(connection, lexical.search(connection, parse_clauses(query), Filters(), limit=10).ranked)

    return published.database.submit_read(work).result()


async def fused(there: Reader, query: str) -> dict[str, float]:
    lines = parse_query(query).lines
    async with there.searching() as (read, sources, _):
        words = await joint.survey_words(read, sources, lines, Filters())
        meant = [line for line in lines if not line.is_lexical]
        found = await joint.retrieve(
            *(read, Nearest(), sources, words, meant, meaning(query), Filters()), pool=100, knowledge=Knowledge()
        )
        return await read(lambda connection: best(connection, found))


def fused_of(published: SmallIndex, query: str) -> dict[str, float]:
    lines = parse_query(query).lines

    def work(connection: Connection) -> dict[str, float]:
        words = retrieval.survey_words(connection, lines, Filters())
        meant = [line for line in lines if not line.is_lexical]
        return best(connection, retrieval.retrieve(connection, Nearest(), words, meant, meaning(query), Filters()))

    return published.database.submit_read(work).result()


def meaning(query: str) -> QueryVectors:
    row = vector_of(MODEL, query)
    return QueryVectors({MODEL: np.stack([row / np.linalg.norm(row)])}, {"notes": MODEL})


def best(connection: Connection, found: Retrieved) -> dict[str, float]:
    names = {id_: facts.docid for id_, facts in found.documents.items()}
    fused = fusion.fuse("convex", found.evidence, lambda id_: names[id_], found.trust, found.named)
    return {names[each.document_id]: each.score for each in fused.ranked[:10]}


def paths(connection: Connection, ranked: Sequence[RankedDocument]) -> dict[str, float]:
    by_id = documents.by_ids(connection, [each.id for each in ranked])
    return {by_id[each.id].path: each.score for each in ranked}
