"""Test that the text of a PDF has everything that a reader sees: whole words and sentences, fields, comments, attached
files, and the title. Parts that cannot be read are reported."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from benchmarks.generated_pdfs import assembled, generated
from gnod.ingest.formats import ConversionFailed, convert
from gnod.ingest.formats.pdf.flow import readable
from gnod.ingest.formats.pdf.page_text import read_page
from gnod.ingest.formats.pdf.text_layer import is_garbage
from gnod.ingest.reading.result import Converted, Scans
from tests.ingest.unpacked import unpacked
from tests.pdf_files import page_of_text, pdf

FORM = b"/AcroForm<</Fields[%s]/DR<</Font<</F1 3 0 R>>>>/DA(/F1 12 Tf 0 g)>>"
NOISE = "cp\\Ry4#&+yPV ]q2Z@^bZ!mr |obZ@/[{t^br@ ;j=^Zz#kq j=u}t}^l{(m~ " * 3


def converted(data: bytes, scans: Scans | None = None) -> Converted:
    return convert(data, "a.pdf", max_characters=10**6, scans=scans)


def escaped(text: str) -> bytes:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)").encode("latin-1")


def stream(body: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(body), body)


def annotated(*annotations: bytes, root: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """Return a page with the word `printed` and these annotations, which are objects 6 and up; `more` follows them."""
    places = b" ".join(b"%d 0 R" % (6 + at) for at in range(len(annotations)))
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R%s>>" % root,
            b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R/Resources<</Font<</F1 3 0 R>>>>"
            b"/Annots[%s]>>" % places,
            stream(b"BT /F1 12 Tf 72 700 Td (printed) Tj ET"),
            *(b"<</Type/Annot/Rect[100 500 300 520]%s>>" % each for each in annotations),
            *more,
        ]
    )


def lines(*sized: tuple[int, str], gap: float = 1.4) -> bytes:
    """Draw lines of the given sizes from the top of the page."""
    drawn, y = [], 720.0
    for size, text in sized:
        y -= gap * size
        drawn.append(b"BT /F1 %d Tf 72 %d Td (%s) Tj ET" % (size, y, escaped(text)))
    return b"\n".join(drawn)


def test_properties_and_what_is_before_the_header() -> None:
    found = converted(pdf())
    assert (found.markdown, found.title) == ("Hello zqx PDF", "A real title")
    assert (found.metadata, found.converter) == ({"author": "Ada", "date": "2020-01-02"}, "pdf/3")
    assert converted(b"garbage\n" * 200 + pdf()).markdown == found.markdown
    assert convert(pdf(), "download", max_characters=99).markdown == found.markdown


@pytest.mark.slow
def test_a_long_file_is_read_quickly() -> None:
    started = time.process_time()
    assert converted(pdf(["Hello zqx PDF"] * 400)).markdown.count("Hello zqx PDF") == 400
    assert time.process_time() - started < 20


@pytest.mark.parametrize(("data", "said"), [(pdf([""]), "scan"), (b"%PDF-1.7\n", "cut off")])
def test_a_file_without_text_says_why(data: bytes, said: str) -> None:
    with pytest.raises(ConversionFailed, match=said):
        converted(data)


def test_words_that_a_line_divides_are_joined() -> None:
    data = page_of_text(b"BT /F1 12 Tf 72 700 Td (some infor-) Tj 0 -14 Td (mation on it) Tj ET")
    assert converted(data).markdown == "some information\non it"


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (["a self-stabilizing ring; self\ufffestabilizing rings"], "a self-stabilizing ring; self-stabilizing\nrings"),
        (["pages 10\ufffe20 of it"], "pages 10-20\nof it"),
        (["wide infor-", "mation, here"], "wide information,\fhere"),
        (["by A-\nTeam and Anti-\nbes"], "by A-\nTeam and Antibes"),
        (["one two", "three"], "one two\fthree"),
    ],
)
def test_the_meaning_of_a_hyphen_at_the_end_of_a_line(pages: list[str], expected: str) -> None:
    assert "\f".join(page.strip() for page in readable(pages)) == expected


@pytest.mark.slow
@pytest.mark.timeout(90)
def test_texts_without_spaces_take_no_quadratic_time() -> None:
    for text in ("a" * 1_000_000, "a-" * 500_000, "*" * 100_000):
        assert readable([text]) == [text]
    found = converted(page_of_text(lines((20, "heron " * 1_000 + "*" * 50_000), (12, "words"))))
    assert found.markdown.endswith("words")


def test_running_heads_and_page_numbers_do_not_interrupt_a_sentence() -> None:
    def page(number: int) -> str:
        text = [f"it ends {number}a.", *(f"Line {number}{letter}" for letter in "bcde"), "over"]
        head = ["Heron et al."] if number % 2 else [f"{number + 41} Reeds"]
        return "\n".join([*head, *text, f"to {number}", str(number + 41)])

    pages = readable([page(number) for number in range(1, 8)])
    joined = " ".join(" ".join(pages).split())
    assert joined.count("Heron et al.") == 1
    assert "over to 2 it ends 3a. Line 3b" in joined
    assert pages[0].startswith("it ends 1a.\nHeron et al.\nLine 1b")
    assert pages[1].startswith("it ends 2a.\n43 Reeds\nLine 2b")  # a number in a line may be content
    assert not any(page.endswith(str(number)) for number, page in enumerate(pages, start=42))


def test_content_at_the_edges_of_pages_stays() -> None:
    pages = [f"Balance {page * 71}.50\n" + "\n".join(f"Row {page}{row}" for row in "abcdef") for page in range(1, 6)]
    assert readable(pages) == pages
    short = ["Agenda\nnext", "Agenda\nlast", "Agenda\nend"]
    assert readable(short) == short


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (rb"She\016eld bene\014cial cuto\013 in\015uence", "Sheffield beneficial cutoff influence"),
        (rb"signi\034er su\036ce", "signifier suffice"),
        (rb"approa\015h a \014 b", "approah a   b"),  # here, the codes are not TeX's
    ],
)
def test_ligatures_with_the_codes_of_tex(drawn: bytes, expected: str) -> None:
    data = page_of_text(b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % drawn)
    assert converted(data).markdown.split() == expected.split()
    page = read_page(data, 1)
    assert page.text.split() == expected.split()
    assert len(page.boxes) == 4 * len(page.text)


@pytest.mark.parametrize("text", ["Масса, масштаб ä", "킜킰톁톁킰, 다람쥐 헌 쳇바퀴에 타고파"])
def test_maps_of_fonts_in_utf_8(text: str) -> None:
    codes = [each.encode("utf-8" if "\x7f" < each < "ᄀ" else "utf-16-be").hex().encode() for each in text]
    rows = b"".join(b"<%02x> <%s>" % row for row in enumerate(codes, 65))
    to_unicode = b"begincmap 1 begincodespacerange <00> <FF> endcodespacerange %d beginbfchar %s endbfchar endcmap"
    drawn = bytes(range(65, 65 + len(text))).hex().encode()
    data = assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 6 0 R>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R/Resources<</Font<</F1 3 0 R>>>>>>",
            stream(b"BT /F1 12 Tf 72 700 Td <%s> Tj ET" % drawn),
            stream(to_unicode % (len(text), rows)),
        ]
    )
    assert converted(data).markdown == text
    assert read_page(data, 1).text.strip() == text


def test_narrow_gaps_beside_wide_letters_are_spaces() -> None:
    glued = b"BT /F1 12 Tf 72 700 Td [(allow) -230 (any) -230 (owner of) -300 (wake)] TJ ET"
    assert converted(page_of_text(glued)).markdown == "allow any owner of wake"
    apart = b"BT /F1 12 Tf 72 700 Td [(W) -230 (A) -230 (R) -230 (N)] TJ ET"
    assert "".join(converted(page_of_text(apart)).markdown.split()) == "WARN"


def test_accents_that_are_drawn_before_their_letters() -> None:
    drawn = "BT /F1 12 Tf 72 700 Td (G\\250odel and Poincar\\264e) Tj ET".encode("latin-1")
    assert converted(page_of_text(drawn)).markdown == "Gödel and Poincaré"


@pytest.mark.slow
def test_words_are_whole_in_every_orientation_of_a_page() -> None:
    """The pages have columns, and are rotated, cropped, sideways, slanted and scaled. They use kerning, ligatures, and
    fonts without a file, whose lines may have no width."""
    for name, data, pages in generated(20):
        text = converted(data).markdown
        found = text.replace("\n", "") if "Han" in name else text.split()
        assert all(word in found for page in pages for word in page), name


def test_text_outside_the_page_is_omitted() -> None:
    page = b"/MediaBox[0 0 1224 792]/CropBox[612 0 1224 792]"
    data = page_of_text(b"BT /F1 12 Tf 72 700 Td (left page) Tj 612 0 Td (right page) Tj ET", page=page)
    assert converted(data).markdown == "right page"


def test_lines_that_begin_with_a_number_sign_are_not_headings() -> None:
    found = converted(page_of_text(lines((12, "# mkdir /data/jail/it"), (12, "| not | a table |"))))
    assert (found.markup, found.title) == ("plain", None)
    assert found.markdown.startswith("# mkdir")


def test_values_of_fields_with_and_without_an_appearance() -> None:
    shown = stream(
        b"BT /F1 12 Tf 2 5 Td (Drawnville) Tj ET", b"/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</F1 3 0 R>>>>"
    )
    text = b"/Subtype/Widget/FT/Tx/F 4"
    data = annotated(
        text + b"/T(a)/V(Drawnville)/AP<</N 10 0 R>>",
        text + b"/T(b)/V(Bare Harbour)",
        text + b"/T(c)/Ff 8192/V(secret)",
        b"/Subtype/Widget/FT/Btn/T(d)/V/Yes/F 4",
        root=FORM % b"6 0 R 7 0 R 8 0 R 9 0 R",
        more=[shown],
    )
    words = converted(data).markdown.split()
    assert {"printed", "Drawnville", "Bare", "Harbour"} <= set(words)
    assert words.count("Drawnville") == words.count("Harbour") == 1
    assert "secret" not in words
    assert "Drawnville" in read_page(data, 1).text  # therefore, it has boxes


def test_comments_are_marked_and_hidden_ones_are_not_read() -> None:
    data = annotated(
        b"/Subtype/Text/Contents(Ask Ada\r\nabout it)",
        b"/Subtype/Highlight/QuadPoints[72 712 120 712 72 700 120 700]/Contents(Good word)",
        b"/Subtype/FreeText/DA(/F1 12 Tf)/Contents(Typed here)",
        b"/Subtype/Popup/Contents(Ask Ada)",
        b"/Subtype/Text/F 2/Contents(Hidden one)",
        b"/Subtype/Link/Contents(A link)",
    )
    found = converted(data)
    assert found.markdown.split("\n") == [
        "printed",
        "Annotation: Ask Ada about it",
        "Annotation: Good word",
        "Annotation: Typed here",
    ]
    assert found.locations is not None
    assert found.locations.at(4) == found.locations.at(1)


def test_attached_files_are_members() -> None:
    files = [
        b"<</Type/Filespec/F(notes.md)/UF(notes.md)/EF<</F 9 0 R>>>>",
        stream(b"# Heron\n\nIn the reeds.\n", b"/Type/EmbeddedFile"),
        b"<</Type/Filespec/F(pinned.txt)/UF(pinned.txt)/EF<</F 11 0 R>>>>",
        stream(b"On the page.\n", b"/Type/EmbeddedFile"),
    ]
    data = annotated(
        b"/Subtype/Text/Contents(One)",
        b"/Subtype/FileAttachment/FS 10 0 R",
        root=b"/Names<</EmbeddedFiles<</Names[(notes.md) 8 0 R]>>>>",
        more=files,
    )
    found = unpacked(data, "a.pdf").texts
    assert found["a.pdf!/notes.md"] == "# Heron\n\nIn the reeds.\n"
    assert found["a.pdf!/pinned.txt"] == "On the page.\n"


def test_a_form_that_only_acrobat_builds() -> None:
    template = (
        b"<template xmlns='http://www.xfa.org/schema/xfa-template/2.8/'><subform><draw><value><text\n>Caption &amp; co"
        b"</text></value></draw><script>var unseen;</script><exData><body><p>Rich <b>words</b></p></body></exData>"
        b"<field name='n'><text/></field></subform></template>"
    )
    values = (
        b"<xfa:datasets xmlns:xfa='x'><xfa:data><f><n>Gr\xc3\xbcn</n><e/></f></xfa:data><d>unseen</d></xfa:datasets>"
    )
    form = b"/NeedsRendering true/AcroForm<</Fields[]/XFA[(template) 6 0 R (datasets) 7 0 R]>>"
    found = converted(annotated(root=form, more=[stream(template), stream(values)])).markdown.split("\n")
    assert found == ["printed", "Caption & co", "Rich", "words", "Grün"]
    whole = annotated(
        root=form.replace(b"[(template) 6 0 R (datasets) 7 0 R]", b" 6 0 R"), more=[stream(template + values)]
    )
    assert converted(whole).markdown.split("\n") == found
    static = annotated(root=form.replace(b"true", b"false"), more=[stream(template), stream(values)])
    assert converted(static).markdown == "printed"


@pytest.mark.parametrize("ocr", [True, False])
def test_noise_of_fonts_without_characters_is_not_text(ocr: bool) -> None:
    page = b"BT /F1 9 Tf 30 700 Td (%s) Tj ET" % escaped(NOISE)
    scans = Scans({}, None) if ocr else Scans()
    if ocr:
        assert converted(page_of_text(page), scans).markdown == ""
        assert scans.pending == [1]
        assert "words" in converted(page_of_text(page), Scans({1: "the words"}, None)).markdown
    else:
        with pytest.raises(ConversionFailed, match="no readable text"):
            converted(page_of_text(page), scans)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("жaβкñδзoשבпτ ", True),
        ("日本語のPDFファイルを読む。カタカナとひらがな、漢字とHangul 한국어가 있다。", False),
        ("Let αx + βy be the sum of λ and μ, where Δt is small; the σ of the sample. ", False),
        ("Слово и дело: всё течёт. Über Gänse, naïve façade. ", False),
    ],
)
def test_letters_of_many_scripts_in_one_word_are_noise(text: str, expected: bool) -> None:
    assert is_garbage(text * 30) == expected


def test_missing_pages_are_reported() -> None:
    noisy = escaped(NOISE).decode("latin-1")
    found = converted(pdf(["written words", noisy, "more of it", noisy]))
    assert found.markdown == "written words\n\nmore of it"
    assert found.left_out == {"needs_ocr": "pages 2, 4 without readable text (OCR is off)"}


BODY = [(10, "Many lines of ordinary text follow here.")] * 8


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (lines((18, "On the Ways of"), (18, "Herons*"), *BODY), "On the Ways of Herons"),
        (
            lines((9, "arXiv:1004.4240v1 [cs.DS] 23 Apr 2010"), (16, "Sparse Herons"), (12, "Ada L."), *BODY),
            "Sparse Herons",
        ),
        (lines((20, "https://example.org"), (16, "Plain Herons"), *BODY), "Plain Herons"),
        (lines((10, "FROM HERONS TO REEDS"), *BODY), "FROM HERONS TO REEDS"),
        (lines(*BODY), None),
    ],
)
def test_the_title_is_the_largest_text_at_the_top(drawn: bytes, expected: str | None) -> None:
    assert converted(page_of_text(drawn)).title == expected


def test_a_title_in_the_properties_counts_if_the_page_has_it() -> None:
    page = lines((18, "Larger Words Than"), (12, "A real title"), *BODY)
    body = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[4 0 R]/Count 1>>"]
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    kind = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R/Resources<</Font<</F1 3 0 R>>>>>>"
    data = assembled([*body, font, kind, stream(page), b"<</Title(A real title)/CreationDate(D:19100101)>>"])
    assert converted(data.replace(b"/Root 1 0 R", b"/Root 1 0 R/Info 6 0 R")).title == "A real title"
    other = data.replace(b"(A real title)/C", b"(of assocs)/C").replace(b"/Root 1 0 R", b"/Root 1 0 R/Info 6 0 R")
    assert converted(other).title == "Larger Words Than"


def test_invalid_dates_are_left_out() -> None:
    assert converted(pdf().replace(b"20200102030405", b"19102072610572")).metadata == {"author": "Ada"}
