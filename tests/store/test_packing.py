"""Compressed texts are read back unchanged, with any dictionary and after any crash. Also tests short keys."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gnod.errors import DatabaseCorrupt
from gnod.ingest.text.canonical import canonicalise, digest
from gnod.store import packing
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.tables import documents, texts
from tests.small_index import SmallIndex, prepared

WORDS = ("harbour", "crane", "tide", "Möwe", "船", "ledger", "invoice", "winter", "signal", "north")


def text_of(number: int) -> str:
    """Return a unique text of common words."""
    digest = sha256(str(number).encode()).digest()
    return f"# Note {number}\n\n" + " ".join(WORDS[byte % len(WORDS)] for byte in digest * 2) + "\n"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = Database(tmp_path_factory.mktemp("packing") / "index.sqlite", use_knn=False)
    yield database
    database.close()


def store(connection: Connection, key: str, text: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO mirrors (mirror_hash, markdown, packed, title) VALUES (?, ?, ?, '')",
        (key, *packing.pack(connection, text)),
    )


def stored(connection: Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT mirror_hash, markdown FROM content"))


# SQLite's substr() ends at a NUL, which no canonical text contains.
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@example("")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_back_unchanged(database: Database, text: str) -> None:
    def work(connection: Connection) -> None:
        store(connection, "any", text)
        assert stored(connection)["any"] == text
        assert texts.stretch(connection, "any", 1, 5) == text[1:5]
        assert "".join(texts.parts(connection, "any")) == text
        assert texts.whole(connection, "any") == text
        packed = connection.execute("SELECT packed FROM mirrors WHERE mirror_hash = 'any'").get
        assert packing.size(packed) == len(text.encode())

    database.submit_write(work).result()


@pytest.mark.slow
def test_texts_stay_readable_after_new_dictionaries(tmp_path: Path) -> None:
    database = Database(tmp_path / "index.sqlite", use_knn=False)

    def add(connection: Connection, first: int, last: int) -> None:
        for number in range(first, last):
            store(connection, str(number), text_of(number))
        packing.train_when_due(connection)

    def add_and_fail(connection: Connection) -> None:
        add(connection, 600, 1_200)
        raise ValueError("half way")

    database.submit_write(lambda c: add(c, 0, 600)).result()
    with pytest.raises(ValueError, match="half way"):
        database.submit_write(add_and_fail).result()
    assert database.submit_read(lambda c: c.execute("SELECT count(*) FROM dictionaries").get).result() == 0
    database.submit_write(lambda c: add(c, 700, 1_300)).result()  # makes a dictionary from other texts
    database.submit_write(lambda c: add(c, 1_300, 9_700)).result()
    expected = {str(number): text_of(number) for number in (*range(600), *range(700, 9_700))}
    assert database.submit_read(stored).result() == expected
    ids = [
        id_ for (id_,) in database.submit_read(lambda c: c.execute("SELECT id FROM dictionaries").fetchall()).result()
    ]
    assert len(set(ids)) == 2
    database.close()
    again = Database(tmp_path / "index.sqlite", use_knn=False)
    assert again.submit_read(stored).result() == expected
    again.close()


def test_a_long_text_is_stored_uncompressed(database: Database) -> None:
    text = "a line of the log\n" * 70_000

    def work(connection: Connection) -> object:
        store(connection, "long", text)
        assert stored(connection)["long"] == text
        return connection.execute("SELECT packed FROM mirrors WHERE mirror_hash = 'long'").get

    assert database.submit_write(work).result() is None
    assert "".join(database.submit_read(lambda c: list(texts.parts(c, "long"))).result()) == text


def test_equal_short_texts_make_no_dictionary_and_no_error(tmp_path: Path) -> None:
    database = Database(tmp_path / "index.sqlite", use_knn=False)

    def work(connection: Connection) -> None:
        for number in range(1_000):
            store(connection, str(number), "")
        packing.train_when_due(connection)
        store(connection, "next", "some words")

    database.submit_write(work).result()
    assert database.submit_read(stored).result()["next"] == "some words"
    database.close()


@pytest.mark.parametrize(
    "damage", ["packed = x'28b52ffd'", "packed = x''", "packed = zeroblob(50)", "packed = x'28b52ffd2301000000'"]
)
def test_a_damaged_text_is_a_damaged_index(tmp_path: Path, damage: str) -> None:
    database = Database(tmp_path / "index.sqlite", use_knn=False)
    database.submit_write(lambda c: store(c, "one", text_of(1))).result()
    database.submit_write(lambda c: c.execute(f"UPDATE mirrors SET {damage}")).result()
    with pytest.raises(DatabaseCorrupt):
        database.submit_read(stored).result()
    database.close()


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans())
def test_the_hash_is_restored_from_key_and_row(text: str, is_own: bool) -> None:
    whole = digest(text if is_own else f"asciidoc\0{text}")
    rest = packing.rest_of_hash(whole, text)
    key = packing.short_key(whole)
    assert (rest is None) == is_own
    assert len(key) == 20
    assert packing.hash_of_key(key, rest, text) == whole
    assert packing.short_key(key) == key


@pytest.mark.slow
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,3}\.(md|txt|py|adoc)", fullmatch=True),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        min_size=1,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_read_back_unchanged(small_index: SmallIndex, texts: dict[str, str]) -> None:
    small_index.add(texts)

    def check(connection: Connection) -> None:
        for path, text in texts.items():
            given = prepared(text, path)
            found = documents.by_path(connection, "notes", path)
            assert found is not None
            assert documents.markdown(connection, found.mirror_hash) == given.markdown == canonicalise(text)
            assert documents.content_digest(connection, found.mirror_hash) == given.mirror_hash
            assert documents.count_chunks(connection, found.mirror_hash) == len(given.chunks)
            assert found.mirror_hash == packing.short_key(given.mirror_hash)
            assert found in documents.by_docid(connection, given.source_hash[:12])
            assert found in documents.by_docid(connection, given.source_hash[:6])

    small_index.database.submit_read(check).result()
    small_index.remove(*texts)


def test_an_invalid_hash_has_no_key() -> None:
    with pytest.raises(ValueError, match="hex"):
        packing.short_key("x" * 64)
    assert packing.short_key(sha256(b"a").hexdigest()) == "ypeBEsobvcr6wjGzmiPc"
