"""Vectors by content. They are stored once, and deleted with the last document that has their text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from gnod.errors import InferenceFailed, ModelRejected
from gnod.store import index_schema
from gnod.store.documents import collections, writing
from gnod.store.tables.filters import Condition
from gnod.store.vectors import vector_rows, vectors
from gnod.store.vectors.vectors import StoredPiece
from tests.small_index import SmallIndex, vector_of

URI = "file:/models/one.gguf"
OTHER = "file:/models/two.gguf"
LONG = "# Long\n\n" + "".join(f"## Part {i}\n\n{'words that fill it. ' * 100}\n\n" for i in range(12))


@pytest.fixture
def index(small_index: SmallIndex) -> Iterator[SmallIndex]:
    yield small_index
    assert_consistent(small_index)


def assert_consistent(index: SmallIndex) -> None:
    """Check the conditions that must hold after every transaction."""

    connection = index.reader
    stray = "FROM content_vectors WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks)"
    assert connection.execute(f"SELECT count(*) {stray}").get == 0
    for model in vector_rows.models(connection):
        what_is_left = "SELECT embed_hash FROM {} WHERE model_id = ? ORDER BY 1"
        kept, true = (
            connection.execute(what_is_left.format(t), (model.id,)).fetchall() for t in ("unembedded", "embeddable")
        )
        assert kept == sorted(set(true))


def count(index: SmallIndex, table: str = "content_vectors") -> object:
    return index.rows(f"SELECT count(*) FROM {table}")[0][0]


def ids(index: SmallIndex) -> dict[object, object]:
    return {embed_hash: number for embed_hash, number in index.rows("SELECT embed_hash, id FROM content_vectors")}  # noqa: C416


def test_own_title_headings_and_text_are_embedded(index: SmallIndex) -> None:
    index.add({"a.md": "# Zebra\n\n## Stripes\n\ntext\n"})
    (chunk,) = vectors.pending(index.reader, URI, ["notes"], 10)
    assert chunk[1:4] == ("Zebra", "Zebra", "# Zebra\n\n## Stripes\n\ntext")
    assert index.embed(URI) == 1
    assert vectors.pending(index.reader, URI, ["notes"], 10) == []
    assert vectors.count_pending(index.reader, OTHER, ["notes"]) == 1


def test_documents_of_one_text_are_embedded_once(index: SmallIndex) -> None:
    index.add({"a.md": "# Same\n", "b.md": "# Same\n"}, collection="one")
    index.add({"c.md": "# Same\n"}, collection="two")
    assert index.embed(URI, "one", "two") == 1
    index.remove("a.md", "b.md", collection="one")
    assert count(index) == 1
    index.remove("c.md", collection="two")
    assert count(index) == 0


def test_only_chunks_of_these_collections_are_pending(index: SmallIndex) -> None:
    index.add({"a.md": "one"}, collection="one")
    index.add({"b.md": "two"}, collection="two")
    assert [c.text for c in vectors.pending(index.reader, URI, ["two"], 10)] == ["two"]
    assert vectors.pending(index.reader, URI, [], 10) == []
    assert len(vectors.pending(index.reader, URI, ["one", "two"], 1)) == 1


def test_an_edit_keeps_the_vectors_of_chunks_that_did_not_change(index: SmallIndex) -> None:
    index.add({"a.md": LONG})
    total = index.embed(URI)
    before = ids(index)
    index.add({"a.md": LONG.replace("## Part 5\n\nwords", "## Part 5\n\nother words")})
    kept = ids(index)
    assert total - 2 <= len(kept) < total
    assert kept.items() <= before.items()
    assert 1 <= index.embed(URI) <= 2


def test_a_vector_that_comes_too_late_is_not_stored(index: SmallIndex) -> None:
    index.add({"a.md": "zebra"})
    (chunk,) = vectors.pending(index.reader, URI, ["notes"], 10)
    index.add({"a.md": "lion"})
    late = {chunk.embed_hash: [StoredPiece(vector_of(URI, "late"))]}
    assert index.write(lambda c: vectors.put(c, URI, late)) == 0
    index.write(lambda c: vectors.note_failed(c, URI, chunk.embed_hash, "too late"))
    assert count(index, "embedding_errors") == 0


def test_vectors_are_stored_with_length_one(index: SmallIndex) -> None:
    index.add({"a.md": "zebra"})
    index.embed(URI)
    (blob,) = index.rows("SELECT embedding FROM content_vectors")[0]
    assert isinstance(blob, bytes)
    assert np.linalg.norm(np.frombuffer(blob, "<f4")) == pytest.approx(1)


@pytest.mark.parametrize("vector", [np.zeros(8), np.full(8, np.nan), np.full(8, np.inf)])
def test_invalid_vectors_are_refused(index: SmallIndex, vector: np.ndarray) -> None:
    index.add({"a.md": "zebra"})
    (chunk,) = vectors.pending(index.reader, URI, ["notes"], 10)
    with pytest.raises(InferenceFailed):
        index.write(lambda c: vectors.put(c, URI, {chunk.embed_hash: [StoredPiece(vector)]}))
    assert count(index) == 0


def test_all_vectors_of_a_model_have_one_length(index: SmallIndex) -> None:
    index.add({"a.md": "zebra", "b.md": "lion"})
    index.embed(URI, limit=1)
    with pytest.raises(ModelRejected):
        index.embed(URI, dimensions=9)


def test_failures_are_kept_counted_and_forgotten(index: SmallIndex) -> None:
    index.add({"a.md": "zebra"})
    (chunk,) = vectors.pending(index.reader, URI, ["notes"], 10)
    index.write(lambda c: vectors.note_failed(c, URI, chunk.embed_hash, "crashed"))
    assert index.embed(URI) == 0
    assert vectors.count_failed(index.reader, URI) == 1
    coverage = vectors.coverage(index.reader, {"notes": URI, "none": None})
    assert coverage == [("notes", URI, 1, 0, 0, 1, 1, 1), ("none", None, 0, 0, 0, 0, 0, 0)]
    index.write(lambda c: vectors.forget_failed(c, URI))
    assert index.embed(URI) == 1
    assert vectors.coverage(index.reader, {"notes": URI})[0][2:] == (1, 0, 1, 0, 1, 1)


def test_the_shares_of_very_many_pending_texts_are_estimated(
    index: SmallIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_SAMPLED", 50)
    index.add({f"{n}.md": f"text {n}" for n in range(150)}, collection="one")
    index.add({f"{n}.md": f"other {n}" for n in range(350)}, collection="two")
    index.embed(URI, "one", limit=1)
    found = vectors.coverage(index.reader, {"one": URI, "two": URI})
    assert [each.chunks for each in found] == [150, 350]
    assert found[0].embedded <= 30
    assert found[1].embedded <= 30


def test_changing_the_model_keeps_the_old_vectors_until_nobody_wants_them(index: SmallIndex) -> None:
    index.add({"a.md": "zebra"}, collection="one")
    index.add({"b.md": "lion"}, collection="two")
    for name in ("one", "two"):
        index.embed(URI, name)
        index.write(partial(vectors.serve, collection=name, uri=URI))
    index.embed(OTHER, "one", dimensions=4)
    assert vectors.serving(index.reader) == {"one": URI, "two": URI}
    index.write(lambda c: vectors.serve(c, "one", OTHER))
    assert index.write(lambda c: vectors.drop_unserved(c, [OTHER])) == 0
    index.write(lambda c: vectors.serve(c, "two", OTHER))
    assert index.write(lambda c: vectors.drop_unserved(c, [OTHER])) == 1
    assert count(index) == 1
    index.write(lambda c: collections.rename(c, "one", "uno"))
    assert vectors.serving(index.reader) == {"two": OTHER, "uno": OTHER}


def test_removing_a_collection_and_cleanup_leave_nothing(index: SmallIndex) -> None:
    index.add({"a.md": LONG, "b.md": "zebra"})
    index.embed(URI)
    index.write(lambda c: vectors.serve(c, "notes", URI))
    index.write(lambda c: collections.remove(c, "notes"))
    assert count(index) == 0
    assert vectors.serving(index.reader) == {}
    # These rows exist only after an error.
    index.write(
        lambda c: (
            c.execute("INSERT INTO mirrors (mirror_hash, markdown, title, packed) VALUES ('h', 'text', '', NULL)").get
        )
    )
    index.write(
        lambda c: (
            c.execute("INSERT INTO content_vectors (model_id, embed_hash, embedding) VALUES (1, 'h', zeroblob(32))").get
        )
    )
    assert index.write(writing.purge) == (0, 1)
    assert vector_rows.count(index.reader, 1) == 0


def test_the_vector_of_a_document_is_the_mean_of_its_chunks(index: SmallIndex) -> None:
    index.add({"a.md": LONG})
    index.embed(URI)
    mirror = str(index.rows("SELECT mirror_hash FROM documents")[0][0])
    mean = vectors.document_vector(index.reader, mirror, URI)
    blobs = [b for (b,) in index.rows("SELECT embedding FROM content_vectors") if isinstance(b, bytes)]
    expected = np.mean([np.frombuffer(b, "<f4") for b in blobs], axis=0)
    assert mean is not None
    assert np.allclose(mean, expected / np.linalg.norm(expected), atol=1e-6)
    assert vectors.document_vector(index.reader, mirror, OTHER) is None


def test_changes_are_numbered_and_pruned(index: SmallIndex) -> None:
    index.add({"a.md": "zebra", "b.md": "lion"})
    index.embed(URI, limit=1)
    index.embed(URI)
    assert vector_rows.changes_since(index.reader, 1, 0) == (2, [1, 2])
    ((first,),) = index.rows(
        "SELECT d.path FROM content_vectors v JOIN chunks k USING (embed_hash) JOIN documents d USING (mirror_hash)"
        " WHERE v.id = 1"
    )
    index.remove(str(first))
    # The vector left the document, then the chunk, and was then deleted.
    assert vector_rows.changes_since(index.reader, 1, 2) == (5, [1])
    assert vector_rows.changes_since(index.reader, 1, 9) == (9, [])
    kept = index_schema.KEPT_CHANGES
    index.write(
        lambda c: (
            c.execute(
                "WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < ?)"
                " INSERT INTO vector_changes (model_id, vector_id) SELECT 99, x FROM n",
                (kept + 2048,),
            ).get
        )
    )
    assert vector_rows.changes_since(index.reader, 1, 3)[1] is None
    remaining = count(index, "vector_changes")
    assert isinstance(remaining, int)
    assert kept <= remaining < kept + 1024


@pytest.mark.parametrize("limit", [2, 10])
def test_sqlite_vec_computes_the_nearest_of_the_stored_vectors(index: SmallIndex, limit: int) -> None:
    index.add({f"{n}.md": f"note {n}" for n in range(5)})
    index.embed(URI)
    index.embed(OTHER, dimensions=4)
    query = vector_of(URI, "q")
    query /= np.linalg.norm(query)
    stored = index.rows("SELECT id, embedding FROM content_vectors WHERE model_id = 1")
    expected = {number: float(np.frombuffer(blob, "<f4") @ query) for number, blob in stored if isinstance(blob, bytes)}
    found = vector_rows.nearest(index.reader, 1, query.tobytes(), limit)
    assert [id_ for id_, _ in found] == sorted(expected, key=lambda i: -expected[i])[:limit]
    assert [cosine for _, cosine in found] == pytest.approx(sorted(expected.values(), reverse=True)[:limit], abs=1e-6)
    condition = Condition("d.path IN ('1.md', '3.md')")
    of_two = vector_rows.cosines_of_documents(index.reader, 1, query.tobytes(), condition)
    assert dict(of_two) == pytest.approx({id_: expected[id_] for id_, _ in of_two}, abs=1e-6)
    assert len(of_two) == 2
