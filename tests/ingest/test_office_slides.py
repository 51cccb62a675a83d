"""Test presentations and drawings: the text of each slide with notes and comments, masters once, and no prompts."""

from __future__ import annotations

import struct

import pytest

from gnod.ingest.formats import Converted, convert
from gnod.ingest.formats.office import metafile
from tests.office_files import Slide, package, ppt, presentation, vsdx

START = "ppt/presentation.xml"
_OFFICE = "http://schemas.openxmlformats.org"
NAMESPACES = (
    f'xmlns:p="{_OFFICE}/presentationml/2006/main" xmlns:a="{_OFFICE}/drawingml/2006/main"'
    f' xmlns:r="{_OFFICE}/officeDocument/2006/relationships" xmlns:c="{_OFFICE}/drawingml/2006/chart"'
    f' xmlns:dgm="{_OFFICE}/drawingml/2006/diagram" xmlns:p188="http://schemas.microsoft.com/office/powerpoint/2018/8/main"'
)


def body(text: str) -> str:
    return f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody>"


def shape(text: str, placeholder: str = "") -> str:
    mark = f'<p:ph type="{placeholder}"/>' if placeholder else ""
    return f"<p:sp><p:nvSpPr><p:cNvPr id='1' name='n'/><p:nvPr>{mark}</p:nvPr></p:nvSpPr>{body(text)}</p:sp>"


def part(name: str, inner: str, attributes: str = "") -> str:
    return f"<p:{name} {NAMESPACES} {attributes}><p:cSld><p:spTree>{inner}</p:spTree></p:cSld></p:{name}>"


def deck(slides: list[str], others: dict[str, tuple[str, str]] | None = None) -> Converted:
    """Convert slides that share a layout and a master. `others`: other parts to which the first slide refers."""
    layout, master = "ppt/slideLayouts/l.xml", "ppt/slideMasters/m.xml"
    names = [f"ppt/slides/slide{number}.xml" for number in range(1, len(slides) + 1)]
    listed = "".join(f'<p:sldId r:id="r{number}"/>' for number in range(1, len(slides) + 1))
    authors = '<p:cmAuthorLst xmlns:p="{}"><p:cmAuthor id="0" name="Ann"/></p:cmAuthorLst>'
    parts = {
        START: f"<p:presentation {NAMESPACES}>{listed}</p:presentation>",
        "ppt/authors.xml": authors.format(f"{_OFFICE}/presentationml/2006/main"),
        layout: part("sldLayout", shape("Click to add", "title") + shape("layout text")),
        master: part("sldMaster", shape("Click to edit", "body") + shape("master text")),
        **dict(zip(names, slides, strict=True)),
        **{name: xml for name, (_, xml) in (others or {}).items()},
    }
    relations = {name: [("slideLayout", layout)] for name in names}
    relations[names[0]] += [(kind, name) for name, (kind, _) in (others or {}).items()]
    relations |= {layout: [("slideMaster", master)], START: [*(("slide", name) for name in names)]}
    relations[START].append(("commentAuthors", "ppt/authors.xml"))
    return convert(package(START, parts, relations), "a.pptx", max_characters=100_000)


def test_shapes_groups_and_tables() -> None:
    cell = f"<a:tc>{body('cell').replace('p:txBody', 'a:txBody')}</a:tc>"
    table = f"<p:graphicFrame><a:tbl><a:tr>{cell}{cell}</a:tr></a:tbl></p:graphicFrame>"
    inner = (
        shape("plain") + f"<p:grpSp><p:grpSp>{shape('nested')}</p:grpSp></p:grpSp>" + table + shape("Name", "ctrTitle")
    )
    result = deck([part("sld", inner, 'showMasterSp="0"')])
    assert result.markdown == "# Name\n\nplain\n\nnested\n\n| cell | cell |\n| --- | --- |"
    assert result.locations is not None
    assert result.locations.at(3) == result.locations.at(1)


def test_the_title_that_powerpoint_gives_is_none() -> None:
    assert convert(presentation(("Slide", "point")), "a.pptx", max_characters=99).title is None


def test_text_of_masters_comes_once_and_prompts_never() -> None:
    result = deck([part("sld", shape("one")), part("sld", shape("two"))])
    assert result.markdown.split("\n\n") == ["one", "layout text", "master text", "two"]


def test_notes_comments_charts_and_diagrams() -> None:
    notes = part("notes", shape("spoken", "body") + shape("7", "sldNum") + shape("", "sldImg"))
    old = f'<p:cmLst {NAMESPACES}><p:cm authorId="0"><p:text>why?</p:text></p:cm></p:cmLst>'
    new = (
        f'<p188:cmLst {NAMESPACES}><p188:cm authorId="0"><p188:replyLst><p188:reply authorId="9">'
        f"<p188:txBody><a:p><a:r><a:t>because</a:t></a:r></a:p></p188:txBody></p188:reply></p188:replyLst>"
        f"<p188:txBody><a:p><a:r><a:t>thread</a:t></a:r></a:p></p188:txBody></p188:cm></p188:cmLst>"
    )
    chart = f"<c:chartSpace {NAMESPACES}><c:cat><c:strCache><c:v>spring</c:v></c:strCache></c:cat></c:chartSpace>"
    data = f"<dgm:dataModel {NAMESPACES}><dgm:t><a:p><a:r><a:t>step</a:t></a:r></a:p></dgm:t></dgm:dataModel>"
    others = {
        "ppt/notes.xml": ("notesSlide", notes),
        "ppt/old.xml": ("comments", old),
        "ppt/new.xml": ("comments", new),
        "ppt/chart.xml": ("chart", chart),
        "ppt/data.xml": ("diagramData", data),
    }
    texts = deck([part("sld", shape("text"), 'showMasterSp="0"')], others).markdown.split("\n\n")
    assert texts == ["text", "step", "spring", "### Notes", "spoken", "> Ann: why?", "> Ann: thread", "> because"]


def test_a_presentation_of_1997() -> None:
    slides = [Slide("First", "body text", "spoken", "why?"), Slide("Second", "more\x0blines\rhere")]
    result = convert(ppt(slides, footer="Draft", master="Secret"), "a.ppt", max_characters=1000)
    assert result.markdown.split("\n\n") == [
        "# First", "body text", "Draft", "Secret", "### Notes", "spoken", "> Ann: why?",
        "# Second", "more\nlines\nhere",
    ]  # fmt: skip
    assert result.locations is not None
    assert result.locations.described == "slides 1 to 2"


def test_pages_of_a_drawing() -> None:
    result = convert(vsdx({"Ground floor": ["hall", "stairs"], "Page-2": ["attic"]}), "a.vsdx", max_characters=1000)
    assert result.markdown == "## Ground floor\n\nhall\n\nstairs\n\nattic"
    assert result.locations is not None
    assert result.locations.described == "pages 1 to 2"


def emf(text: str, y: int) -> bytes:
    encoded = text.encode("utf-16-le")
    record = struct.pack("<16xI8xiiIII16xI", 1, 0, y, len(text), 76, 0, 0) + encoded
    return struct.pack("<II", 84, len(record) + 8) + record


def test_text_in_metafiles() -> None:
    header = struct.pack("<II32x4s44x", 1, 88, b" EMF")
    assert metafile.lines(header + emf("left", 5) + emf("right", 5) + emf("right", 5) + emf("below", 9)) == [
        "left right",
        "below",
    ]
    text = struct.pack("<IH4H4s", 9, 0x0A32, 3, 0, 4, 0, b"word") + struct.pack(
        "<IHH6sHH", 8, 0x0521, 5, b"other\0", 4, 0
    )
    assert metafile.lines(b"\1\0\x09\0".ljust(18, b"\0") + text) == ["word", "other"]


@pytest.mark.parametrize("data", [b"", b"\1\0\x09\0", b"\x89PNG" + bytes(60), bytes(40) + b" EMF" + bytes(100)])
def test_pictures_without_text(data: bytes) -> None:
    assert metafile.lines(data) == []
