"""Make PDF files without a library, with a line of text on each page."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.generated_pdfs import assembled


def pdf(pages: Sequence[str] = ("Hello zqx PDF",), *, title: str = "A real title") -> bytes:
    """Return a PDF. The text of a page is drawn from 72, 700, in points from the lower left; "" draws a rectangle."""
    drawn = [f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode() if text else b"0 0 10 10 re f" for text in pages]
    first = 5
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(pages)))
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        4: f"<</Title({title})/Author(Ada)/CreationDate(D:20200102030405Z)>>".encode(),
    }
    for number, content in enumerate(drawn):
        page = first + 2 * number
        objects[page] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F1 3 0 R>>>>>>"
            % (page + 1)
        )
        objects[page + 1] = b"<</Length %d>>stream\n%s\nendstream" % (len(content), content)
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number, body in objects.items():
        offsets[number] = len(out)
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, offset in offsets.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, offset)
    size = len(objects) + 1
    return bytes(out) + b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, start)


def page_of_text(content: bytes, *, page: bytes = b"/MediaBox[0 0 612 792]") -> bytes:
    """Return a PDF with one page. `content` draws it, with Helvetica as F1. `page`: additional entries of the page."""
    body = b"<</Length %d>>stream\n%s\nendstream" % (len(content), content)
    kind = b"<</Type/Page/Parent 2 0 R/Contents 5 0 R/Resources<</Font<</F1 3 0 R>>>>" + page + b">>"
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
            kind,
            body,
        ]
    )
