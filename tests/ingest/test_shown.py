"""What is shown of files: the characters of a PDF page and where they are, and the pictures in a note."""

from __future__ import annotations

import pytest
from PIL import Image

from gnod.ingest.formats.pdf.page_text import Rect, read_page
from gnod.ingest.formats.pdf.shown import shown_picture
from gnod.ingest.reading.layers import PictureRead, runs_of
from gnod.ingest.reading.result import ConversionFailed
from tests.pdf_files import page_of_text, pdf
from tests.pictures import encoded

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


# ---- pictures in a note: what stays as it is, what becomes smaller, and what is refused with a reason

SVG = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>x</script></svg>'


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_browsers_show_stays_as_it_is(kind: str) -> None:
    data = encoded(Image.new("RGB", (30, 20), "red"), kind=kind)
    assert shown_picture(data, is_svg=False) == PictureRead(mime=f"image/{kind.lower()}", data=data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_an_svg_stays_as_it_is(encoding: str) -> None:
    data = SVG.encode(encoding)
    assert shown_picture(data, is_svg=True) == PictureRead(mime="image/svg+xml", data=data)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kind"), [((5000, 4000), "PNG"), ((30, 20), "BMP"), ((30, 20), "TIFF")])
def test_others_become_jpeg(size: tuple[int, int], kind: str) -> None:
    shown = shown_picture(encoded(Image.new("RGB", size, "red"), kind=kind), is_svg=False)
    assert (shown.mime, shown.data[:2]) == ("image/jpeg", b"\xff\xd8")


@pytest.mark.parametrize(
    ("data", "is_svg", "reason"),
    [
        (SVG.encode() + b" " * 2_000_000, True, "The SVG has 2.0 MB; at most 2 MB are shown."),
        (b"root:x:0:0", True, "The file is not an SVG."),
        (b"root:x:0:0", False, "The image is damaged: its header cannot be read."),
        (b"", False, "The image is damaged: its header cannot be read."),
        (pdf(["text"]), False, "The image is damaged: its header cannot be read."),
        (encoded(Image.new("1", (20_000, 20_000))), False, "The image has 400 megapixels; at most 120 are read."),
    ],
)
def test_what_is_not_shown_has_a_reason(data: bytes, is_svg: bool, reason: str) -> None:
    with pytest.raises(ConversionFailed) as failed:
        shown_picture(data, is_svg=is_svg)
    assert failed.value.message == reason
