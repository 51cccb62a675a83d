"""Test optical character recognition: limits of pictures, the text of a page, and which pages need it."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from gnod import extras
from gnod.ingest.formats import ConversionFailed, convert
from gnod.ingest.formats.pdf.text_layer import is_garbage
from gnod.ingest.ocr import layout, readers
from gnod.ingest.ocr.layout import RecognisedLine
from gnod.ingest.ocr.page import recognise
from gnod.ingest.ocr.readers import Reader
from gnod.ingest.reading import pictures
from gnod.ingest.reading.result import MAX_PAGES, Scans
from gnod.store.tables.records import RecognisedPage
from tests.ingest.test_opendocument import opendocument
from tests.pdf_files import pdf
from tests.pictures import drawn, encoded, png_header

RAPID = Reader(rapid=True)


def read(data: bytes, page: int = 1) -> RecognisedPage:
    pytest.importorskip("rapidocr", reason="the extra `ocr` is not installed")
    return recognise(data, page, RAPID)


def scans_of(data: bytes, name: str, **known: str) -> tuple[Scans, str]:
    scans = Scans({int(number[1:]): text for number, text in known.items()}, None)
    return scans, convert(data, name, max_characters=10**6, scans=scans).markdown


def at(text: str, left: float, top: float, width: float = 300) -> RecognisedLine:
    return RecognisedLine(text, 1.0, [(left, top), (left + width, top), (left + width, top + 20), (left, top + 20)])


@pytest.mark.slow
@pytest.mark.stress
def test_a_page_is_read_in_every_orientation() -> None:
    lines = ["Die Würde des Menschen", "ist unantastbar; sie zu", "achten und zu schützen", "costs 1,299.50 in 2024"]
    page = drawn(*lines)
    for turned in (0, 2, 90, 180):
        found = read(encoded(page.rotate(turned, fillcolor="white", expand=True)))
        assert found.text.split() == " ".join(lines).split(), turned
        assert found.confidence > 0.9
        boxes = struct.unpack(f"={4 * len(lines)}H", found.boxes)  # left, top, right, bottom of each line
        left, top, right, bottom = boxes[:4]
        assert left < right
        assert top < bottom
        first = {0: top < 2500, 2: top < 2500, 90: left < 2500, 180: bottom > 7500}
        assert first[turned], (turned, boxes)


@pytest.mark.slow
def test_chinese_and_japanese() -> None:
    lines = ["人人生而自由", "すべての人間は、生まれながらにして自由である"]
    assert "".join(read(encoded(drawn(*lines, font="cjk"))).text.split()) == "".join(lines)


@pytest.mark.slow
def test_a_page_without_letters_has_no_text_and_a_foreign_script_is_reported() -> None:
    assert read(encoded(Image.new("RGB", (900, 600), "white"))) == RecognisedPage(text="", confidence=0.0, boxes=b"")
    found = read(encoded(drawn("Признание достоинства, присущего", "всем членам человеческой семьи")))
    assert found.text == ""
    assert "script" in (found.problem or "")


def test_the_text_of_a_page_is_in_reading_order() -> None:
    columns = [at(f"{side}{row}", left, 30.0 * row) for row in range(4) for side, left in (("a", 0.0), ("b", 400.0))]
    text, boxes = layout.text_of(layout.arranged([at("Title", 0, -100, 700), *columns]))
    assert text == "Title\n\na0\na1\na2\na3\n\nb0\nb1\nb2\nb3"
    assert len(boxes) == 9
    cells = [at(f"{side}{row}", left, 30.0 * row, 60) for row in range(4) for side, left in (("a", 0.0), ("b", 400.0))]
    assert layout.text_of(layout.arranged(cells))[0] == "a0 b0\na1 b1\na2 b2\na3 b3"


def test_divided_words_are_joined() -> None:
    text, _ = layout.text_of(layout.arranged([at("Gerech-", 0, 0), at("tigkeit und Frieden", 0, 30)]))
    assert text == "Gerechtigkeit\nund Frieden"


def test_which_pages_of_a_pdf_are_recognised() -> None:
    scan = encoded(drawn("zqx01"), drawn("zqx02"), kind="PDF")
    scans, text = scans_of(scan, "a.pdf")
    assert (scans.pending, text) == ([1, 2], "")
    scans, text = scans_of(scan, "a.pdf", p1="first page", p2="second page")
    assert (scans.pending, scans.used, text) == ([], 2, "first page\n\nsecond page")
    scans, text = scans_of(pdf(["written", "", "more"]), "a.pdf")  # the second page has a small rectangle
    assert not scans.found


def test_a_mixed_pdf_keeps_its_pages_apart() -> None:
    import pypdfium2  # type: ignore[import-untyped]

    mixed = pypdfium2.PdfDocument(pdf(["written words"]))
    mixed.import_pages(pypdfium2.PdfDocument(encoded(drawn("scanned"), kind="PDF")))
    buffer = io.BytesIO()
    mixed.save(buffer)
    scans = Scans({2: "scanned words"}, None)
    converted = convert(buffer.getvalue(), "a.pdf", max_characters=10**6, scans=scans)
    assert converted.markdown.split() == ["written", "words", "scanned", "words"]
    assert converted.locations is not None
    assert [start.value for start in converted.locations.starts] == [1, 2]


def presentation(*words: str) -> bytes:
    """Return slides with a title and the picture of a word. The second slide comes first."""
    from pptx import Presentation

    deck = Presentation()
    for number, word in enumerate(words):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
        slide.shapes.add_picture(io.BytesIO(encoded(drawn(word))), 0, 0)
    order = deck.slides._sldIdLst
    order.insert(0, order[1])
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def test_pictures_in_a_presentation_belong_to_their_slides() -> None:
    data = presentation("zqxone", "zqxtwo")
    assert scans_of(data, "a.pptx")[0].pending == [1, 2]
    scans = Scans({1: "zqxone", 2: "zqxtwo"}, None)
    converted = convert(data, "a.pptx", max_characters=10**6, scans=scans)
    assert converted.locations is not None
    first, second = (converted.locations.at(line) for line in _lines_with(converted.markdown, "zqxtwo", "zqxone"))
    assert first is not None
    assert second is not None
    assert (first.value, second.value) == (1, 2)


@pytest.mark.slow
def test_pictures_in_a_document_and_a_book() -> None:
    picture = encoded(drawn("Totals zqxthree"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
        )
        book.writestr(
            "b.opf",
            '<package><metadata/><manifest><item id="a" href="a.xhtml"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
        )
        book.writestr("a.xhtml", "<html><body><p>chapter</p></body></html>")
        book.writestr("images/a.png", picture)
        book.writestr("images/bullet.png", b"\x89PNG small")
    data = buffer.getvalue()
    assert scans_of(data, "a.epub")[0].pending == [1]
    text = read(data).text
    assert text == "Totals zqxthree"
    assert scans_of(data, "a.epub", p1=text)[1].strip() == "chapter\n\nTotals zqxthree"


def test_pictures_in_an_opendocument_file_stay_in_their_place() -> None:
    shown = '<draw:frame><draw:image xlink:href="./Pictures/1.png"/></draw:frame>'
    body = f"<draw:page><text:p>one</text:p></draw:page><draw:page>{shown}<text:p>two</text:p></draw:page>"
    data = opendocument(
        "presentation",
        body,
        files={"Pictures/1.png": encoded(drawn("Totals zqxthree")), "Thumbnails/1.png": b"x" * 3000},
    )
    assert scans_of(data, "a.odp")[0].pending == [1]
    converted = convert(data, "a.odp", max_characters=10**6, scans=Scans({1: "zqxone"}, None))
    assert converted.markdown.split() == ["one", "zqxone", "two"]
    assert converted.locations is not None
    found = converted.locations.at(_lines_with(converted.markdown, "zqxone")[0])
    assert found is not None
    assert found.value == 2


def _lines_with(text: str, *words: str) -> list[int]:
    return [next(number for number, line in enumerate(text.split("\n"), 1) if word in line) for word in words]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 9, False),
        ("Strč prst skrz krk. Zmrzl, zhltl hrst zrn. Příliš žluťoučký kůň úpěl ďábelské ódy. " * 9, False),
        ("人类家庭所有成员的固有尊严" * 9, False),
        ("4711 0815 1234 kg/m3 " * 30, False),
        ("\ue001\ue002\ue003 \ue004" * 30, True),
        ("(cid:12)(cid:7) (cid:99)" * 30, True),
        ("\ufffd\ufffd ab \ufffd" * 30, True),
        ("WKH TXLFN EURZQ IRA MXPSV RYHU WKH ODCB GRJ FRGH VKLIWHG " * 9, True),
        ("short \ufffd", False),
    ],
)
def test_a_text_layer_that_is_garbage(text: str, expected: bool) -> None:
    assert is_garbage(text) is expected


@pytest.mark.parametrize("data", [png_header(25_000, 20_000), png_header(2**31 - 1, 2**31 - 1)])
def test_a_huge_picture_is_refused_by_its_header(data: bytes) -> None:
    with pytest.raises(ConversionFailed) as failed:
        scans_of(data, "a.png")
    assert failed.value.kind in ("too_large", "corrupt")


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n" + bytes(50), b"\xff\xd8\xff\xe0" + bytes(50), b"II*\0"])
def test_a_damaged_picture(data: bytes) -> None:
    for broken in (data, encoded(drawn("zqx"))[:-400]):
        with pytest.raises(ConversionFailed, match="damaged"):
            pictures.frame(broken, 1)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGBA", "CMYK", "I;16", "I", "F", "YCbCr"])
def test_pictures_of_every_mode(mode: str) -> None:
    kind = "TIFF" if mode in ("CMYK", "I;16", "I", "F", "YCbCr", "PA") else "PNG"
    page = Image.new("L", (200, 100), 9).convert("L" if mode == "PA" else mode)
    assert pictures.frame(encoded(page, kind=kind), 1).mode == "RGB"


def test_a_fax_is_scaled_with_greys() -> None:
    """Scaling a one-bit page without greys would lose the thin parts of letters."""
    page = drawn("zqx").resize((4000, 540)).convert("1")
    shades = pictures.frame(encoded(page, kind="TIFF"), 1).convert("L").getcolors() or []
    assert len(shades) > 10


def test_each_page_of_a_tiff_and_not_of_an_icon() -> None:
    tiff = encoded(*[Image.new("L", (200, 100), shade) for shade in (0, 100, 200)], kind="TIFF")
    assert scans_of(tiff, "a.tiff")[0].pending == [1, 2, 3]
    assert pictures.frame(tiff, 3).getpixel((0, 0)) == (200, 200, 200)
    with pytest.raises(ConversionFailed):
        pictures.frame(tiff, 4)
    with pytest.raises(ConversionFailed) as failed:
        scans_of(encoded(Image.new("L", (16, 16))), "a.png")
    assert failed.value.kind == "empty"


def test_a_long_scan_is_read_up_to_a_limit() -> None:
    scans = Scans({}, None)
    for number in range(1, 20_001):
        scans.text(number)
    assert len(scans.pending) == MAX_PAGES
    assert scans.note == "20,000 of its pages or pictures have no text; OCR reads the first 2,000"


INSTALL = f"reading it needs OCR: run `{extras.command('ocr')}`"


def test_an_image_says_why_it_is_not_read() -> None:
    for refusal in (readers.OFF, INSTALL):
        with pytest.raises(ConversionFailed, match=refusal[:12]) as failed:
            convert(encoded(drawn("zqx")), "a.png", max_characters=99, scans=Scans(refusal=refusal))
        assert failed.value.kind == "needs_ocr"


@pytest.mark.parametrize(
    ("setting", "has_rapid", "installed", "expected"),
    [
        ("on", True, "", "rapidocr"),
        ("on", True, "eng rus", "rapidocr+tesseract:rus"),
        ("on", False, "eng", "tesseract:eng"),
        ("de,ja", True, "rus", "rapidocr"),
        ("ru,de", True, "rus deu", "tesseract:rus+tesseract:deu"),
        ("on", False, "", INSTALL),
        ("off", True, "rus", readers.OFF),
        ("ru", True, "eng", "the languages in `ocr` need tesseract: install tesseract-ocr-rus"),
    ],
)
def test_which_program_reads(setting: str, has_rapid: bool, installed: str, expected: str) -> None:
    chosen = readers._choose(setting, has_rapid=has_rapid, installed=installed.split())
    assert (chosen.name if isinstance(chosen, Reader) else chosen) == expected
    if isinstance(chosen, Reader):
        assert readers.named(chosen.name) == chosen


def test_the_models_are_in_the_wheel() -> None:
    """Nothing is downloaded: the machine may be offline, and the sandbox blocks the network."""
    pytest.importorskip("rapidocr", reason="the extra `ocr` is not installed")
    from gnod.ingest.ocr import rapid

    assert all(Path(rapid._model(part)).stat().st_size > 100_000 for part in ("det", "rec"))
