"""All engines give the same answers: the index on this machine, and Milvus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
import pytest

from benchmarks.local_engine import LocalEngine
from gnod.bm25 import idf
from gnod.errors import NotPublished, Unreachable
from gnod.shared.engine import (
    CollectionHeader,
    Former,
    Restriction,
    ScoredDocument,
    SharedDocument,
    SharedEngine,
    key_of,
)
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.milvus.rows import condition_of
from gnod.shared.weights import term_id
from tests.shared.milvus_server import MilvusServer, connect_to
from tests.small_index import SmallIndex, vector_of

pytestmark = pytest.mark.slow

MODEL = "file:/models/one.gguf"
TAGGED = "tags: [Work/Mail, new]\nauthor: Ann Müller\ntype: [Note, Report]\ndate: 2024-03-01"
ODD = """tags: ["it's", 'a "b"']\nauthor: 100%_x"""
TEXTS = {
    "a/plain.md": "# Refunds\n\nA refund is paid within 14 days of the purchase.",
    "a/tagged.md": f"---\n{TAGGED}\n---\n# Work\n\nRefund rules.",
    'b/odd "name" \\ 100%_ü.md': f"---\n{ODD}\n---\n# Odd\n\nTravel expenses and refunds.",
    "b/deutsch.md": "---\nlanguage: de\n---\n# Rückgabe\n\nDie Rückgabe ist innerhalb von vierzehn Tagen möglich.",
    "ab.md": "# Long\n\n" + "".join(f"## Part {i}\n\n{f'words number {i} that fill it. ' * 60}\n\n" for i in range(9)),
}
RESTRICTIONS = [
    Restriction(),
    Restriction(languages=("de", "fr")),
    Restriction(types=("note",)),
    Restriction(types=("other", "report")),
    Restriction(tags_all=("work", "new")),
    Restriction(tags_any=("it's", "work")),
    Restriction(tags_all=('a "b"',)),
    Restriction(path_prefix="a/"),
    Restriction(path_prefix='b/odd "name" \\ 100%_'),
    Restriction(author="müller"),
    Restriction(author="100%_x"),
    Restriction(author='" or 1 == 1 or "'),
    Restriction(since=1_709_000_000.0, until=1_710_000_000.0),
    Restriction(tags_any=("nobody",)),
]


@contextmanager
def local(index: SmallIndex) -> Iterator[LocalEngine]:
    connection = index.database.open_reader()
    yield LocalEngine(connection, "notes", MODEL)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    made = SmallIndex(tmp_path_factory.mktemp("index") / "index.sqlite")
    made.add(TEXTS)
    made.embed(MODEL, pieces=2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def engines(index: SmallIndex, milvus: MilvusServer) -> Iterator[tuple[LocalEngine, MilvusEngine]]:
    with local(index) as here:
        there = milvus.engine("hand-book_1")
        header = here.header()
        assert header
        there.create(header)
        there.put(here.documents(None), former="nothing")
        there.set_frequencies(here.term_frequencies())
        yield here, there
        there.close()


def test_stored_documents_are_returned(engines: tuple[LocalEngine, MilvusEngine]) -> None:
    here, there = engines
    assert there.header() == here.header()
    keys = [key_of(path) for path in TEXTS]
    assert by_key(there.documents([*keys, "0" * 32])) == by_key(here.documents(keys))
    assert dict(there.keys()) == {document.key: document.version for document in here.documents(None)}
    assert dict(there.term_frequencies()) == here.term_frequencies()
    assert there.frequencies({"refund", "nowhere"}) == here.frequencies({"refund", "nowhere"}) == {"refund": 3}
    counted = there.count()
    assert counted["documents"] == len(TEXTS)
    assert counted["pieces"] == sum(len(document.pieces) for document in here.documents(None))


@pytest.mark.parametrize("within", RESTRICTIONS, ids=str)
def test_searches_find_the_same(engines: tuple[LocalEngine, MilvusEngine], within: Restriction) -> None:
    here, there = engines
    weights = {term_id(word): idf(5, n) for word, n in (("refund", 3), ("word", 1), ("rückgab", 1), ("nowhere", 0))}
    query = vector_of(MODEL, "query")
    query /= np.linalg.norm(query)

    def words(engine: SharedEngine) -> list[ScoredDocument]:
        return engine.by_words(weights, within, 3)

    def vectors(engine: SharedEngine) -> list[ScoredDocument]:
        return engine.nearest(query, within, 3)

    for search in (words, vectors):
        expected, found = search(here), search(there)
        assert [each[:2] for each in found] == [each[:2] for each in expected]
        assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-5)


def test_documents_are_listed_by_path(engines: tuple[LocalEngine, MilvusEngine]) -> None:
    for engine in engines:
        assert [each.path for each in engine.listed("", 2)] == ["a/plain.md", "a/tagged.md"]
        assert [each.path for each in engine.listed("b/", 9)] == ["b/deutsch.md", 'b/odd "name" \\ 100%_ü.md']


def test_a_new_version_replaces_the_whole_old_one(index: SmallIndex, milvus: MilvusServer) -> None:
    with local(index) as here:
        there, documents = filled(milvus, here, "versions")
    long = next(document for document in documents if document.path == "ab.md")
    shorter = msgspec.structs.replace(long, version="f" * 16, pieces=long.pieces[:1], payload=b"x" * 200_000)
    formers: tuple[Former, ...] = ("whole", "any")
    for former in formers:  # a repetition changes nothing
        there.put([shorter], former=former)
        assert by_key(there.documents([long.key])) == by_key([shorter])
        assert there.count()["pieces"] == sum(len(d.pieces) for d in documents) - len(long.pieces) + 1
    there.put([msgspec.structs.replace(shorter, version="e" * 16)], former="nothing")  # then the publisher was killed
    current = {document.key: document.version for document in documents} | {long.key: "e" * 16}
    there.keep(lambda key, version: current.get(key) == version)
    assert there.count()["texts"] == len(documents) - 1 + 4 + 1  # one more for the header
    for size in (1, 52_428, 52_429, 104_857):  # around the ends of parts
        odd = msgspec.structs.replace(shorter, version="d" * 16, payload=b"y" * size)
        there.put([odd])
        assert by_key(there.documents([long.key])) == by_key([odd])
    there.remove([long.key, key_of("nowhere")])
    there.set_frequencies({1: 5, 2: 7})
    there.set_frequencies({1: 0, 3: 1})
    assert dict(there.term_frequencies()) == {2: 7, 3: 1}
    assert there.documents([long.key]) == []
    assert len(list(there.keys())) == len(documents) - 1
    there.drop()
    assert set(there.count().values()) == {0}
    there.close()


@pytest.mark.stress
def test_a_collection_may_get_vectors_later_and_of_another_length(index: SmallIndex, milvus: MilvusServer) -> None:
    with local(index) as here:
        header, documents = header_of(here), here.documents(None)
    there = milvus.engine("models")
    there.create(msgspec.structs.replace(header, dimensions=None))
    there.put([msgspec.structs.replace(document, pieces=()) for document in documents])
    assert there.nearest(vector_of(MODEL, "query"), Restriction(), 3) == []
    there.create(header)
    there.put(documents)
    assert len(there.nearest(vector_of(MODEL, "query"), Restriction(), 3)) == 3
    there.create(msgspec.structs.replace(header, dimensions=16))
    assert there.nearest(vector_of(MODEL, "query", 16), Restriction(), 3) == []
    assert len(there.documents([documents[0].key])) == 1
    there.drop()
    there.close()


def test_a_missing_collection(milvus: MilvusServer) -> None:
    for database in ("team", "nowhere"):
        address = milvus.address("nobody")._replace(database=database)
        engine = MilvusEngine(connect_to(address))
        assert engine.header() is None
        assert set(engine.count().values()) == {0}
        with pytest.raises(NotPublished):
            engine.by_words({1: 1.0}, Restriction(), 3)
        engine.close()


def test_an_unreachable_server_costs_its_timeout(milvus: MilvusServer, closed_port: int) -> None:
    engine: SharedEngine = MilvusEngine(connect_to(milvus.address("a", closed_port), timeout_s=0.5))
    with pytest.raises(Unreachable, match="did not answer in time"):
        engine.header()
    engine.close()


def test_expressions_quote_any_text() -> None:
    assert condition_of(Restriction()) == ""
    assert condition_of(Restriction(types=('a"\n\\', "b"))) == '(doc_type like "%a___%" or doc_type like "%b%")'
    assert condition_of(Restriction(tags_all=('a"\n\\',))) == r'array_contains(tags, "a\"\n\\")'
    assert condition_of(Restriction(path_prefix="z\U0010ffff")) == 'path >= "z\U0010ffff" and path < "{"'
    assert condition_of(Restriction(path_prefix="\ud7ff")) == 'path >= "\ud7ff" and path < "\ue000"'
    assert condition_of(Restriction(author='%_"')) == 'author like "%___%"'


def filled(milvus: MilvusServer, here: LocalEngine, name: str) -> tuple[MilvusEngine, list[SharedDocument]]:
    there, documents = milvus.engine(name), here.documents(None)
    there.create(header_of(here))
    there.put(documents, former="nothing")
    return there, documents


def header_of(here: LocalEngine) -> CollectionHeader:
    header = here.header()
    assert header
    return header


def by_key(documents: list[SharedDocument]) -> dict[str, SharedDocument]:
    return {
        document.key: msgspec.structs.replace(
            document, weights={id_: float(np.float32(weight)) for id_, weight in document.weights.items()}
        )
        for document in documents
    }
