"""Generate hostile files: zip bombs, documents that refer to other files, texts that are slow to match.

Tests and a benchmark write them into a collection.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmarks.generated_pdfs import assembled

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_MB = 1_000_000
_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'


def zipped(members: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@cache
def _zeros(megabytes: int) -> tuple[bytes, int]:
    """Return deflated zeros (1:1000) of this unpacked size, and their checksum."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    checksum, packed = 0, bytearray()
    for _ in range(megabytes):
        checksum = zlib.crc32(bytes(_MB), checksum)
        packed += squeezer.compress(bytes(_MB))
    return bytes(packed + squeezer.flush()), checksum


def zip_of_zeros(names: list[str], megabytes: int, beside: Mapping[str, str] | None = None) -> bytes:
    """Return a zip archive whose members each unpack to this many megabytes of zeros."""
    packed, checksum = _zeros(megabytes)
    body, contents = bytearray(), bytearray()
    entries = [(name, packed, checksum, megabytes * _MB, 8) for name in names]
    entries += [(name, text.encode(), zlib.crc32(text.encode()), len(text), 0) for name, text in (beside or {}).items()]
    for name, data, check, size, method in entries:
        fields = struct.pack("<HHHHHLLLHH", 20, 0, method, 0, 33, check, len(data), size, len(name), 0)
        contents += b"PK\x01\x02\x14\0" + fields + struct.pack("<HHHLL", 0, 0, 0, 0, len(body)) + name.encode()
        body += b"PK\x03\x04" + fields + name.encode() + data
    end = struct.pack("<HHHHLLH", 0, 0, len(entries), len(entries), len(contents), len(body), 0)
    return bytes(body + contents) + b"PK\x05\x06" + end


@cache
def bombs() -> dict[str, bytes]:
    """Return small archives and documents that unpack to gigabytes."""
    inner = zip_of_zeros([f"{number}.txt" for number in range(10)], 30)
    nested = zipped({f"{number}.zip": inner for number in range(16)})
    bare = {"[Content_Types].xml": _TYPES}
    book = {"mimetype": "application/epub+zip", "META-INF/container.xml": "<container/>"}
    return {
        "flat.zip": zip_of_zeros(["zeros.txt"], 60),
        "many.zip": zip_of_zeros([f"{number}.txt" for number in range(200)], 30),
        "nested.zip": nested,
        "deeper.zip": zipped({f"{number}.zip": nested for number in range(16)}),
        "bomb.docx": zip_of_zeros(["word/document.xml"], 60, bare),
        "bomb.pptx": zip_of_zeros(["ppt/presentation.xml", "ppt/slides/slide1.xml"], 60, bare),
        "bomb.xlsx": zip_of_zeros(["xl/workbook.xml", "xl/worksheets/sheet1.xml"], 60, bare),
        "bomb.epub": zip_of_zeros(["c.xhtml"], 60, book),
    }


def asking_for(canary: Path) -> dict[str, bytes]:
    """Return documents that include the file `canary` if a reader resolves references."""
    entity = f'<!DOCTYPE d [<!ENTITY x SYSTEM "file://{canary}">]>'
    body = f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>&x; harmless</w:t></w:r></w:p></w:body></w:document>'
    page = f'<html><body><iframe src="file://{canary}"></iframe><object data="{canary}"></object>harmless</body></html>'
    sheet = (
        f'{entity}<worksheet xmlns="{SHEET}"><sheetData><row><c t="inlineStr"><is><t>&x; harmless</t></is></c></row>'
        "</sheetData></worksheet>"
    )
    package = (
        f'{entity}<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>&x;</dc:title></metadata>'
        '<manifest><item id="c" href="c.xhtml"/></manifest><spine><itemref idref="c"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>'
    feed = f'{entity}<rss version="2.0"><channel><title>&x;</title><item><title>harmless</title></item></channel></rss>'
    drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    up = "../" * 20
    return {
        "entity.xml": f"{entity}<r>&x; harmless</r>".encode(),
        "entity.svg": f'{entity}<svg xmlns="http://www.w3.org/2000/svg"><text>&x;</text></svg>'.encode(),
        "feed.xml": feed.encode(),
        "frames.html": page.encode(),
        "include.md": f"# Includes\n\n![[{canary}]] [[{up}{canary}]] !include {canary} harmless\n".encode(),
        "include.rst": f".. include:: {canary}\n\n.. raw:: html\n   :file: {canary}\n\nharmless\n".encode(),
        "import.tex": f"\\input{{{canary}}} harmless\n".encode(),
        "entity.docx": zipped({"[Content_Types].xml": _TYPES, "word/document.xml": entity + body}),
        "entity.xlsx": zipped(
            {
                "[Content_Types].xml": _TYPES,
                "xl/workbook.xml": entity + "<workbook/>",
                "xl/worksheets/sheet1.xml": sheet,
            }
        ),
        "entity.pptx": zipped(
            {
                "[Content_Types].xml": _TYPES,
                "ppt/presentation.xml": f"{entity}<p>&x;</p>",
                "ppt/slides/slide1.xml": f"{entity}<a:txBody {drawing}><a:p><a:t>&x; harmless</a:t></a:p></a:txBody>",
            }
        ),
        "entity.epub": zipped(
            {
                "mimetype": "application/epub+zip",
                "META-INF/container.xml": entity + container,
                "o.opf": package,
                "c.xhtml": f"{entity}<html><body>&x; harmless</body></html>",
            }
        ),
        "outside.zip": zipped({f"{up}{canary}": "harmless", f"{canary}": "harmless"}),
    }


def slow_texts() -> dict[str, str]:
    """Return texts of about 100 KB on which a naive regular expression takes quadratic time."""
    many = 100_000
    return {
        "heading-blanks.md": "# a" + " " * many + "b\n\nslowmark\n",
        "heading-hashes.md": "# a" + "#" * many + "b\n\nslowmark\n",
        "heading-brackets.md": "# " + "[" * many + "\n\nslowmark\n",
        "heading.adoc": "= a" + " " * many + "b\n\nslowmark\n",
        "heading.org": "* a" + " " * many + "b\n\nslowmark\n",
        "brackets-in-frontmatter.md": "---\na: " + "[" * 20_000 + "\n---\n\nslowmark\n",
        "comments.xml": "<!---->" * 1000 + "slowmark",
        "comments": "<!---->" * 1000 + "slowmark",
        "nearly-mail": "A: x\r\n" + " y\r\n" * 1000 + "slowmark",
        "envelope.mbox": "From x\n\nslowmark\n\nFrom " + "1" * many,
        "ticks.ipynb": '{"cells": [{"cell_type": "code", "source": "' + "`" * many + ' slowmark"}]}',
        "words.txt": "no end no stop " * (many // 5) + "slowmark",
    }


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def odd_names(folder: Path) -> dict[bytes, str]:
    """Write notes with unusual names; return the unique word of each note by name."""
    names = {
        b"new\nline.md": "oddnewline",
        b"bad-\xff\xfe.md": "oddbytes",
        b"L" * 251 + b".md": "oddlong",
        b"-rf *.md": "odddash",
        b"\xe2\x80\xaegpj.md": "oddturned",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, word in names.items():
        with open(os.fsencode(folder) + b"/" + name, "w") as file:  # noqa: PTH123 - names are bytes here
            file.write(f"# Odd\n\n{word}\n")
    return names


def odd_kinds(folder: Path, outside: Path) -> None:
    """Create a pipe, links that loop or lead outside, and a sparse file of 2 GB."""
    folder.mkdir(parents=True, exist_ok=True)
    os.mkfifo(folder / "pipe.md")
    (folder / "loop").symlink_to(".")
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    (folder / "outside.md").symlink_to(outside)
    (folder / "outside").symlink_to(outside.parent)
    (folder / "dangling.md").symlink_to("nowhere.md")
    with (folder / "sparse.md").open("wb") as file:
        file.write(b"# sparse\n")
        file.truncate(2 << 30)


def exhausting_pdfs() -> dict[str, bytes]:
    """Return PDF files, of 10 MB at most, that exhaust the time or memory of a reader."""
    tree = [b"<</Type/Pages/Kids[%d 0 R]/Count 1/Parent %d 0 R>>" % (at + 3, at + 1) for at in range(50_000)]
    nested = [_stream(b"/X Do " * 10, _form(7 + at)) for at in range(30)]
    type_3 = (
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 9 9]/FontMatrix[1 0 0 1 0 0]/FirstChar 101/LastChar 101/Widths[9]"
        b"/Encoding<</Differences[101/e]>>/CharProcs<</e 6 0 R>>/Resources<</Font<</F1 3 0 R>>>>>>"
    )
    composite = b"<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/Identity-H/DescendantFonts[3 0 R]/ToUnicode 6 0 R>>"
    ranges = b"begincmap " + b"1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange " * 1000
    note = b"<</Type/Annot/Subtype/FreeText/Rect[1 1 2 2]/Contents(tiny)>>"
    field = b"<</Type/Annot/Subtype/Widget/FT/Tx/T(f)/V(a)/Rect[1 1 2 2]>>"
    return {
        "boxes.pdf": _pdf(page=b"/MediaBox[-2000000000 -2000000000 2000000000 2000000000]/UserUnit 1000000"),
        "arrays.pdf": _pdf(_HERON + b"[" * 2_000_000),
        "dictionaries.pdf": _pdf(page=b"/MediaBox[0 0 612 792]/X" + b"<</A" * 500_000 + b" 1" + b">>" * 500_000),
        "tree.pdf": assembled([_CATALOG, *tree, b"<</Type/Page/Parent 50001 0 R/MediaBox[0 0 9 9]>>"]),
        "loop.pdf": assembled([_CATALOG, b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 1000000000>>"]),
        "pages.pdf": _pdf(_HERON * 100, kids=200_000),
        "forms.pdf": _pdf(b"/X Do " + _HERON, b"/XObject<</X 6 0 R>>", others=nested),
        "content.pdf": _pdf(_squeezed(b" " * _MB, 600)),
        "letters.pdf": _pdf(_squeezed(b"BT /F1 1 Tf " + b"(heron)Tj " * 100_000 + b"ET ", 80)),
        "objects.pdf": _in_object_stream(_squeezed(b" " * _MB, 600, b"/Type/ObjStm/N 1000000/First 8000000")),
        "notes.pdf": _pdf(page=b"/MediaBox[0 0 612 792]/Annots[" + note * 100_000 + b"]"),
        "fields.pdf": _pdf(page=b"/MediaBox[0 0 612 792]/Annots[" + field * 100_000 + b"]"),
        "glyphs.pdf": _pdf(_HERON * 50, font=type_3, others=[_stream(b"9 0 d0 " + _HERON * 50)]),
        "map.pdf": _pdf(font=composite, others=[_stream(ranges, b"/UseCMap 6 0 R")]),
        "attached.pdf": _pdf(root=b"/Names<</EmbeddedFiles 6 0 R>>", others=[b"<</Kids[6 0 R 6 0 R 6 0 R]>>"]),
    }


_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
_HERON = b"BT /F1 12 Tf 72 700 Td (heron) Tj ET "
_HELVETICA = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def _pdf(
    content: bytes = _HERON,
    resources: bytes = b"",
    *,
    page: bytes = b"/MediaBox[0 0 612 792]",
    font: bytes = _HELVETICA,
    others: Sequence[bytes] = (),
    kids: int = 1,
    root: bytes = b"",
) -> bytes:
    """Return a PDF with identical pages. `others`: objects from number 6 on."""
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R%s>>" % root,
            b"<</Type/Pages/Kids[%s]/Count %d>>" % (b"4 0 R " * kids, kids),
            font,
            b"<</Type/Page/Parent 2 0 R/Contents 5 0 R/Resources<</Font<</F1 3 0 R>>%s>>%s>>" % (resources, page),
            content if content.startswith(b"<<") else _stream(content),
            *others,
        ]
    )


def _stream(body: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(body), body)


def _form(drawn: int) -> bytes:
    """Return the entries of a form that may draw another object under the name X."""
    return b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>" % drawn


def _squeezed(part: bytes, times: int, entries: bytes = b"") -> bytes:
    """Return a twice deflated stream that repeats this part."""
    squeezer = zlib.compressobj(9)
    packed = b"".join(squeezer.compress(part) for _ in range(times)) + squeezer.flush()
    return _stream(zlib.compress(packed, 9), entries + b"/Filter[/FlateDecode/FlateDecode]")


def _in_object_stream(stream: bytes) -> bytes:
    """Return a PDF whose page tree, object 2, is in object stream 3."""
    out = bytearray(b"%PDF-1.5\n")
    rows = [b"\0" * 7]
    for number, body in ((1, _CATALOG), (3, stream)):
        rows.append(b"\1%s\0\0" % len(out).to_bytes(4, "big"))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    rows.insert(2, b"\2\0\0\0\3\0\0")
    start = len(out)
    table = _stream(b"".join(rows), b"/Type/XRef/Size 4/W[1 4 2]/Root 1 0 R")
    return bytes(out) + b"4 0 obj%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (table, start)
