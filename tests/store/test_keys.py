"""Short keys: any hash is found again, and an index of an older version is the same with either form."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.ingest.canonical import canonicalise, digest
from gnod.shared.local import shared_document
from gnod.store import keys
from gnod.store.database import Connection, Database
from gnod.store.documents import changes, documents, writing
from gnod.store.vectors import vector_rows, vectors
from tests.small_index import SmallIndex, prepared
from tests.store.killing import kill_in_the_middle
from tests.store.test_upgrades import MODEL, SCHEMAS, assert_whole, contents_of, goes_on, old_index, schema

OLD = 20  # the last version with long keys
KEYED = ("mirrors", "chunks", "content_vectors", "embedding_errors", "unembedded")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An index with long keys, of which two documents are one file, and the recognised page of a scan."""
    notes = tmp_path / "notes"
    shutil.copytree(SCHEMAS / "notes", notes)
    return old_index(OLD, tmp_path / "old.sqlite", notes)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_a_key_and_what_is_stored_with_it_give_the_hash(text: str, is_own: bool) -> None:
    whole = digest(text if is_own else f"asciidoc\0{text}")
    rest = keys.rest_of(whole, text)
    key = keys.shortened(whole)
    assert (rest is None) == is_own
    assert len(key) == 20
    assert keys.digest_of(key, rest, text) == keys.digest_of(whole, None, text) == whole
    assert keys.shortened(key) == key


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,3}\.(md|txt|py|adoc)", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        min_size=1,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_read_again(small_index: SmallIndex, texts: dict[str, str]) -> None:
    small_index.add(texts)

    def check(connection: Connection) -> None:
        for path, text in texts.items():
            given = prepared(text, path)
            found = documents.by_path(connection, "notes", path)
            assert found is not None
            assert documents.markdown(connection, found.mirror_hash) == given.markdown == canonicalise(text)
            assert documents.content_digest(connection, found.mirror_hash) == given.mirror_hash
            assert documents.count_chunks(connection, found.mirror_hash) == len(given.chunks)
            assert found.text_key == keys.shortened(given.mirror_hash)
            assert found in documents.by_docid(connection, given.source_hash[:12])
            assert found in documents.by_docid(connection, given.source_hash[:6])

    small_index.database.submit_read(check).result()
    small_index.remove(*texts)


def seen(connection: Connection) -> dict[str, object]:
    """Return what the functions of the store say about the index, without keys."""
    found = documents.under(connection, "notes", "", -1, 0)
    assert found
    model = vector_rows.model(connection, MODEL)
    assert model
    places = vector_rows.places(connection, model.id)
    blocks = [(rows.tolist(), block.tolist()) for rows, block in vector_rows.blocks(connection, model.id, 100)]
    return {
        "documents": [each._replace(mirror_hash="") for each in found],
        "texts": [documents.markdown(connection, each.mirror_hash) for each in found],
        "hashes": [documents.content_digest(connection, each.mirror_hash) for each in found],
        "published": [shared_document(connection, each, MODEL, 20.0)[0] for each in found],
        "vectors": blocks,
        "places": sorted(zip(*(each.tolist() for each in places), strict=True)),
        "means": [
            None if mean is None else mean.tolist()
            for mean in (vectors.document_vector(connection, each.mirror_hash, MODEL) for each in found)
        ],
        "failed": [each[1:] for each in vectors.failed(connection, MODEL)],
        "pending": [each[1:] for each in vectors.pending(connection, MODEL, ["notes"], 100)],
        "coverage": vectors.coverage(connection, {"notes": MODEL}),
        "pending of another model": sorted(p[1:] for p in vectors.pending(connection, "file:/b", ["notes"], 100)),
        "changes": [changes.present(connection), vector_rows.last_change(connection)],
    }


def test_an_older_index_is_the_same_with_short_keys(old: Path) -> None:
    database = Database(old)
    read, maintain = database.submit_read, database.submit_maintenance
    # One text waits for its vector.
    database.submit_write(
        lambda c: c.execute("DELETE FROM content_vectors WHERE id = (SELECT max(id) FROM content_vectors)").get
    ).result()
    before = read(seen).result()
    assert len(before["pending"]) == len(before["failed"]) == 1  # type: ignore[arg-type]
    assert not read(keys.are_short).result()
    tables, shape = contents_of(old), schema(old)
    maintain(keys.shorten_all).result()
    assert read(keys.are_short).result()
    assert read(seen).result() == before
    assert schema(old) == shape
    after = contents_of(old)
    assert {table: len(rows) for table, rows in after.items()} == {table: len(rows) for table, rows in tables.items()}
    assert not any(has_long_key(row) for table in KEYED for row in after[table])
    maintain(assert_whole).result()

    # Everything works on: a text that is put again keeps its vector, one that leaves takes it with it.
    def put_again(connection: Connection) -> None:
        for path in ("garten.md", "сад.md"):
            document = documents.by_path(connection, "notes", path)
            if document:
                text = documents.markdown(connection, document.mirror_hash)
                writing.put(connection, 1, path, prepared(text, path), now=1.0)

    count: Callable[[Connection], object] = lambda c: c.execute("SELECT count(*) FROM content_vectors").get  # noqa: E731
    vectors_before = read(count).result()
    database.submit_write(put_again).result()
    assert read(count).result() == vectors_before
    paths = [each.path for each in read(lambda c: documents.under(c, "notes", "", -1, 0)).result()]
    database.submit_write(lambda c: writing.remove(c, 1, paths)).result()
    assert read(count).result() == 0
    assert read(lambda c: c.execute("SELECT count(*) FROM unembedded").get).result() == 0
    maintain(assert_whole).result()
    database.close()


def has_long_key(row: tuple[object, ...]) -> bool:
    return any(isinstance(value, str) and len(value) == 64 for value in row)


def test_an_older_index_keeps_its_keys_and_vectors_until_then(old: Path) -> None:
    database = Database(old)

    def change(connection: Connection) -> None:
        kept = connection.execute("SELECT id, embed_hash FROM content_vectors").fetchall()
        for each in documents.under(connection, "notes", "", -1, 0):
            new = prepared(documents.markdown(connection, each.mirror_hash), each.path)
            if each.mime == "text/markdown":
                writing.put(connection, 1, each.path, new, now=1.0)
                writing.put(connection, 1, f"copies/{each.path}", new, now=1.0)
        assert connection.execute("SELECT id, embed_hash FROM content_vectors").fetchall() == kept
        writing.put(connection, 1, "new.md", prepared("# New\n\nA new text.", "new.md"), now=1.0)
        chunk = vectors.pending(connection, MODEL, ["notes"], 1)[0]
        assert chunk.text.endswith("A new text.")
        assert vectors.put(connection, MODEL, {chunk.embed_hash: [vectors.Piece(vector_rows.mean(connection, 1))]}) == 1

    database.submit_write(change).result()
    read = database.submit_read
    lengths = read(lambda c: c.execute("SELECT DISTINCT length(mirror_hash) FROM mirrors").fetchall()).result()
    assert lengths == [(64,)]
    before = read(seen).result()
    database.submit_maintenance(keys.shorten_all).result()
    assert read(seen).result() == before
    database.close()


def test_whatever_ends_it_leaves_the_long_keys(old: Path) -> None:
    Database(old).close()
    before = (schema(old), contents_of(old))
    for statements in itertools.count(0, 97):
        connection = apsw.Connection(str(old))
        connection.set_exec_trace(partial(goes_on, itertools.count(), statements))
        try:
            keys.shorten_all(connection)
            break
        except apsw.ExecTraceAbort:
            pass
        finally:
            connection.set_exec_trace(None)
            connection.close()
        assert (schema(old), contents_of(old)) == before, statements
    assert statements > 97


def test_a_kill_leaves_the_long_keys(old: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from gnod.store import keys; from gnod.store.database import Database\n"
        "database = Database(Path(sys.argv[1]), use_knn=False)\n"
        "shorten = keys._shorten\n"
        "def slowly(connection, table, *more):\n"
        "    if table == 'chunks': connection.cache_flush(); print('middle', flush=True); sys.stdin.read()\n"
        "    shorten(connection, table, *more)\n"
        "keys._shorten = slowly\n"
        "database.submit_maintenance(keys.shorten_all).result()\n"
    )
    database = Database(old)
    before = database.submit_read(seen).result()
    database.close()
    kill_in_the_middle(script, old)
    database = Database(old)
    assert not database.submit_read(keys.are_short).result()
    assert database.submit_read(seen).result() == before
    database.submit_maintenance(keys.shorten_all).result()
    assert database.submit_read(seen).result() == before
    database.close()


def test_a_hash_that_is_none_is_no_key() -> None:
    with pytest.raises(ValueError, match="hex"):
        keys.shortened("x" * 64)
    assert keys.shortened(sha256(b"a").hexdigest()) == "ypeBEsobvcr6wjGzmiPc"
