"""Test damaged, hostile and encrypted Office files: readable parts are read, the rest is reported, nothing hangs."""

from __future__ import annotations

import io
import random
import time
import zipfile
from collections.abc import Callable

import pytest

from gnod.ingest.formats import ConversionFailed
from tests.ingest.test_office_slides import START as DECK
from tests.ingest.test_office_slides import part as slide
from tests.ingest.test_office_slides import shape
from tests.ingest.test_office_word import START, paragraph, part, run
from tests.ingest.test_office_workbook import MAIN
from tests.ingest.test_opendocument import opendocument
from tests.ingest.unpacked import converted
from tests.office_files import Slide, doc, package, ppt, record, xls


def word(xml: str) -> bytes:
    header = part("hdr", paragraph(run("top")))
    reference = {START: [("header", "word/header1.xml")]}
    return package(START, {START: xml, "word/header1.xml": header}, reference)


def workbook(sheets: list[str]) -> bytes:
    names = [f"xl/sheet{number}.xml" for number in range(1, len(sheets) + 1)]
    listed = "".join(f'<sheet name="S{number}" r:id="r{number}"/>' for number in range(1, len(sheets) + 1))
    parts = {"xl/workbook.xml": f"<workbook {MAIN}>{listed}</workbook>", **dict(zip(names, sheets, strict=True))}
    return package("xl/workbook.xml", parts, {"xl/workbook.xml": [("worksheet", name) for name in names]})


def sheet(inner: str) -> str:
    return f'<worksheet {MAIN}><sheetData><row r="1"><c t="str"><v>{inner}</v></c></row>'


def with_wrong_checksum(data: bytes, text: bytes) -> bytes:
    """Return a zip in which the bytes of an uncompressed member do not match its checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return buffer.getvalue().replace(text, text.swapcase())


def test_the_text_before_the_damage_is_kept_and_the_rest_is_reported() -> None:
    xml = part("document", f"<w:body>{paragraph(run('before'))}")
    result = converted(word(xml.replace("</w:document>", "<broken")), "a.docx")
    assert result.markdown == "before"
    assert result.left_out == {"corrupt": "The file is damaged: not all of word/document.xml can be read."}


def test_a_damaged_sheet_or_slide_does_not_affect_the_others() -> None:
    book = converted(workbook([sheet("one")[:-9] + "<", sheet("two") + "</sheetData></worksheet>"]), "a.xlsx")
    assert "two" in book.markdown
    assert book.left_out == {"corrupt": "The file is damaged: not all of xl/sheet1.xml can be read."}
    slides = {
        "ppt/slides/slide1.xml": slide("sld", shape("first")),
        "ppt/slides/slide2.xml": slide("sld", shape("second")),
    }
    data = package(DECK, {DECK: "", **slides}, {})  # the list of the slides is lost
    deck = converted(with_wrong_checksum(data, b"first"), "a.pptx")
    assert "second" in deck.markdown
    assert deck.left_out


def test_a_file_without_anything_to_read_is_damaged() -> None:
    with pytest.raises(ConversionFailed, match=r"damaged|cut off") as failed:
        converted(with_wrong_checksum(word(part("document", paragraph(run("alone")))), b"alone")[:], "a.docx")
    assert failed.value.kind == "corrupt"


def test_a_sheet_of_1997_with_an_odd_record_is_read() -> None:
    odd = record(0x1B6, bytes(18)) + record(0x3C, b"\0box")  # the text of a shape that does not exist
    result = converted(xls({"Costs": [["paint"]]}, beside=odd), "a.xls")
    assert result.markdown.split() == ["##", "Costs", "|", "paint", "|", "|", "---", "|", "box"]


ENTITIES = '<!DOCTYPE d [<!ENTITY a "zqxzqxzqxzqx">' + "".join(
    f'<!ENTITY {chr(98 + level)} "{f"&{chr(97 + level)};" * 20}">' for level in range(8)
)
ENTITIES += '<!ENTITY x SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.odt"])
def test_entities_are_not_expanded(name: str) -> None:
    xml = {
        "a.docx": word(ENTITIES + part("document", paragraph(run("&i;&x;left")))),
        "a.pptx": package(
            DECK, {DECK: "<p/>", "ppt/slides/slide1.xml": ENTITIES + slide("sld", shape("&i;&x;left"))}, {}
        ),
        "a.odt": opendocument("text", "<text:p>&i;&x;left</text:p>", ENTITIES),
        "a.xlsx": workbook([ENTITIES + sheet("&i;&x;left") + "</sheetData></worksheet>"]),
    }[name]
    started = time.process_time()
    text = converted(xml, name).markdown
    assert "left" in text
    assert "zqx" not in text
    assert "root:" not in text
    assert time.process_time() - started < 10


@pytest.mark.slow
def test_depth_does_not_matter() -> None:
    deep = "<w:sdt>" * 200_000 + paragraph(run("zqx")) + "</w:sdt>" * 200_000
    assert converted(word(part("document", deep)), "a.docx").markdown == "zqx"
    tables = "<w:tbl><w:tr><w:tc>" * 20_000 + paragraph(run("zqx")) + "</w:tc></w:tr></w:tbl>" * 20_000
    assert "zqx" in converted(word(part("document", tables)), "a.docx").markdown


def test_lists_that_count_far_and_references_in_circles_end() -> None:
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="99999999"/>'
        '<w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1%1%1"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    styles = (
        '<w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style>'
    )
    item = paragraph(run("zqx"), '<w:pStyle w:val="A"/><w:numPr><w:numId w:val="1"/></w:numPr>')
    parts = {
        START: part("document", item),
        "word/n.xml": part("numbering", numbering),
        "word/s.xml": part("styles", styles),
    }
    data = package(START, parts, {START: [("numbering", "word/n.xml"), ("styles", "word/s.xml")]})
    assert converted(data, "a.docx").markdown.endswith(" zqx")
    page = {DECK: "<p/>", "ppt/slides/slide1.xml": slide("sld", shape("zqx"))}
    circle = {
        "ppt/slides/slide1.xml": [("slideLayout", "ppt/slides/slide1.xml"), ("notesSlide", "ppt/slides/slide1.xml")]
    }
    assert "zqx" in converted(package(DECK, page, circle), "a.pptx").markdown


MADE: dict[str, Callable[[], bytes]] = {
    "a.doc": lambda: doc("Title\rtext\rone\x07two\x07\x07", headers="top\r", styles=[1], rows=[4], deleted="text"),
    "a.ppt": lambda: ppt([Slide("One", "body", "notes", "why?"), Slide("Two")], footer="Foot", master="Secret"),
    "a.xls": lambda: xls({"Costs": [["paint", 12.5]]}, beside=record(0x14, b"\6\0\0&CTop")),
    "a.docx": lambda: word(part("document", paragraph(run("text")))),
}


@pytest.mark.parametrize("name", MADE)
def test_any_damage_gives_text_or_a_failure(name: str) -> None:
    """The test reads a hundred files with one to eight changed bytes, and truncated files."""
    data = MADE[name]()
    chance = random.Random(name)
    used = [at for at, byte in enumerate(data) if byte]
    for _ in range(100):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            broken[chance.choice(used)] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
        cut = bytes(broken[: chance.choice((len(broken), len(broken), chance.randrange(len(broken))))])
        started = time.process_time()
        kind = ""
        try:
            converted(cut, name)
        except ConversionFailed as failure:
            kind = failure.kind
        assert kind in ("", "corrupt", "empty", "encrypted", "unsupported", "too_large")
        assert time.process_time() - started < 10


def test_encrypted_files_say_so() -> None:
    with pytest.raises(ConversionFailed) as failed:
        converted(doc("secret\r", flags=0x100), "a.doc")
    assert failed.value.kind == "encrypted"


@pytest.mark.slow
@pytest.mark.parametrize(("password", "is_read"), [("VelvetSweatshop", True), ("another", False)])
def test_a_workbook_that_excel_opens_without_asking_is_read(password: str, is_read: bool) -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    text = sheet("zqx " + random.Random(1).randbytes(6000).hex())  # the library fails with a smaller file
    encrypted = io.BytesIO()
    OOXMLFile(io.BytesIO(workbook([text + "</sheetData></worksheet>"]))).encrypt(password, encrypted)
    if is_read:
        assert "zqx" in converted(encrypted.getvalue(), "a.xlsx").markdown
    else:
        with pytest.raises(ConversionFailed, match="protected by a password"):
            converted(encrypted.getvalue(), "a.xlsx")
