"""Web pages: what a reader of the page sees, in the order of reading; news feeds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.markup import without_marks
from gnod.ingest.formats import convert
from gnod.ingest.formats.visible_html import page_text
from gnod.ingest.prepare import prepare
from gnod.ingest.reading.cpu_time import limit_cpu_time
from tests.ingest.unpacked import converted


def text_of(body: str) -> str:
    """Return the text of a page, and check that reading its structure gives the same words."""
    page = f"<html><head><title>t</title></head><body>{body}</body></html>"
    structured = without_marks(convert(page.encode(), "a.html", max_characters=100_000).markdown).replace("\u200b", "")
    plain = page_text(page).removeprefix("t\n")
    assert all(word in structured for word in plain.split())
    return plain


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>昨日、<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>に着いた。</p>", "昨日、東京に着いた。（とう きょう）"),
        (
            "<p><ruby>瞬<rp>(</rp><rt>しゅん</rt><rp>)</rp></ruby><ruby>間<rt>かん</rt></ruby></p>",
            "瞬間（しゅん かん）",
        ),
        ("<p><ruby><rb>食</rb><rp>（<rt>た<rp>）</ruby>べる</p>", "食べる（た）"),
        ("<p>wide<wbr>break <b>H</b>ello AT&amp;T caf&eacute;</p>", "widebreak Hello AT&T café"),
        ("a<p hidden>gone<p>there", "a\nthere"),
        ("<div style='color: red; display : none'>a<div>b</div>c</div>shown", "shown"),
        ("<span style='visibility:hidden'>gone</span>shown", "shown"),
        ("<div hidden=until-found>folded</div>", "folded"),
        ("<template><p>gone</p></template><noscript>gone</noscript>shown<dialog>gone</dialog>", "shown"),
        ("<dialog open>asked</dialog>", "asked"),
        ("<input hidden>shown<br hidden>too", "shown\ntoo"),
        ("<ul><li hidden>gone<li>kept</ul>", "kept"),
        ("<nav>Home<script>gone</script></nav><style>gone</style>text", "text\nHome"),
        ("<p>The word hidden is <i>not</i> an attribute.</p>", "The word hidden is not an attribute."),
    ],
)
def test_the_text_is_the_displayed_text(body: str, text: str) -> None:
    assert text_of(body) == text


def test_navigation_comes_after_the_text() -> None:
    page = "<body><nav><ul><li>Home<li>About</ul></nav><main><h1>Title</h1><p>text</p></main></body>"
    assert page_text(page).split() == ["Title", "text", "Home", "About"]
    markdown = convert(page.encode(), "a.html", max_characters=1000).markdown
    assert markdown.index("text") < markdown.index("Home")


TAGS = ["nav", "ruby", "rt", "rp", "p", "div", "template", "li", "ul", "b"]
PIECES = [f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS] + ["<p hidden>", "word ", "&amp;", "<!-- x -->"]


@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_any_page_is_read(pieces: list[str]) -> None:
    shown = page_text("".join(pieces))
    assert shown.count("word") <= pieces.count("word ")
    if not {"<template>", "<rp>", "<p hidden>"} & set(pieces):
        assert shown.count("word") == pieces.count("word ")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["<nav>", "<p hidden>", "<ruby><rt>", "<div style='display:none'>", "</nav>"])
def test_no_page_takes_long(part: str) -> None:
    with limit_cpu_time(30):
        page_text(part * 50_000)


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<title>Site</title><p>menu</p><h1>Name</h1><h2>Part</h2>", "Name"),
        ("<title>Site</title><h2>Part</h2>", "Site"),
        ("<h2>Part</h2><p>x</p>", "Part"),
        ("<p>x</p>", "page"),
    ],
)
def test_the_title_of_a_page(page: str, title: str) -> None:
    result = convert(f"<html><body>{page}</body></html>".encode(), "page.html", max_characters=9_999)
    found = prepare(result, relative_path="page.html", source_hash="", stat=None)
    assert found.title == title


@pytest.mark.slow
def test_a_page_in_another_encoding() -> None:
    page = (
        '<html><head><meta charset="shift_jis"><title>題 &amp; name</title></head><body><h1>見出し</h1><p>本文 '
        '<a href="http://127.0.0.1:9/">link</a><img src="data:image/png;base64,' + "A" * 500 + '"></p></body></html>'
    )
    result = converted(page.encode("shift_jis"), "a.html")
    assert "# 見出し" in result.markdown
    assert "data:image/png;base64..." in result.markdown
    assert "AAAA" not in result.markdown
    assert result.title == "題 & name"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.html", "a.xls", "noextension", "a.xhtml", "a.xml"])
def test_a_page_is_found_by_its_content(name: str) -> None:
    result = converted(b"<!DOCTYPE html>\n<html><body><p>one <b>two</b></p></body></html>", name)
    assert result.mime == "text/html"
    assert result.markdown == "one **two**"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_deep_page_gives_its_text() -> None:
    result = converted(b"<div>" * 20_000 + b"zqx79" + b"</div>" * 20_000, "a.html")
    assert result.markdown.strip() == "zqx79"


@pytest.mark.slow
def test_tag_soup_gives_its_text() -> None:
    soup = b'<html><body><p>one<p>two<table><tr><td>zqx80<b><i><a href="' + b"x" * 100_000
    assert "zqx80" in converted(soup, "a.html").markdown


@pytest.mark.slow
@pytest.mark.parametrize(("paragraphs", "limit_s"), [(10_000, 20), pytest.param(250_000, 60, marks=pytest.mark.stress)])
def test_a_huge_page_gives_its_text_in_time(paragraphs: int, limit_s: float) -> None:
    page = b"<title>Big</title><body>" + b"<p>some <b>words</b> here &amp; there</p>\n" * paragraphs + b"<p>zqx99</p>"
    started = time.process_time()
    result = converted(page, "a.html")
    assert time.process_time() - started < limit_s
    lines = result.markdown.replace("**", "").split()  # the larger page is read as plain text
    assert " ".join(lines[-6:]) == "some words here & there zqx99"
    assert result.title == "Big"


@pytest.mark.slow
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
