"""Detection of damage, and the data that survive it: complete vectors and manual switches. Uses real files."""

from __future__ import annotations

import itertools
import random
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.errors import DatabaseCorrupt, OutdatedDatabase
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.health import damage
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece
from tests.small_index import SmallIndex

URI = "file:/models/one.gguf"
DIMENSIONS = 384
DOCUMENTS = 300


def vector(number: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.random.default_rng(number).standard_normal(DIMENSIONS).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a closed database. Each document has a vector in two pieces."""
    path = tmp_path / "index-default.sqlite"
    index = SmallIndex(path)
    index.add({f"{number}.md": f"# Number {number}\n\nkestrel {number}" for number in range(DOCUMENTS)})

    def embed(connection: Connection) -> None:
        pending = vectors.pending(connection, URI, ["notes"], DOCUMENTS)
        pieces = {
            chunk.embed_hash: [StoredPiece(vector(2 * i), 0, 7, 0, 0), StoredPiece(vector(2 * i + 1), 7, None, 0, None)]
            for i, chunk in enumerate(pending)
        }
        vectors.put(connection, URI, pieces)

    index.database.submit_write(embed).result()
    index.database.submit_write(vectors.pause_embedding).result()
    index.close()
    return path


def stored(path: Path) -> dict[tuple[object, ...], object]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute("SELECT embed_hash, start, end, line, last_line, embedding FROM content_vectors")
        return {row[:-1]: row[-1] for row in rows}
    finally:
        connection.close()


def change(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_every_vector_of_an_intact_database_is_kept(path: Path) -> None:
    before = stored(path)
    damage.renew(path)
    assert stored(path) == before
    database = Database(path)
    assert database.submit_read(vectors.is_embedding_paused).result()
    assert database.submit_read(damage.find).result() is None
    database.close()


@pytest.mark.slow
def test_only_intact_vectors_of_a_damaged_database_are_kept(path: Path) -> None:
    before = stored(path)
    whole = path.read_bytes()
    kept_of = []
    for seed in range(5):
        path.write_bytes(whole)
        chance = random.Random(seed)
        with path.open("r+b") as file:
            pages = path.stat().st_size // 4096
            for page in chance.sample(range(pages // 3, pages), 12):
                file.seek(page * 4096)
                file.write(chance.randbytes(4096))
        damage.delete_quarantined(path)  # a fourth time within an hour would raise
        damage.renew(path)
        kept = stored(path)
        assert kept.items() <= before.items()
        assert len(kept) % 2 == 0, "no chunk has only one of its two"
        kept_of.append(len(kept))
    # If the damaged page is the root of the table, nothing can be read.
    assert sum(kept > DOCUMENTS for kept in kept_of) >= 3, kept_of


@pytest.mark.stress
def test_the_cache_of_a_connection_does_not_count_as_damage(tmp_path: Path) -> None:
    """The check runs on a connection that searched before another connection wrote."""
    index = SmallIndex(tmp_path / "index.sqlite")
    numbers = itertools.count()

    def write(documents: int) -> None:
        for number in itertools.islice(numbers, documents):
            index.add({f"{number}.md": "kestrel " + f"filler{number} " * 2000})

    for documents in range(1, 16):
        write(documents)
        index.search("kestrel")
        write(documents)
        assert index.database.submit_read(damage.find).result() is None
    index.close()


def test_invalid_vectors_and_incomplete_chunks_are_not_kept(path: Path) -> None:
    change(
        path,
        "UPDATE content_vectors SET embedding = zeroblob(length(embedding)) WHERE id = 2",
        "UPDATE content_vectors SET embedding = x'00' WHERE id = 3",
        "DELETE FROM content_vectors WHERE id IN (5, 8)",
    )
    damage.renew(path)
    assert len(stored(path)) == 2 * (DOCUMENTS - 4)


def test_nothing_is_kept_of_random_bytes(path: Path) -> None:
    size = path.stat().st_size
    path.write_bytes(random.Random(1).randbytes(size))
    damage.renew(path)
    assert stored(path) == {}
    [(left, _)] = damage.quarantined(path)
    assert left.stat().st_size == size


def test_the_log_is_quarantined_too_and_nothing_is_overwritten(path: Path) -> None:
    for _ in range(3):
        path.with_name(path.name + "-wal").write_bytes(b"the last writes")
        damage.renew(path)
        assert not path.with_name(path.name + "-wal").exists()
    lefts = [left for left, _ in damage.quarantined(path)]
    assert len({left.name for left in lefts}) == 3
    for left in lefts:
        assert left.with_name(left.name + "-wal").exists()
    with pytest.raises(DatabaseCorrupt, match="may be failing"):
        damage.renew(path)
    damage.delete_quarantined(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_crash_during_quarantine_is_recovered(path: Path) -> None:
    wal = path.with_name(path.name + "-wal")
    wal.write_bytes(b"the last writes")
    wal.rename(path.with_name(f"{path.name}.damaged-20200101T000000-wal"))  # the crash, before the others
    damage.renew(path)
    path.unlink()  # the crash, before a new database was created
    Database(path).close()
    assert len(damage.quarantined(path)) == 1


def test_a_damaged_header_is_distinguished_from_a_foreign_file(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * 16)
    with pytest.raises(DatabaseCorrupt):
        Database(path)


@pytest.mark.slow
def test_every_vector_of_an_outdated_index_is_kept_and_it_does_not_count_as_damage(path: Path) -> None:
    before = stored(path)
    change(
        path,
        "UPDATE schema_meta SET value = 'other' WHERE key = 'fingerprint'",
        "DROP TABLE endpoints",
    )
    for _ in range(5):
        with pytest.raises(OutdatedDatabase):
            Database(path)
        damage.renew(path, "outdated")
        assert stored(path) == before
        change(path, "DELETE FROM schema_meta WHERE key = 'fingerprint'", "DROP TABLE endpoints")
    assert not damage.happens_too_often(path)
    assert [reason for _, reason in damage.quarantined(path)] == ["outdated"] * 3
    damage.renew(path)
    assert [reason for _, reason in damage.quarantined(path)] == ["damaged"] + ["outdated"] * 3
    damage.delete_quarantined(path)
    assert damage.quarantined(path) == []


def test_vectors_of_an_outdated_index_with_long_keys_are_kept(path: Path) -> None:
    """Before the first release, a key was the whole hash in hex."""
    before = stored(path)
    connection = apsw.Connection(str(path))
    connection.create_scalar_function("long", lambda *keys: urlsafe_b64decode(str(keys[0])).hex() + "0" * 34)
    connection.execute("UPDATE content_vectors SET embed_hash = long(embed_hash)")
    connection.close()
    damage.renew(path, "outdated")
    assert stored(path) == before


PARTS = 10  # the id of FTS5's list of parts
EMPTY = bytes.fromhex("00000001 ff000001 00 00 00")
texts = st.lists(st.sampled_from(["kestrel", "harbour", "C++", "東京都", "the"]), max_size=400).map(" ".join)
paths = st.integers(0, 5).map(lambda number: f"{number}.md")
edits = st.lists(st.one_of(st.tuples(paths, texts), paths), max_size=12)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path / "index.sqlite")
    yield index
    index.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=edits)
def test_whatever_is_added_changed_and_removed_nothing_is_lost(
    edits: list[tuple[str, str] | str], index: SmallIndex
) -> None:
    for edit in edits:
        if isinstance(edit, str):
            index.remove(edit)
        else:
            index.add(dict([edit]))
        assert not damage.has_lost_words(index.reader)


@pytest.mark.slow
def test_documents_of_more_words_than_a_byte_can_count(index: SmallIndex) -> None:
    index.add({f"{count}.md": "kestrel " * count for count in (1, 126, 127, 128, 16_383, 16_384, 100_000)})
    assert not damage.has_lost_words(index.reader)


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_list_of_parts_with_missing_parts_is_damage(index: SmallIndex, is_empty: bool) -> None:
    def list_of_parts(connection: Connection) -> bytes:
        return bytes(connection.execute(f"SELECT block FROM documents_fts_data WHERE id = {PARTS}").get)

    def put_back(connection: Connection) -> None:
        connection.execute(f"UPDATE documents_fts_data SET block = ? WHERE id = {PARTS}", (older,))

    index.add({"one.md": "# One\n\nkestrel"})
    older = EMPTY if is_empty else index.database.submit_read(list_of_parts).result()
    index.add({"two.md": "# Two\n\nharbour"})
    index.write(put_back)
    assert index.reader.execute("PRAGMA integrity_check").get == "ok"
    assert damage.has_lost_words(index.reader)
    assert damage.find(index.reader) == "words are missing from the full-text table"
