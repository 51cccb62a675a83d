"""Test the characters of a PDF page, and their positions on the displayed page."""

from __future__ import annotations

import pytest

from gnod.ingest.formats.pdf.page_text import Rect, read_page
from gnod.ingest.reading.layers import runs_of
from gnod.ingest.reading.result import ConversionFailed
from tests.pdf_files import page_of_text, pdf

# Helvetica at 10 points: a box is 10.5 points high, of which 2 are below the base line.
WORD = b"BT /F1 10 Tf 150 600 Td (word) Tj ET"


def box_of_word(data: bytes) -> Rect:
    page = read_page(data, 1)
    start = page.text.index("word")
    boxes = page.boxes[4 * start : 4 * (start + 4)]
    return min(boxes[0::4]), min(boxes[1::4]), max(boxes[2::4]), max(boxes[3::4])


@pytest.mark.parametrize(
    ("page", "size", "corner"),
    [
        (b"/MediaBox[0 0 612 792]", (612, 792), (150, 192)),
        (b"/MediaBox[0 0 612 792]/CropBox[100 200 500 700]", (400, 500), (50, 100)),
        (b"/MediaBox[-50 -50 612 792]", (662, 842), (200, 192)),
        (b"/MediaBox[0 0 612 792]/Rotate 90", (792, 612), (600, 150)),
        (b"/MediaBox[0 0 612 792]/Rotate 180", (612, 792), (462, 600)),
        (b"/MediaBox[0 0 612 792]/Rotate 270/CropBox[100 200 500 700]", (500, 400), (100, 350)),
    ],
)
def test_boxes_refer_to_the_displayed_page(page: bytes, size: tuple[float, float], corner: tuple[float, float]) -> None:
    """`corner`: the start of the base line of the text, from the upper left corner."""
    data = page_of_text(WORD, page=page)
    read = read_page(data, 1)
    assert (read.width, read.height) == size
    left, top, right, bottom = box_of_word(data)
    assert left - 0.1 <= corner[0] <= right + 0.1
    assert top - 0.1 <= corner[1] <= bottom + 0.1
    assert sorted([round(right - left), round(bottom - top)]) in ([11, 22], [12, 22])


def test_changes_of_the_text_by_pdfium_are_undone() -> None:
    hyphen = page_of_text(b"BT /F1 12 Tf 72 700 Td (an exam-) Tj 0 -14 Td (ple \\(a\\)) Tj ET")
    page = read_page(hyphen, 1)
    assert page.text == "an exam-\nple (a)"
    assert len(page.boxes) == 4 * len(page.text)
    assert list(page.boxes[4 * 8 : 4 * 9]) == [0, 0, 0, 0]


def test_other_pages_and_pages_that_do_not_exist() -> None:
    assert read_page(pdf(["one", "two"]), 2).text == "two"
    assert read_page(b"junk " + pdf(["one", ""]), 2).text == ""
    for data, number, message in (
        (pdf(["one"]), 2, "has 1 pages, so it has no page 2"),
        (pdf(["one"])[:80], 1, "is cut off"),
        (b"", 1, "is cut off"),
    ):
        with pytest.raises(ConversionFailed, match=message):
            read_page(data, number)


def test_runs_end_at_lines_and_wide_gaps() -> None:
    columns = b"BT /F1 10 Tf 72 700 Td (left column) Tj 200 0 Td (right) Tj -200 -14 Td (next line) Tj ET"
    read = read_page(page_of_text(columns), 1)
    runs = list(runs_of(read.text, read.boxes))
    assert [run.text.strip() for run in runs] == ["left column", "right", "next line"]
    assert "".join(run.text for run in runs) == read.text + "\n"
    assert [round(run.left) for run in runs] == [72, 272, 72]
    assert all(run.left < run.right and run.top < run.bottom for run in runs)
    assert list(runs_of("", [])) == []
