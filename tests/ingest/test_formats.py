"""Test the table of formats in the docs: it lists all formats, and each format behaves as documented."""

from __future__ import annotations

import io
import json
import re
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchmarks.hostile_samples import zipped
from gnod.ingest.formats import convert, image
from gnod.ingest.formats.registry import REGISTRY
from gnod.ingest.reading.converter import Converter
from gnod.ingest.reading.versions import is_current
from gnod.ingest.text.outline import outline
from tests import office_files
from tests.ingest.test_compressed import PACKERS
from tests.ingest.test_mail import der, signed
from tests.ingest.test_office_word import docx, paragraph, run
from tests.ingest.test_opendocument import opendocument
from tests.pdf_files import pdf

ROOT = Path(__file__).parents[2]
CORPORA = ROOT.parent / "shared" / "corpora" / "mixed-formats"
_CONVERTER_NAME = re.compile(r'"([a-z-]+/\d+)"')
# Text in pictures is recognised later (test_ocr.py).
READ = [
    converter
    for converter in REGISTRY
    if converter.read and (converter.extensions or converter.shared_extensions) and converter is not image.IMAGE
]


def flat_opendocument() -> str:
    xml = zipfile.ZipFile(io.BytesIO(opendocument("text", '<text:h text:outline-level="1">zqx45</text:h>')))
    flat = xml.read("content.xml").decode().replace("document-content", "document")
    return flat.replace(" xmlns", ' office:mimetype="application/vnd.oasis.opendocument.text" xmlns', 1)


def from_corpora(pattern: str) -> Callable[[], bytes]:
    def read() -> bytes:
        if not CORPORA.is_dir():
            pytest.skip(f"{CORPORA} is not here, and no library writes this format")
        return next(iter(sorted(CORPORA.glob(pattern)))).read_bytes()

    return read


NOTEBOOK = {"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "markdown", "source": "# Head\nzqx45"}]}
MAILBOX = "From a@b Tue Jun  9 23:58:45 2009\nSubject: Head\nFrom: a@b\n\nzqx45\n"
SLIDE = (
    '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>zqx45</text:p></draw:text-box>'
    "</draw:frame></draw:page>"
)


def tarred(name: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    return buffer.getvalue()


TABLE = (
    '<table:table table:name="T"><table:table-row><table:table-cell><text:p>zqx45</text:p></table:table-cell>'
    "</table:table-row></table:table>"
)
SAMPLES: dict[str, Callable[[], bytes | str]] = {
    "docx": lambda: docx(paragraph(run("zqx45"), '<w:outlineLvl w:val="0"/>')),
    "pptx": lambda: office_files.presentation(("zqx45", "point")),
    "xlsx": lambda: office_files.workbook({"Costs": {"A1": "zqx45"}}),
    "epub": lambda: office_files.epub("<h1>Head</h1><p>zqx45</p>"),
    "odt": lambda: opendocument("text", '<text:h text:outline-level="1">zqx45</text:h>'),
    "fodt": flat_opendocument,
    "ods": lambda: opendocument("spreadsheet", TABLE),
    "odp": lambda: opendocument("presentation", SLIDE),
    "odg": lambda: opendocument("graphics", SLIDE),
    "pages": lambda: zipped({"Index/Document.iwa": "", "QuickLook/Preview.pdf": pdf(["zqx45"])}),
    "zip": lambda: zipped({"zqx45.txt": ""}),
    "tar": lambda: tarred("zqx45.txt"),
    "msg": from_corpora("**/*.msg"),
    "xls": lambda: office_files.xls({"Costs": [["zqx45"]]}),
    "doc": lambda: office_files.doc("Head\rzqx45\r", styles=[1, 0]),
    "ppt": lambda: office_files.ppt([office_files.Slide(title="zqx45")]),
    "vsdx": lambda: office_files.vsdx({"Floor": ["zqx45"]}),
    **{suffix: partial(pack, b"zqx45") for suffix, pack in PACKERS.items()},
    "rtf": lambda: r"{\rtf1 zqx45}",
    "pdf": lambda: pdf(["zqx45"]),
    "html": lambda: "<!doctype html><h1>Head</h1><p>zqx45</p>",
    "xml": lambda: "<a>zqx45</a>",
    "mbox": lambda: MAILBOX + "\n" + MAILBOX.replace("Subject: ", "Subject: Re: "),
    "p7m": lambda: signed(der(4, b"Subject: Head\n\nzqx45\n")),
    "ipynb": lambda: json.dumps(NOTEBOOK),
    "rst": lambda: "Head\n====\n\nzqx45\n",
    "adoc": lambda: "= Head\n\nzqx45\n",
    "org": lambda: "* Head\nzqx45\n",
    "tex": lambda: "\\section{Head}\nzqx45\n",
    "srt": lambda: "1\n00:00:01,000 --> 00:00:02,000\nzqx45\n",
    "vtt": lambda: "WEBVTT\n\n00:01.000 --> 00:02.000\nzqx45\n",
    "ics": lambda: "BEGIN:VEVENT\nSUMMARY:zqx45\nEND:VEVENT\n",
    "vcf": lambda: "BEGIN:VCARD\nFN:zqx45\nEND:VCARD\n",
    "md": lambda: "# Head\n\nzqx45\n",
}  # fmt: skip


def sample_name(converter: Converter) -> str:
    extensions = f"{converter.extensions} {converter.shared_extensions}".split()
    return next((each for each in extensions if each in SAMPLES), extensions[0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("converter", READ, ids=sample_name)
def test_each_format_behaves_as_the_table_says(converter: Converter) -> None:
    extension = sample_name(converter)
    sample = SAMPLES.get(extension, lambda: "zqx45\n")()
    data = sample.encode() if isinstance(sample, str) else sample
    converted = convert(data, f"a.{extension}", max_characters=10_000_000)
    if extension != "msg":
        assert "zqx45" in converted.markdown
    assert bool(outline(converted.markdown + "\n", converted.markup).headings) == converter.headings
    if not converter.is_container or converter.location:
        found = converted.locations.kind if converted.locations else "line" if converted.keeps_lines else ""
        assert found == converter.location


def test_every_extension_is_in_the_table() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    cells = {word for line in page.split("\n") if line.startswith("| ") for word in line.split(" | ")[1].split()}
    for converter in REGISTRY:
        words = f"{converter.extensions} {converter.shared_extensions} {converter.file_names}".split()
        assert set(words) <= cells


def test_the_message_for_an_unread_format_says_what_to_do() -> None:
    with pytest.raises(Exception, match=r"This is a binary workbook, which gnod does not read: convert it "):
        convert(b"PK\x05\x06" + bytes(18), "a.xlsb", max_characters=99)


def test_converters_have_the_versions_of_the_list() -> None:
    """Otherwise, an upgrade would not convert files of an older version again, or every upgrade would."""
    folder = ROOT / "gnod" / "ingest" / "formats"
    written = {name for path in folder.rglob("*.py") for name in _CONVERTER_NAME.findall(path.read_text("utf-8"))}
    assert len(written) > 15
    assert [name for name in sorted(written) if not is_current(name)] == []
