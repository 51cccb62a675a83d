"""Generated hostile files: zip bombs, documents that refer to other files, texts that are slow to match.

Tests and a benchmark write them into a collection.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

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
    """Return this many megabytes of zeros, deflated 1:1000, and their checksum."""
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    checksum, packed = 0, bytearray()
    for _ in range(megabytes):
        checksum = zlib.crc32(bytes(_MB), checksum)
        packed += squeezer.compress(bytes(_MB))
    return bytes(packed + squeezer.flush()), checksum


def zip_of_zeros(names: list[str], megabytes: int, beside: Mapping[str, str] | None = None) -> bytes:
    """Return a zip whose members each unpack to this many megabytes of zeros."""
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
    """Return documents that include another file, for a reader that resolves references."""
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
    """Return texts of about 100 KB on which a careless regular expression takes quadratic time."""
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
    """Write notes with unusual names; return the names, each with the unique word of its note."""
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
