"""Test formats that markitdown and other libraries read, with small generated files."""

from __future__ import annotations

import time

import pytest

from gnod.ingest.formats import ConversionFailed
from tests.ingest.unpacked import converted
from tests.office_files import package, presentation
from tests.pdf_files import pdf

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str, core: str = "") -> bytes:
    document = f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    return package("word/document.xml", {"word/document.xml": document, "docProps/core.xml": core}, {})


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


def test_pptx() -> None:
    result = converted(presentation(("Slide zqx", "point")), "a.pptx")
    assert "# Slide zqx" in result.markdown
    assert "point" in result.markdown
    assert result.title is None  # "PowerPoint Presentation" is not a real title


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
