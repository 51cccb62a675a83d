"""Whether the lexical index has every word: by counting, in real databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.store.connection import Connection
from gnod.store.health import damage
from tests.small_index import SmallIndex

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


def has_lost_words(index: SmallIndex) -> bool:
    return damage.has_lost_words(index.reader)


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
        assert not has_lost_words(index)


@pytest.mark.slow
def test_documents_of_more_words_than_a_byte_can_count(index: SmallIndex) -> None:
    index.add({f"{count}.md": "kestrel " * count for count in (1, 126, 127, 128, 16_383, 16_384, 100_000)})
    assert not has_lost_words(index)


@pytest.mark.parametrize("is_empty", [False, True])
def test_a_list_of_parts_that_has_lost_some(index: SmallIndex, is_empty: bool) -> None:
    def list_of_parts(connection: Connection) -> bytes:
        return bytes(connection.execute(f"SELECT block FROM documents_fts_data WHERE id = {PARTS}").get)

    def put_back(connection: Connection) -> None:
        connection.execute(f"UPDATE documents_fts_data SET block = ? WHERE id = {PARTS}", (older,))

    index.add({"one.md": "# One\n\nkestrel"})
    older = EMPTY if is_empty else index.database.submit_read(list_of_parts).result()
    index.add({"two.md": "# Two\n\nharbour"})
    index.write(put_back)
    assert index.reader.execute("PRAGMA integrity_check").get == "ok"
    assert has_lost_words(index)
    assert damage.find(index.reader) == "words are missing from the full-text table"
