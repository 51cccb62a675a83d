"""Vector search on vectors made by hand: the order, the filters, and documents that are never in an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import cos, pi, sin

import numpy as np
import pytest
from numpy.typing import NDArray

from gnod.errors import NotEmbedded
from gnod.search.meaning import vector_search as vector
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece
from tests.small_index import SmallIndex

Vector = NDArray[np.float32]

ONE = "file:/models/one.gguf"
OTHER = "file:/models/other.gguf"


def at(degrees: float, dimensions: int = 4) -> Vector:
    """Return the unit vector at this angle to `at(0)`."""
    made = np.zeros(dimensions, np.float32)
    made[:2] = cos(degrees * pi / 180), sin(degrees * pi / 180)
    return made


class Meaning:
    """A small index with vectors."""

    def __init__(self, index: SmallIndex) -> None:
        self.index = index
        self.nearest = Nearest()
        self.served = {"notes": ONE}

    def add(self, vectors_of: Mapping[str, Vector | Sequence[Vector]], collection: str = "notes", **more: str) -> None:
        """Add a page of one chunk for each path, with its vector from the model that serves the collection."""
        self.index.add({path: page(path) for path in vectors_of}, collection, **more)
        for path, found in vectors_of.items():
            self.embed(path, found, collection)

    def embed(
        self, path: str, found: Vector | Sequence[Vector], collection: str = "notes", uri: str | None = None
    ) -> None:
        each = [found] if isinstance(found, np.ndarray) else list(found)

        def work(connection: Connection) -> int:
            hashes = [
                embed_hash
                for (embed_hash,) in connection.execute(
                    "SELECT k.embed_hash FROM chunks k JOIN documents d USING (mirror_hash)"
                    " JOIN collections c ON c.id = d.collection_id WHERE d.path = ? AND c.name = ? ORDER BY seq",
                    (path, collection),
                )
            ]
            pieces = {embed_hash: [StoredPiece(vector)] for embed_hash, vector in zip(hashes, each, strict=True)}
            return vectors.put(connection, uri or self.served[collection], pieces)

        self.index.write(work)

    def ranked(
        self,
        query: Vector | Mapping[str, Vector] | None = None,
        filters: Filters | None = None,
        limit: int = 20,
        min_score: float = 0.0,
    ) -> list[tuple[str, RankedDocument]]:
        if query is None or isinstance(query, np.ndarray):
            query = {ONE: at(0) if query is None else query}
        asked = filters or Filters()

        connection = self.index.reader
        vectors = QueryVectors({uri: rows[None] for uri, rows in query.items()}, self.served)
        found = vector.search(connection, self.nearest, vectors, asked, limit=limit, min_score=min_score)
        return _addressed(connection, found)

    def found(self, *arguments: object, **options: object) -> list[str]:
        return [address for address, _ in self.ranked(*arguments, **options)]  # type: ignore[arg-type]

    def like(self, path: str, filters: Filters | None = None, collection: str = "notes", limit: int = 20) -> list[str]:
        connection = self.index.reader
        document = documents.by_path(connection, collection, path)
        assert document is not None
        asked = filters or Filters()
        found = vector.similar(connection, self.nearest, document, self.served, asked, limit=limit)
        return [address for address, _ in _addressed(connection, found)]


def page(path: str) -> str:
    return f"# {path}\n\nA page.\n"


def _addressed(connection: Connection, found: Sequence[RankedDocument]) -> list[tuple[str, RankedDocument]]:
    by_id = documents.by_ids(connection, [r.id for r in found])
    return [(f"{(d := by_id[r.id]).collection}/{d.path}", r) for r in found]


@pytest.fixture
def meaning(small_index: SmallIndex) -> Meaning:
    return Meaning(small_index)


def test_the_nearest_comes_first_and_the_score_is_the_similarity(meaning: Meaning) -> None:
    meaning.add({"far.md": at(180), "near.md": at(10), "same.md": at(0), "square.md": at(90)})
    ranked = meaning.ranked()
    assert [address for address, _ in ranked] == ["notes/same.md", "notes/near.md", "notes/square.md", "notes/far.md"]
    expected = [1.0, 0.5 + cos(10 * pi / 180) / 2, 0.5, 0.0]
    assert [r.score for _, r in ranked] == pytest.approx(expected, abs=1e-6)
    assert all(0.0 <= r.score <= 1.0 for _, r in ranked)


def test_limit_and_min_score(meaning: Meaning) -> None:
    meaning.add({f"{angle:03}.md": at(angle) for angle in range(0, 180, 10)})
    assert meaning.found(limit=2) == ["notes/000.md", "notes/010.md"]
    assert meaning.found(min_score=0.98) == ["notes/000.md", "notes/010.md"]
    assert meaning.found(limit=1, min_score=0.98) == ["notes/000.md"]
    assert meaning.found(at(90, 4), min_score=1.0 - 1e-6) == ["notes/090.md"]


def test_a_document_is_found_once_with_its_best_chunk(meaning: Meaning) -> None:
    paragraph = "Words that stand here for a while and say little.\n" * 30
    text = "# Long\n\n" + "\n".join(f"## Part {n}\n\n{paragraph}" for n in range(5))
    meaning.index.add({"long.md": text})
    rows = meaning.index.rows("SELECT start, end, start_line, end_line FROM chunks ORDER BY seq")
    assert len(rows) >= 3
    meaning.embed("long.md", [at(80), at(5), *(at(60) for _ in rows[2:])])
    meaning.add({"short.md": at(20)})
    (address, best), (second, _) = meaning.ranked()
    assert (address, second) == ("notes/long.md", "notes/short.md")
    assert best.span == rows[1]


def test_each_collection_answers_with_the_model_that_serves_it(meaning: Meaning) -> None:
    meaning.served |= {"papers": OTHER}
    meaning.add({"a.md": at(40), "b.md": at(10)})
    meaning.add({"c.md": at(20, 6), "d.md": at(50, 6)}, collection="papers")
    # The other model also has vectors here: it is the wanted model, and does not serve yet.
    meaning.embed("a.md", at(0, 6), uri=OTHER)
    both = {ONE: at(0), OTHER: at(0, 6)}
    assert meaning.found(both) == ["notes/b.md", "papers/c.md", "notes/a.md", "papers/d.md"]
    assert meaning.found(both, limit=2) == ["notes/b.md", "papers/c.md"]
    assert meaning.found({OTHER: at(0, 6)}) == ["papers/c.md", "papers/d.md"]
    assert meaning.found(both, Filters(collections=("papers",))) == ["papers/c.md", "papers/d.md"]


def test_collections_without_a_model_are_not_searched(meaning: Meaning) -> None:
    meaning.add({"a.md": at(0)})
    meaning.index.add({"b.md": page("b.md")}, collection="raw")
    assert meaning.found(filters=Filters(collections=("raw",))) == []
    assert meaning.found(filters=Filters(collections=("raw", "notes"))) == ["notes/a.md"]
    assert meaning.found({}) == []
    meaning.served.clear()
    assert meaning.found() == []


def test_one_of_two_copies_in_different_collections_is_found(meaning: Meaning) -> None:
    meaning.served["copies"] = ONE
    meaning.add({"a.md": at(10)})
    meaning.index.add({"a.md": page("a.md")}, collection="copies")
    assert meaning.found() == ["copies/a.md"]


def test_similar_documents_without_itself_and_its_copies(meaning: Meaning) -> None:
    meaning.served["copies"] = ONE
    meaning.add({"a.md": at(0), "b.md": at(30), "c.md": at(-10), "d.md": at(90)})
    meaning.index.add({"a.md": page("a.md")}, collection="copies")
    assert meaning.like("a.md") == ["notes/c.md", "notes/b.md", "notes/d.md"]
    assert meaning.like("a.md", limit=1) == ["notes/c.md"]
    assert meaning.like("a.md", Filters(path_prefix="d")) == ["notes/d.md"]


def test_similar_compares_with_the_whole_document(meaning: Meaning) -> None:
    text = "# Long\n\n" + "\n".join(f"## Part {n}\n\n" + "Words that say little.\n" * 100 for n in range(4))
    meaning.index.add({"long.md": text})
    chunks = len(meaning.index.rows("SELECT seq FROM chunks"))
    assert chunks >= 2
    meaning.embed("long.md", [at(0), *(at(40) for _ in range(chunks - 1))])
    angle = 40 * (chunks - 1) / chunks
    meaning.add({"first.md": at(0), "between.md": at(angle), "away.md": at(80)})
    assert meaning.like("long.md") == ["notes/between.md", "notes/first.md", "notes/away.md"]


def test_similar_stays_with_the_model_of_the_document(meaning: Meaning) -> None:
    meaning.served["papers"] = OTHER
    meaning.add({"a.md": at(0), "b.md": at(30)})
    meaning.add({"p.md": at(0, 6), "q.md": at(30, 6)}, collection="papers")
    meaning.embed("b.md", at(0, 6), uri=OTHER)
    assert meaning.like("a.md") == ["notes/b.md"]
    assert meaning.like("p.md", collection="papers") == ["papers/q.md"]
    with pytest.raises(NotEmbedded, match=r"papers cannot be compared with gno://notes/a.md"):
        meaning.like("a.md", Filters(collections=("papers",)))


def test_similar_to_what_is_not_embedded_is_refused(meaning: Meaning) -> None:
    meaning.add({"a.md": at(0)})
    meaning.index.add({"new.md": page("new.md")})
    meaning.index.add({"raw.md": page("raw.md")}, collection="raw")
    with pytest.raises(NotEmbedded, match=r"gno://notes/new.md is not embedded yet"):
        meaning.like("new.md")
    with pytest.raises(NotEmbedded, match=r"gno://raw/raw.md is not embedded yet"):
        meaning.like("raw.md", collection="raw")
