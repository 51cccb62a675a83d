"""Formats that markitdown and other libraries read, on small files made here."""

from __future__ import annotations

import io
import time

import pytest

from benchmarks.hostile_samples import zipped
from gnod.ingest.formats import ConversionFailed, Converted, convert
from tests.pdf_files import pdf

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def converted(data: bytes, name: str) -> Converted:
    return convert(data, name, max_characters=50_000_000)


def docx(body: str, doctype: str = "", core: str = "") -> bytes:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return zipped(
        {
            "[Content_Types].xml": (
                '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
                '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
                f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>'
            ),
            "_rels/.rels": (
                '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
                'Id="r1" Target="word/document.xml" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
                'relationships/officeDocument"/></Relationships>'
            ),
            "word/document.xml": f'{doctype}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
            "docProps/core.xml": core,
        }
    )


def test_docx() -> None:
    core = (
        '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>Carried &amp; kept</dc:title>'
        "<dc:creator>Ada</dc:creator><dcterms:created>2020-01-02T03:04:05Z</dcterms:created></cp:coreProperties>"
    )
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Head</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>text zqx</w:t></w:r></w:p>"
    )
    result = converted(docx(body, core=core), "a.docx")
    assert "text zqx" in result.markdown
    assert result.title == "Carried & kept"
    assert result.metadata == {"author": "Ada", "date": "2020-01-02T03:04:05Z"}
    assert result.mime.endswith("wordprocessingml.document")


def test_docx_under_another_name_is_found_by_its_content() -> None:
    data = docx("<w:p><w:r><w:t>text zqx</w:t></w:r></w:p>")
    for name in ("a.pptx", "a.doc", "none", "a.docm"):
        assert "zqx" in converted(data, name).markdown
    with pytest.raises(ConversionFailed, match="binary"):
        converted(data, "a.md")


def test_docx_cannot_read_files() -> None:
    data = docx("<w:p><w:r><w:t>&x; zqx87</w:t></w:r></w:p>", '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>')
    result = converted(data, "a.docx")
    assert "zqx87" in result.markdown
    assert "root:" not in result.markdown


def test_pptx() -> None:
    from pptx import Presentation

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Slide zqx"
    slide.placeholders[1].text = "point"
    buffer = io.BytesIO()
    deck.save(buffer)
    result = converted(buffer.getvalue(), "a.pptx")
    assert "# Slide zqx" in result.markdown
    assert "point" in result.markdown
    assert result.title is None  # "PowerPoint Presentation" is nobody's title


def test_xlsx() -> None:
    import datetime as dt

    from openpyxl import Workbook  # type: ignore[import-untyped]

    book = Workbook()
    sheet = book.active
    sheet.title = "Numbers"
    sheet.append(["name", "value", "when"])
    sheet.append(["a|b", 3.0, dt.datetime(2020, 1, 2)])
    sheet.append([])
    sheet.append([None, 2.5, True])
    book.create_sheet("Empty")
    buffer = io.BytesIO()
    book.save(buffer)
    result = converted(buffer.getvalue(), "a.xlsx")
    assert result.converter == "xlsx/3"
    assert result.markdown == (
        "## Numbers\n\n| name | value | when |\n| --- | --- | --- |\n"
        "| a\\|b | 3 | 2020-01-02 0:00:00 |\n|  | 2.5 | TRUE |"
    )


def test_pdf() -> None:
    result = converted(pdf(), "a.pdf")
    assert "Hello zqx PDF" in result.markdown
    assert result.title == "A real title"
    assert result.metadata == {"author": "Ada", "date": "2020-01-02"}
    assert result.converter == "pdf/3"


def test_pdf_after_junk_and_without_an_extension() -> None:
    assert "zqx" in converted(b"garbage\n" * 200 + pdf(), "a.pdf").markdown
    assert "zqx" in converted(pdf(), "download").markdown


def test_a_long_pdf_is_read_quickly() -> None:
    started = time.process_time()
    result = converted(pdf(["Hello zqx PDF"] * 400), "book.pdf")
    assert result.markdown.count("Hello zqx PDF") == 400
    assert result.converter == "pdf/3"
    assert time.process_time() - started < 10


def test_a_pdf_without_text_is_empty_and_one_of_nonsense_corrupt() -> None:
    with pytest.raises(ConversionFailed, match="scan"):
        converted(pdf([""]), "a.pdf")
    with pytest.raises(ConversionFailed, match="cut off"):
        converted(b"%PDF-1.7\n", "a.pdf")


def test_epub() -> None:
    data = zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>',
            "o.opf": (
                '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Book</dc:title></metadata>'
                '<manifest><item id="c" href="c.xhtml"/></manifest><spine><itemref idref="c"/></spine></package>'
            ),
            "c.xhtml": "<html><body><h1>Chapter</h1><p>text zqx</p></body></html>",
        }
    )
    result = converted(data, "a.epub")
    assert "# Chapter" in result.markdown
    assert result.title == "Book"


def test_html() -> None:
    page = (
        '<html><head><meta charset="shift_jis"><title>題 &amp; name</title></head><body><h1>見出し</h1><p>本文 '
        '<a href="http://127.0.0.1:9/">link</a><img src="data:image/png;base64,' + "A" * 500 + '"></p></body></html>'
    )
    result = converted(page.encode("shift_jis"), "a.html")
    assert "# 見出し" in result.markdown
    assert "data:image/png;base64..." in result.markdown
    assert "AAAA" not in result.markdown
    assert result.title == "題 & name"


@pytest.mark.parametrize("name", ["a.html", "a.xls", "noextension", "a.xhtml", "a.xml"])
def test_html_is_found_by_content(name: str) -> None:
    result = converted(b"<!DOCTYPE html>\n<html><body><p>one <b>two</b></p></body></html>", name)
    assert result.mime == "text/html"
    assert result.markdown == "one **two**"


def test_deep_html_gives_its_text() -> None:
    result = converted(b"<div>" * 20_000 + b"zqx79" + b"</div>" * 20_000, "a.html")
    assert result.markdown.strip() == "zqx79"


def test_tag_soup_gives_its_text() -> None:
    soup = b'<html><body><p>one<p>two<table><tr><td>zqx80<b><i><a href="' + b"x" * 100_000
    assert "zqx80" in converted(soup, "a.html").markdown


@pytest.mark.parametrize(("paragraphs", "limit_s"), [(10_000, 5), pytest.param(250_000, 30, marks=pytest.mark.stress)])
def test_a_huge_page_gives_its_text_in_time(paragraphs: int, limit_s: float) -> None:
    page = b"<title>Big</title><body>" + b"<p>some <b>words</b> here &amp; there</p>\n" * paragraphs + b"<p>zqx99</p>"
    started = time.process_time()
    result = converted(page, "a.html")
    assert time.process_time() - started < limit_s
    lines = result.markdown.replace("**", "").split()  # the larger page is read as plain text
    assert " ".join(lines[-6:]) == "some words here & there zqx99"
    assert result.title == "Big"


def test_feed() -> None:
    feed = (
        '<?xml version="1.0" encoding="iso-8859-1"?><rss version="2.0"><channel><title>Söme feed</title>'
        "<item><title>First</title><description>&lt;p&gt;body zqx&lt;/p&gt;</description></item></channel></rss>"
    )
    result = converted(feed.encode("iso-8859-1"), "a.xml")
    assert result.markdown.startswith("# Söme feed")
    assert "## First" in result.markdown
    assert "<rss" not in result.markdown
    assert result.title == "Söme feed"
