"""Texts read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gnod.store.database import Database
from gnod.store.tables import texts

LINES = "".join(f"Zeile {number}: Straßen über Brücken 😀\n" for number in range(40_000))
WORDS = "wörter ohne ende " * 100_000 + "\n"
ONE_WORD = "ü" * 1_000_000 + "\n"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "index.sqlite", use_knn=False)
    yield database
    database.close()


def stored(database: Database, text: str) -> None:
    database.submit_write(
        lambda c: c.execute("INSERT INTO mirrors (mirror_hash, markdown, title) VALUES ('m', ?, '')", (text,))
    ).result()


def test_an_ordinary_text_is_one_part(database: Database) -> None:
    stored(database, "# Title\n\nText.\n")
    assert database.submit_read(lambda c: list(texts.parts(c, "m"))).result() == ["# Title\n\nText.\n"]
    assert database.submit_read(lambda c: list(texts.parts(c, "absent"))).result() == []


@pytest.mark.parametrize(("text", "is_whole"), [("", True), ("short ü text\n", True), (LINES, False)])
def test_a_long_text_is_not_read_whole(database: Database, text: str, is_whole: bool) -> None:
    stored(database, text)
    found = database.submit_read(lambda c: (texts.whole(c, "m"), texts.whole(c, "absent"))).result()
    assert found == (text if is_whole else None, None)


@pytest.mark.parametrize(("text", "end"), [(LINES, "\n"), (WORDS, " "), (ONE_WORD, "ü")])
def test_a_long_text_comes_in_parts_that_end_with_a_line_or_else_with_a_word(
    database: Database, text: str, end: str
) -> None:
    stored(database, text)
    parts = database.submit_read(lambda c: list(texts.parts(c, "m"))).result()
    assert "".join(parts) == text
    assert len(parts) > 3
    assert all(part.endswith(end) for part in parts[:-1])


@pytest.mark.parametrize("text", ["short ü text\n", LINES])
def test_stretch_returns_a_slice_of_the_text(database: Database, text: str) -> None:
    stored(database, text)
    for start, end in ((0, 5), (3, len(text)), (len(text) // 2, len(text) // 2 + 300_000), (2, 2)):
        found = database.submit_read(lambda c, s=start, e=end: texts.stretch(c, "m", s, e)).result()  # type: ignore[misc]
        assert found == text[start:end]
