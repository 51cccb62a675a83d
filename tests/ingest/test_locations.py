"""Test the locations in files that hits name: page, slide, sheet and row, cell, message, file."""

from __future__ import annotations

import json
import mailbox
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.formats import ConversionFailed, convert
from gnod.ingest.prepare import prepare
from gnod.ingest.reading.parts import Parts
from gnod.locations import Locations, SourceLocation, decoded, encoded
from gnod.store.tables.records import PreparedDocument
from tests.office_files import epub, presentation, workbook
from tests.pdf_files import pdf

# Each word is alone on its page, slide, sheet, …
WORDS = [f"zqx{number:03}" for number in range(1, 8)]


def indexed(data: bytes, name: str) -> PreparedDocument:
    converted = convert(data, name, max_characters=1_000_000)
    return prepare(converted, relative_path=name, source_hash="0" * 64, stat=None)


def location(document: PreparedDocument, word: str) -> SourceLocation | None:
    assert document.markdown.count(word) == 1
    line = document.markdown[: document.markdown.index(word)].count("\n") + 1
    stored = decoded(encoded(document.locations))
    return stored.at(line) if stored else None


def notebook() -> bytes:
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "source": f"print('{word}')\n\n\n\nx = 1\r\ny = 2", "outputs": []} for word in WORDS
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()


def messages(folder: Path) -> bytes:
    box = mailbox.mbox(folder / "box.mbox")
    for word in WORDS:
        box.add(f"From: a@example.com\nSubject: Re: A message\n\n\n\n{word}\n".encode())
    box.close()
    return (folder / "box.mbox").read_bytes()


@pytest.mark.parametrize(
    ("name", "kind", "made"),
    [
        ("a.pdf", "page", lambda _: pdf([*WORDS[:3], "", *WORDS[4:]])),
        ("long.pdf", "page", lambda _: pdf([*WORDS, *["more"] * 60])),
        ("a.pptx", "slide", lambda _: presentation(*(("A slide", f"one point\nand {word}") for word in WORDS))),
        ("a.ipynb", "cell", lambda _: notebook()),
        ("a.mbox", "message", messages),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_each_word_is_where_it_was_written(name: str, kind: str, made: Callable[[Path], bytes], tmp_path: Path) -> None:
    document = indexed(made(tmp_path), name)
    for number, word in enumerate(WORDS, start=1):
        if word in document.markdown:
            assert location(document, word) == SourceLocation(kind, number), word  # type: ignore[arg-type]
    assert sum(word in document.markdown for word in WORDS) >= 6


def test_rows_of_a_sheet() -> None:
    costs = dict(zip(("B2", "B3", "B9", "B10"), WORDS, strict=False))
    document = indexed(workbook({"Sheet": costs, "Other | sheet": {"A4": WORDS[4]}}), "a.xlsx")
    rows = [(location(document, word) or SourceLocation("sheet", "")).row for word in WORDS[:5]]
    assert rows == [2, 3, 9, 10, 4]
    assert document.locations is not None
    assert document.locations.described == "sheets Sheet, Other | sheet"
    found = document.locations.lines("Sheet", 10)
    assert found is not None
    assert WORDS[3] in document.markdown.split("\n")[found[0] - 1]


def test_rows_of_a_table() -> None:
    rows = ["name,price", f"{WORDS[0]},1", "", f'"two\nlines",{WORDS[1]}', f"{WORDS[2]},3"]
    document = indexed("\n".join(rows).encode(), "a.csv")
    assert [location(document, word) for word in WORDS[:3]] == [SourceLocation("row", row) for row in (2, 4, 5)]
    found = document.locations
    assert found is not None
    assert (found.at(1), found.described) == (SourceLocation("row", 1), "rows from 1")
    assert [found.lines(str(row)) for row in (1, 2, 3, 4, 5)] == [(1, 1), (3, 3), (3, 3), (4, 4), (5, 5)]
    assert found.lines("0") is None
    assert found.lines("x") is None
    assert (SourceLocation("row", 4).label, SourceLocation("row", 4).fragment) == ("row 4", "row=4")


@pytest.mark.filterwarnings("ignore")
def test_chapters_of_a_book() -> None:
    data = epub(
        f"<h1>Begin &amp; end</h1><p>{WORDS[0]}</p>",
        f"<p>{WORDS[1]}</p>",
        "<img src='x.png'/>",
        f"<h2>Notes</h2><p>{WORDS[2]}</p>",
        f"<h2>Notes</h2><p>{WORDS[3]}</p>",
    )
    document = indexed(data, "a.epub")
    chapters = [(location(document, word) or SourceLocation("file", "")).value for word in WORDS[:4]]
    assert chapters == ["Begin & end", "2", "Notes", "Notes (5)"]
    assert document.markdown.startswith("**Title:** A book\n\n# Begin")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spine", ["<itemref/>", '<itemref idref="none"/>', "<unclosed>"])
def test_a_book_without_a_usable_order_is_read_as_it_is_stored(spine: str) -> None:
    document = indexed(epub(f"<p>{WORDS[0]}</p>", f"<p>{WORDS[1]}</p>", spine=spine), "a.epub")
    assert [location(document, word) for word in WORDS[:2]] == [
        SourceLocation("chapter", "1"),
        SourceLocation("chapter", "2"),
    ]


@pytest.mark.stress
def test_a_book_that_lists_a_chapter_many_times_is_refused() -> None:
    with pytest.raises(ConversionFailed) as failed:
        indexed(epub("<img/>", spine='<itemref idref="c1"/>' * 3000), "a.epub")
    assert failed.value.kind == "too_large"


def test_a_file_with_lines_has_none() -> None:
    assert indexed(b"# zqx001\n", "a.md").locations is None
    assert indexed(b"x = 'zqx001'\n", "a.py").locations is None


@given(st.lists(st.text(alphabet="ab \n\r\x0c\x00é", max_size=30), max_size=8))
def test_a_line_belongs_to_the_part_that_it_came_from(texts: list[str]) -> None:
    """This holds even if canonicalising removes blank lines, control characters and carriage returns."""
    parts = Parts("page", 10_000)
    for number, text in enumerate(texts, start=1):
        parts.add(f"{text}\nword{number}x {text}", number)
    text = f"\n\n\n{parts.markdown}" if texts else ""
    converted = convert(b"x", "x.txt", max_characters=10)
    starts = [type(start)(start.line + 3, start.value) for start in parts.locations.starts]
    moved = type(converted)(markdown=text, converter="pdf/3", locations=Locations("page", starts))
    document = prepare(moved, relative_path="a.pdf", source_hash="0" * 64, stat=None)
    for number in range(1, len(texts) + 1):
        assert location(document, f"word{number}x") == SourceLocation("page", number)


def test_what_a_reference_says() -> None:
    document = indexed(pdf(WORDS), "a.pdf")
    assert document.locations is not None
    assert document.locations.lines("7") == (13, None)
    assert document.locations.lines("2") == (3, 4)
    assert document.locations.lines("8") is None
    assert document.locations.described == "pages 1 to 7"
