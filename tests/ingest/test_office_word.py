"""Test Word files: all text that Word shows is found once, and deleted or hidden text is not found."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gnod.ingest.formats import Converted
from tests.ingest.unpacked import converted, failure
from tests.office_files import doc, package

START = "word/document.xml"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006"
NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    f' xmlns:r="{_OFFICE}/relationships" xmlns:m="{_OFFICE}/math" xmlns:v="urn:schemas-microsoft-com:vml"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    ' xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    ' xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
)


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def paragraph(inner: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def part(name: str, inner: str) -> str:
    return f"<w:{name} {NAMESPACES}>{inner}</w:{name}>"


def docx(body: str, others: Mapping[str, tuple[str, str]] = {}, properties: Mapping[str, str] = {}) -> bytes:
    """Return a document. `others`: the kind and the XML of the parts to which it refers, by their names, as r1, r2."""
    parts = {START: part("document", f"<w:body>{body}</w:body>")}
    parts |= {f"word/{name}": xml for name, (_, xml) in others.items()}
    parts["docProps/core.xml"] = "".join(f"<{name}>{text}</{name}>" for name, text in properties.items())
    related = [(kind, f"word/{name}") for name, (kind, _) in others.items()]
    return package(START, parts, {START: related})


def word(body: str, others: Mapping[str, tuple[str, str]] = {}) -> Converted:
    return converted(docx(body, others), "a.docx")


def test_properties_of_the_file() -> None:
    properties = {"dc:title": "Carried &amp; kept", "dc:creator": "Ada", "dcterms:created": "2020-01-02T03:04:05Z"}
    result = converted(docx(paragraph(run("zqx")), properties=properties), "a.docx")
    assert (result.title, result.metadata) == ("Carried & kept", {"author": "Ada", "date": "2020-01-02T03:04:05Z"})
    assert result.mime.endswith("wordprocessingml.document")


def test_a_document_under_another_name_is_found_by_its_content() -> None:
    data = docx(paragraph(run("zqx")))
    for name in ("a.pptx", "a.doc", "none", "a.docm"):
        assert converted(data, name).markdown == "zqx"
    assert failure(data, "a.md").kind == "binary"


@pytest.mark.parametrize(
    "shown",
    [
        f'<w:fldSimple w:instr="AUTHOR">{run("zqx")}</w:fldSimple>',
        f'<w:ins w:id="1" w:author="A">{run("zqx")}</w:ins>',
        f'<w:moveTo w:id="1">{run("zqx")}</w:moveTo>',
        f"<w:sdt><w:sdtPr><w:alias w:val='not me'/></w:sdtPr><w:sdtContent>{run('zqx')}</w:sdtContent></w:sdt>",
        f'<w:hyperlink r:id="r9">{run("zqx")}</w:hyperlink>',
        f"<w:smartTag>{run('zqx')}</w:smartTag>",
        "<m:oMath><m:r><m:t>zqx</m:t></m:r></m:oMath>",
        f"<w:r><w:pict><v:shape><v:textbox><w:txbxContent>{paragraph(run('zqx'))}</w:txbxContent></v:textbox>"
        "</v:shape></w:pict></w:r>",
        f"<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>{paragraph(run('zqx'))}</w:txbxContent></mc:Choice>"
        f"<mc:Fallback><w:txbxContent>{paragraph(run('zqx'))}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>",
        "<w:r><mc:AlternateContent><mc:Choice><w:drawing/></mc:Choice>"
        f"<mc:Fallback><w:txbxContent>{paragraph(run('zqx'))}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>",
        '<w:r><w:pict><v:shape><v:textpath string="zqx"/></v:shape></w:pict></w:r>',
        '<w:r><w:drawing><wp:inline><wp:docPr descr="zqx"/></wp:inline></w:drawing></w:r>',
    ],
)
def test_text_that_word_shows_is_found_once(shown: str) -> None:
    markdown = word(paragraph(shown) + paragraph(run("end"))).markdown
    assert markdown.split() == ["zqx", "end"]


@pytest.mark.parametrize(
    "hidden",
    [
        '<w:del w:id="1"><w:r><w:delText>zqx</w:delText></w:r></w:del>',
        f'<w:moveFrom w:id="1">{run("zqx")}</w:moveFrom>',
        f'<w:del w:id="1"><w:ins w:id="2">{run("zqx")}</w:ins></w:del>',
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>zqx</w:t></w:r>",
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>zqx</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
        f'<w:r><w:fldChar w:fldCharType="begin"/></w:r>{run("zqx")}<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
        '<w:r><w:drawing><wp:inline><wp:docPr descr="C:\\pictures\\zqx.png"/></wp:inline></w:drawing></w:r>',
    ],
)
def test_text_that_word_does_not_show_is_omitted(hidden: str) -> None:
    assert word(paragraph(run("before ") + hidden + run("after"))).markdown == "before after"


def test_a_switch_that_is_off_hides_nothing() -> None:
    assert word(paragraph('<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>shown</w:t></w:r>')).markdown == "shown"
    assert word(paragraph(run("shown"), "<w:rPr><w:vanish/></w:rPr>")).markdown == "shown"


def test_notes_and_comments_follow_their_paragraph() -> None:
    reference = (
        '<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:endnoteReference w:id="2"/></w:r>'
        '<w:r><w:commentReference w:id="7"/></w:r>'
    )
    others = {
        "footnotes.xml": (
            "footnotes",
            part("footnotes", f'<w:footnote w:id="2">{paragraph(run("foot"))}</w:footnote>'),
        ),
        "endnotes.xml": ("endnotes", part("endnotes", f'<w:endnote w:id="2">{paragraph(run("end"))}</w:endnote>')),
        "comments.xml": (
            "comments",
            part(
                "comments",
                f'<w:comment w:id="7" w:author="Ann">{paragraph(run("why?"))}</w:comment>'
                f'<w:comment w:id="8" w:author="Bob">{paragraph(run("lost"))}</w:comment>',
            ),
        ),
    }
    result = word(paragraph(run("one") + reference + run(" sentence")) + paragraph(run("two")), others)
    assert result.markdown.split("\n\n") == ["one sentence", "foot", "end", "> Ann: why?", "two", "> Bob: lost"]


def test_headers_and_footers_that_are_shown_come_once_at_the_end() -> None:
    def header(text: str) -> tuple[str, str]:
        return "header", part("hdr", paragraph(run(text)))

    others = {f"header{number}.xml": header(text) for number, text in enumerate(("case", "first", "case", "unused"), 1)}
    section = '<w:headerReference w:type="default" r:id="r1"/><w:headerReference w:type="first" r:id="r2"/>'
    section += '<w:footerReference w:type="default" r:id="r3"/>'
    body = paragraph(run("text")) + f"<w:sectPr>{section}</w:sectPr>"
    assert word(body, others).markdown == "text\n\ncase"
    assert word(body.replace("</w:sectPr>", "<w:titlePg/></w:sectPr>"), others).markdown == "text\n\ncase\n\nfirst"


STYLES = (
    '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    '</w:style><w:style w:styleId="H2"><w:name w:val="heading 2"/><w:pPr><w:numPr><w:ilvl w:val="1"/>'
    '<w:numId w:val="1"/></w:numPr></w:pPr></w:style><w:style w:styleId="Mine"><w:basedOn w:val="H2"/></w:style>'
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="decimal"/>'
    '<w:lvlText w:val="%1"/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
    '<w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="*"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="(%2)"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
)


def test_numbers_of_headings_and_lists_are_text() -> None:
    def styled(style: str, text: str) -> str:
        return paragraph(run(text), f'<w:pStyle w:val="{style}"/>')

    def item(level: int, text: str) -> str:
        return paragraph(run(text), f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="2"/></w:numPr>')

    body = styled("T", "Name") + styled("berschrift1", "Scope") + styled("H2", "In") + styled("Mine", "Out")
    body += styled("berschrift1", "Terms") + styled("H2", "Words") + item(0, "dot") + item(1, "deep") + item(1, "er")
    others = {"styles.xml": ("styles", part("styles", STYLES)), "n.xml": ("numbering", part("numbering", NUMBERING))}
    assert [line for line in word(body, others).markdown.split("\n") if line] == [
        "# Name", "# 3 Scope", "## 3.1 In", "## 3.2 Out", "# 4 Terms", "## 4.1 Words",
        "- dot", "  (I) deep", "  (II) er",
    ]  # fmt: skip


def test_a_line_that_begins_with_a_hash_is_not_a_heading() -> None:
    assert word(paragraph(run("# of servers"))).markdown == "\\# of servers"


def test_tables_tabs_and_breaks() -> None:
    def cell(text: str) -> str:
        return f"<w:tc><w:tcPr/>{paragraph(run(text))}</w:tc>"

    inner = f"<w:tc><w:tbl><w:tr>{cell('deep')}{cell('er')}</w:tr></w:tbl></w:tc>"
    table = f"<w:tbl><w:tr>{cell('a')}{cell('b')}</w:tr><w:tr>{cell('c')}{inner}</w:tr></w:tbl>"
    line = paragraph(
        "<w:r><w:t>x</w:t><w:tab/><w:t>y</w:t><w:br/><w:t>z</w:t></w:r>", '<w:tabs><w:tab w:val="left"/></w:tabs>'
    )
    expected = "| a | b |\n| --- | --- |\n| c | deep er |\n\nx y\nz"
    assert word(table + line).markdown == expected


def test_charts_diagrams_and_embedded_pages() -> None:
    cache = "<c:strCache><c:pt><c:v>{}</c:v></c:pt></c:strCache>"
    chart = (
        f"<c:chartSpace {NAMESPACES}><c:title><c:tx><a:p><a:r><a:t>The </a:t></a:r><a:r><a:t>growth</a:t></a:r></a:p>"
        "<a:p><a:r><a:t>by year</a:t></a:r></a:p></c:tx></c:title><c:ser>"
        f"<c:tx>{cache.format('north')}</c:tx><c:cat>{cache.format('spring')}</c:cat>"
        f"<c:val><c:numCache><c:formatCode>0%</c:formatCode><c:pt><c:v>0.25</c:v></c:pt></c:numCache></c:val></c:ser>"
        "</c:chartSpace>"
    )
    data = f"<dgm:dataModel {NAMESPACES}><dgm:t><a:p><a:r><a:t>step</a:t></a:r></a:p></dgm:t></dgm:dataModel>"
    others = {
        "chart.xml": ("chart", chart),
        "data.xml": ("diagramData", data),
        "page.html": ("aFChunk", "<html><body><p>pasted</p></body></html>"),
    }
    drawn = '<w:r><w:drawing><c:chart r:id="r1"/></w:drawing><w:drawing><dgm:relIds r:dm="r2"/></w:drawing></w:r>'
    result = word(paragraph(drawn) + '<w:altChunk r:id="r3"/>', others)
    assert result.markdown.split("\n") == ["The growth", "by year", "north", "spring", "", "step", "", "pasted"]
    labelled = {**others, "chart.xml": ("chart", chart.replace("</c:ser>", '<c:showVal val="1"/></c:ser>'))}
    assert "25%" in word(paragraph(drawn), labelled).markdown
    series = chart[chart.index("<c:ser>") : chart.index("</c:chartSpace>")]
    two = f"<c:chartSpace {NAMESPACES}><c:title/>{series}{series}</c:chartSpace>"
    untitled = {**others, "chart.xml": ("chart", two)}
    assert word(paragraph(drawn), untitled).markdown.startswith("Chart Title\nnorth")


def test_links_keep_their_addresses() -> None:
    link = f'<w:hyperlink r:id="r1">{run("a site")}</w:hyperlink><w:hyperlink w:anchor="x">{run(" here")}</w:hyperlink>'
    data = package(START, {START: part("document", paragraph(link))}, {START: [("hyperlink", "https://x.example/a b")]})
    assert converted(data, "a.docx").markdown == "[a site](https://x.example/a%20b) here"


def test_strict_files_and_other_prefixes() -> None:
    strict = "http://purl.oclc.org/ooxml/wordprocessingml/main"
    xml = f'<o:document xmlns:o="{strict}"><o:body><o:p><o:r><o:t>zqx</o:t></o:r></o:p></o:body></o:document>'
    assert converted(package("other/name.xml", {"other/name.xml": xml, START: ""}, {}), "a.docx").markdown == "zqx"


def test_a_document_of_1997() -> None:
    text = "Title\rkept gone text\r\x13 PAGE \x14seven\x15\rone\x07two\x07\x07after\x1fwards\r"
    data = doc(text, notes="foot\r", headers="head\rhead\r", comments="remark\r", styles=[1], rows=[5], deleted="gone ")
    result = converted(data, "a.doc")
    assert result.markdown.split("\n\n") == [
        "# Title", "kept text", "seven", "| one | two |\n| --- | --- |", "afterwards", "foot", "> remark", "head",
    ]  # fmt: skip
    assert converted(data, "a.xls").markdown == result.markdown
