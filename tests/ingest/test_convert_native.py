"""Test formats that need no library (texts, code, data, tables, notebooks, archives) and refused files."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.hostile_samples import zipped
from gnod.ingest.formats import Converted
from gnod.ingest.text.outline import Markup
from tests.ingest.unpacked import converted, failure, unpacked

LIMIT = 50_000_000


@pytest.mark.parametrize(
    ("name", "mime", "converter", "markup"),
    [
        ("a.md", "text/markdown", "markdown/1", "markdown"),
        ("UPPER.MD", "text/markdown", "markdown/1", "markdown"),
        ("folder.d/a.txt", "text/plain", "text/1", "plain"),
        ("a.bib", "text/x-tex", "text/1", "plain"),
        ("a.py", "text/x-python", "code/2", "plain"),
        ("Makefile", "text/x-makefile", "code/2", "plain"),
        ("a.json", "application/json", "text/1", "plain"),
        ("a.yaml", "application/yaml", "text/1", "plain"),
        ("a.toml", "application/toml", "text/1", "plain"),
        ("README", "text/plain", "text/1", "plain"),
        ("a.unheard-of", "text/plain", "text/1", "plain"),
        (".hidden", "text/plain", "text/1", "plain"),
    ],
)
def test_texts_are_kept_as_they_are(name: str, mime: str, converter: str, markup: Markup) -> None:
    text = "# Title\r\n\r\n  indented | `code`\tend  \n![x](data:image/png;base64,AAAA)"
    assert converted(text, name) == Converted(
        markdown=text, mime=mime, converter=converter, markup=markup, keeps_lines=True
    )


@pytest.mark.parametrize("data", ["", "\ufeff", " \n\t\r\n" * 50])
def test_nothing_to_read_is_empty(data: str) -> None:
    assert failure(data, "a.md").kind == "empty"


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512


@pytest.mark.parametrize(
    ("data", "name", "kind", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0", "a.png", "needs_ocr", "OCR is off"),
        (b"zqx83", "text-as.gif", "unsupported", "no converter for a .gif file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "a.txt", "binary", "it is an image"),
        (b"%PDF-1.4\n\0\xff\xfe", "a.md", "binary", "it is a PDF document"),
        (bytes(range(256)) * 100, "random.md", "binary", "not text"),
        (b"\xff\x57\x50\x43\0\0\0\0" * 9, "wordperfect.doc", "unsupported", "no converter for a .doc file"),
        (OLE, "old.doc", "unsupported", "no converter for a .doc file"),
        (OLE + "WordDocument".encode("utf-16-le"), "a.doc", "corrupt", "directory cannot be read"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "a.docx", "encrypted", "password"),
        (b"This is not a PDF.", "a.pdf", "corrupt", "it is plain text"),
        (b"GIF89a\0\0", "a.pdf", "corrupt", "it is an image"),
        (b"", "a.pdf", "empty", "The file is empty"),
        (b"<html><body>x</body></html>", "a.docx", "corrupt", "it is a web page"),
        (b"\0" * 500, "a.xlsx", "corrupt", "all its bytes are zero"),
        (b"PK\x03\x04 cut", "a.docx", "corrupt", "cut off"),
        (b"PK\x03\x04 cut", "a.zip", "corrupt", "cut off"),
        (zipped({"word/document.xml": "x" * 9000})[:-30], "a.docx", "corrupt", "cut off"),
        (b"\x7fELF\x02\x01\x01\0", "program", "unsupported", "no converter for a program"),
        (zipped({}), "empty.docx", "corrupt", "no document inside"),
        (zipped({"mimetype": "application/vnd.oasis.opendocument.text"}), "a.odt", "corrupt", "no document inside"),
    ],
)
def test_what_has_no_text_says_why(data: bytes, name: str, kind: str, said: str) -> None:
    refused = failure(data, name)
    assert (refused.kind, said in refused.message) == (kind, True), refused.message
    assert refused.message.endswith(".")
    assert "\n" not in refused.message


def test_a_note_may_begin_like_a_binary_format() -> None:
    assert converted("%PDF-1.7 is how a PDF begins", "note.md").markdown.startswith("%PDF")
    assert converted("GIF89a is a format", "note.txt").mime == "text/plain"


def test_a_text_under_an_old_office_name_is_text() -> None:
    assert converted("name\tvalue\n1\t2\n", "export.xls").markdown == "name\tvalue\n1\t2\n"


def test_too_long() -> None:
    assert failure("word " * 100, "a.md", limit=499).kind == "too_long"
    assert len(converted("word " * 100, "a.md", limit=500).markdown) == 500
    assert failure("a,b\n" * 1000, "a.csv", limit=5000).kind == "too_long"


# --- tables


def test_csv_becomes_a_table() -> None:
    text = '名前,年齢\n"a, b",1\n"two\nlines",x|y\n\nshort\n'
    assert converted(text.encode("cp932"), "a.csv").markdown == (
        "| 名前 | 年齢 |\n| --- | --- |\n| a, b | 1 |\n| two lines | x\\|y |\n| short |"
    )


@pytest.mark.parametrize(("name", "text"), [("a.csv", "a;b\n1,5;2\n"), ("a.tsv", "a\tb\n1,5\t2\n")])
def test_other_separators(name: str, text: str) -> None:
    assert converted(text, name).markdown == "| a | b |\n| --- | --- |\n| 1,5 | 2 |"


def test_a_ragged_table_is_not_filled_up() -> None:
    wide = ",".join(["v"] * 10_000) + "\n" + "1,2\n" * 10_000
    assert len(converted(wide, "a.csv").markdown) < 400_000
    assert "zqx74" in converted('a,b\n1\n"unclosed,quote\nzqx74,2,3\n', "a.csv").markdown


# --- traps


def test_entities_are_not_expanded_and_files_not_read() -> None:
    bomb = '<!DOCTYPE l [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]>\n<l>&b; zqx76</l>'
    assert converted(bomb, "a.xml").markdown.split() == ["&b;", "zqx76"]
    outside = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel>&x; zqx77 and more</channel></rss>'
    assert converted(outside, "a.xml").markdown.split() == ["&x;", "zqx77", "and", "more"]


@pytest.mark.parametrize("name", ["deep.json", "deep.ipynb"])
def test_deep_json_is_text(name: str) -> None:
    assert len(converted("[" * 100_000 + "]" * 100_000, name).markdown) == 200_000


def test_lone_surrogates_do_not_get_out() -> None:
    notebook = {"cells": [{"cell_type": "markdown", "source": "broken \ud800 half"}]}
    assert converted(json.dumps(notebook), "a.ipynb").markdown == "broken \ufffd half"


# --- notebooks


def test_notebook() -> None:
    notebook = {
        "nbformat": 4,
        "metadata": {"kernelspec": {"language": "python"}, "title": "A title"},
        "cells": [
            {"cell_type": "markdown", "source": ["# Head\n", "text"]},
            {
                "cell_type": "code",
                "source": "print('```')",
                "outputs": [
                    {"output_type": "stream", "text": ["shown\n"]},
                    {"output_type": "execute_result", "data": {"text/plain": "42", "image/png": "iVBOR"}},
                    {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["x"]},
                ],
            },
            {"cell_type": "code", "source": "", "outputs": []},
        ],
    }
    result = converted(json.dumps(notebook), "a.ipynb")
    assert result.title == "A title"
    assert result.converter == "ipynb/2"
    assert result.markdown == ("# Head\ntext\n\n````python\nprint('```')\n````\n\n```\nshown\n42\nValueError: no\n```")


def test_json_that_is_not_a_notebook_stays_unchanged() -> None:
    assert converted('{"cells": 3}', "a.ipynb").markdown == '{"cells": 3}'
    assert converted("not json", "a.ipynb").markdown == "not json"


# --- archives


def test_zip_of_texts() -> None:
    data = zipped({"../../evil.txt": "zqx85", "b/c.csv": "x,y", "p.png": b"\x89PNG\r\n\x1a\n", "empty.md": ""})
    found = unpacked(data)
    assert found.texts == {
        "a.zip": "- ../../evil.txt\n- b/c.csv\n- p.png\n- empty.md\n",
        "a.zip!/evil.txt": "zqx85\n",
        "a.zip!/b/c.csv": "| x | y |\n| --- | --- |\n",
    }
    assert found.unread == {
        "a.zip!/p.png": "This .png file has no text: OCR does not read files inside other files.",
        "a.zip!/empty.md": "The file is empty.",
    }


def test_an_encrypted_zip_says_so() -> None:
    data = bytearray(zipped({"a.txt": "secret" * 100}))
    directory = data.find(b"PK\x01\x02")
    data[6] |= 1
    data[directory + 8] |= 1
    assert failure(bytes(data), "a.zip").kind == "encrypted"


def test_texts_load_no_heavy_library() -> None:
    program = (
        "import sys\nfrom gnod.ingest.formats import convert\n"
        "for name in ('a.md', 'a.csv', 'a.ipynb', 'a.xml', 'a.py'):\n"
        "    convert(b'{\"cells\": [1]}', name, max_characters=100)\n"
        "heavy = ('markitdown', 'pandas', 'bs4', 'charset_normalizer', 'lxml')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
