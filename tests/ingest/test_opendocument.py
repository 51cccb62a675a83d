"""Test OpenDocument and RTF: the text, its location, and files with a misleading name."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from benchmarks.hostile_samples import zipped
from gnod.locations import SourceLocation
from tests.ingest.unpacked import converted, failure

_NAMES = "office text table style presentation meta"
_OPEN = "".join(
    [
        "<office:document-content",
        *(f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in _NAMES.split()),
        ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink">',
    ]
)


def opendocument(
    kind: str, body: str, before: str = "", files: Mapping[str, bytes] | None = None, **members: str
) -> bytes:
    element = {"graphics": "drawing"}.get(kind, kind)
    body = f"<office:body><office:{element}>{body}</office:{element}></office:body>"
    xml = f"{before}{_OPEN}{body}</office:document-content>"
    main = {"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": xml}
    return zipped({**main, **(files or {}), **{name.replace("_", "."): text for name, text in members.items()}})


def test_text() -> None:
    body = """
    <style:style style:name="P1" style:parent-style-name="Title"/>
    <text:p text:style-name="P1">The lake</text:p>
    <text:h text:outline-level="2">Boats<text:line-break/>and oars</text:h>
    <text:p>One<text:s text:c="2"/>two &amp; <text:a xlink:href="http://x">a site</text:a><text:note>
      <text:note-citation>1</text:note-citation><text:note-body><text:p>a note</text:p></text:note-body
      ></text:note>.</text:p>
    <text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
    <text:list><text:list-item><text:p>first</text:p><text:p>more</text:p><text:list><text:list-item><text:p>deeper</text:p>
      </text:list-item></text:list></text:list-item><text:list-item><text:p>second</text:p></text:list-item></text:list>
    <table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell>
      <table:table-cell><text:p>c|d</text:p></table:table-cell></table:table-row></table:table>
    <text:p>before <draw:frame><draw:text-box><text:p>in a box</text:p></draw:text-box></draw:frame>after</text:p>"""
    meta = "<x><dc:title>A &amp; B</dc:title><meta:initial-creator>Mara</meta:initial-creator></x>"
    result = converted(opendocument("text", body, meta_xml=meta), "a.odt")
    assert result.title == "A & B"
    assert result.metadata == {"author": "Mara"}
    assert result.mime == "application/vnd.oasis.opendocument.text"
    assert result.markdown == (
        "# The lake\n\n## Boats and oars\n\nOne two & [a site](http://x) (a note).\n\n"
        "- first\n  more\n  - deeper\n- second\n\n| a b | c\\|d |\n| --- | --- |\n\nin a box\n\nbefore after"
    )


def test_workbook() -> None:
    def row(*cells: str, repeat: int = 1) -> str:
        return f'<table:table-row table:number-rows-repeated="{repeat}">{"".join(cells)}</table:table-row>'

    def cell(text: str, repeat: int = 1) -> str:
        return f'<table:table-cell table:number-columns-repeated="{repeat}"><text:p>{text}</text:p></table:table-cell>'

    body = (
        f'<table:table table:name="Costs">{row(cell("head"), cell("", 2), cell("x", 2))}{row(cell("", 999), repeat=6)}'
        f"{row(cell('zqx'))}{row(cell('', 999_999_999), repeat=999_999_999)}</table:table>"
        '<table:table table:name="Dates"><table:table-row><table:table-cell office:date-value="2025-01-02"/>'
        "</table:table-row></table:table>"
    )
    result = converted(opendocument("spreadsheet", body), "a.ods")
    assert result.markdown == (
        "## Costs\n\n| head |  |  | x | x |\n| --- | --- | --- | --- | --- |\n| zqx |\n\n"
        "## Dates\n\n| 2025-01-02 |\n| --- |"
    )
    assert result.locations is not None
    assert result.locations.at(5) == SourceLocation("sheet", "Costs", 8)
    assert result.locations.at(9) == SourceLocation("sheet", "Dates", 1)


@pytest.mark.parametrize(
    ("kind", "name", "location"), [("presentation", "a.odp", "slide"), ("graphics", "a.odg", "page")]
)
def test_slides_and_pages(kind: str, name: str, location: str) -> None:
    page = (
        '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Title {0}</text:p></draw:text-box>'
        "</draw:frame><draw:frame><draw:text-box><text:p>zqx{0}</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><text:p>{1}</text:p></presentation:notes></draw:page>"
    )
    result = converted(opendocument(kind, page.format(1, "say this") + page.format(2, "")), name)
    assert result.markdown == "# Title 1\n\nzqx1\n\n### Notes:\n\nsay this\n\n# Title 2\n\nzqx2"
    assert result.locations is not None
    assert result.locations.at(11) == SourceLocation(location, 2)  # type: ignore[arg-type]


@pytest.mark.stress
def test_bad_opendocument_files_say_why() -> None:
    assert failure(opendocument("text", "<text:p>never closed"), "a.odt").kind == "corrupt"
    assert failure(opendocument("text", ""), "a.odt").kind == "empty"
    cut = opendocument("text", "<text:p>x</text:p>")[:-50]
    assert failure(cut, "a.odt").message == "The .odt file is cut off: its end is missing."
    mime = "application/vnd.oasis.opendocument.text"
    assert failure(zipped({"mimetype": mime, "content.xml": b"\xff\xfe\0"}), "a.odt").kind == "corrupt"
    assert failure(zipped({"mimetype": mime}), "a.odt").kind == "corrupt"
    manifest = "<manifest:encryption-data/>"
    locked = zipped({"META-INF/manifest.xml": manifest, "mimetype": mime, "content.xml": "unreadable"})
    assert failure(locked, "a.odt").kind == "encrypted"
    cells = '<table:table-cell table:number-columns-repeated="99999"><text:p>x</text:p></table:table-cell>' * 99
    rows = f'<table:table-row table:number-rows-repeated="999999">{cells}</table:table-row>'
    assert failure(opendocument("spreadsheet", f"<table:table>{rows}</table:table>"), "a.ods").kind == "too_long"


def test_the_text_before_the_damage_is_kept() -> None:
    table = "<table:table><table:table-row><table:table-cell><text:p>cell</text:p></table:table-cell></table:table-row>"
    for kind, name in (("text", "a.odt"), ("spreadsheet", "a.ods"), ("presentation", "a.odp")):
        result = converted(opendocument(kind, f"{table}<text:p>never closed"), name)
        assert "| cell |" in result.markdown
        assert result.left_out == {"corrupt": "The file is damaged: not all of content.xml can be read."}


def test_odd_opendocument_files_are_quick() -> None:
    started = time.process_time()
    deep = "<text:list><text:list-item><text:p>x</text:p>" * 20_000 + "</text:list-item></text:list>" * 20_000
    assert converted(opendocument("text", deep + "<text:p>zqx</text:p>"), "a.odt").markdown.endswith("zqx")
    assert converted(opendocument("text", f"<text:p>{'x' * 900_000}</text:p>"), "a.odt").markdown == "x" * 900_000
    stray = "<table:table-cell/><text:list-item/></table:table>".replace("</table:table>", "<table:table-row/>")
    assert converted(opendocument("text", stray + "<text:p>zqx</text:p>"), "a.odt").markdown == "zqx"
    assert time.process_time() - started < 10


# --- RTF


def test_rich_text() -> None:
    source = (
        rb"{\rtf1\ansi\ansicpg1250{\fonttbl{\f0 Arial;}}{\info{\title Zpr\'e1va \u233?t\'e9}{\author Mara}}"
        rb"{\*\generator Word;}Caf\'e9 \u8364? \u-10179?\u-8704?\par\pard opt\-ional\par\par"
        rb"\trowd a\cell b\cell\row}"
    )
    result = converted(source, "a.rtf")
    assert result.title == "Zpráva été"
    assert result.metadata == {"author": "Mara"}
    assert result.markdown.split("\n") == ["Café € 😀", "", "optional", "", "a | b"]
    assert converted(source, "letter.doc").mime == "application/rtf"


@pytest.mark.parametrize(
    "source",
    [rb"{\rtf1", rb"{\rtf1}", rb"{\rtf1 {\pict\bin99999 xx}}", rb"{\rtf1\u99999999999 }", rb"{\rtf1 \uc\u233}",
     rb"{\rtf1{\fonttbl{\f0\fcharset999 x;}}\f0\'", rb"{\rtf1{\pict\bin}}"],
)  # fmt: skip
def test_bad_rich_text_says_why(source: bytes) -> None:
    assert failure(source, "a.rtf").kind in ("corrupt", "empty")


@pytest.mark.slow
def test_rich_text_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnod.ingest.formats.office.richtext._LIMIT_S", 0.5)
    slow = rb"{\rtf1 " + rb"{\field{\*\fldinst{HYPERLINK " * 100_000
    assert failure(slow, "a.rtf").kind in ("timeout", "empty")


def test_the_content_decides_whether_a_file_is_rich_text() -> None:
    assert converted(rb"{\rtf1 hello}", "a.txt").markdown == "hello"
    assert converted(rb"{\rtf1 hello}", "a.doc").markdown == "hello"
    assert converted(b"a plain note", "a.rtf").markdown == "a plain note"
    assert failure(b"\0\x01\x02" * 50, "a.rtf").kind == "binary"


def test_comments_follow_their_paragraph_and_headers_come_once_at_the_end() -> None:
    author = '<dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Ann</dc:creator>'
    remark = f"<office:annotation>{author}<text:p>why?</text:p></office:annotation>"
    header = "<style:header><text:p>Draft</text:p></style:header><style:footer><text:p>Draft</text:p></style:footer>"
    styles = f"{_OPEN}<office:master-styles>{header}</office:master-styles></office:document-content>"
    text = opendocument("text", f"<text:p>one{remark} sentence</text:p><text:p>two</text:p>", styles_xml=styles)
    assert converted(text, "a.odt").markdown == "one sentence\n\n> why?\n\ntwo\n\nDraft"
    cell = f"<table:table-cell>{remark}<text:p>5</text:p></table:table-cell>"
    table = f'<table:table table:name="T"><table:table-row>{cell}</table:table-row></table:table>'
    sheet = converted(opendocument("spreadsheet", table), "a.ods").markdown
    assert sheet == "## T\n\n| 5 |\n| --- |\n\n> why?"
