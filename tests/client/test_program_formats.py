"""JSON, file lists, CSV, Markdown, XML: what programs read back."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from xml.etree import ElementTree

import pytest
from hypothesis import given

from gnoctl.printing import records, text
from gnoctl.printing.output import json_text
from gnoctl.printing.records import ListedRecord, record_of
from gnod.protocol.search import Hit
from gnod.types import parse_uri
from tests.client.samples import few, found, hit, hostile_hits, hostile_text


def test_files() -> None:
    assert list(records.file_lines([record_of(hit(rank=3))])) == ["#a1b2c3d4,0.3333,gno://notes/deploy/blue.md\n"]


@few
@given(hostile_hits())
def test_csv_parses_back(hostile: Hit) -> None:
    written = "".join(records.csv_lines([record_of(hostile)]))
    assert text.is_safe(written.replace("\r\n", ""))
    header, row = csv.reader(StringIO(written, newline=""))
    cells = dict(zip(header, row, strict=True))
    assert cells["title"].removeprefix("'") == text.block(hostile.title).removeprefix("'")
    assert all(not cell.startswith(("=", "+", "-", "@")) for cell in row)


@few
@given(hostile_hits())
def test_xml_parses_back(hostile: Hit) -> None:
    written = "".join(records.xml_lines([record_of(hostile), record_of(hit())]))
    assert text.is_safe(written)
    documents = ElementTree.fromstring(written.encode()).findall("document")
    assert [each.get("docid") for each in documents] == ["#a1b2c3d4"] * 2
    assert documents[1].findtext("title") == "Blue-green deployment"
    assert documents[1].findtext("text") == hit().snippet


@few
@given(hostile_hits())
def test_lists_have_one_safe_line_for_each_document(hostile: Hit) -> None:
    record = record_of(hostile)
    (listed,) = records.file_lines([record])
    for line in (listed, *records.markdown_lines([record])):
        assert text.is_safe(line)
        assert line.count("\n") == 1


@few
@given(hostile_text)
def test_an_address_made_safe_means_the_same(path: str) -> None:
    address = records._uri(ListedRecord("#1", f"gno://notes/{path.replace('%', '%25')}", "", {}))
    assert parse_uri(address) == ("notes", path)


def test_markdown_links_cannot_be_broken_out_of() -> None:
    record = ListedRecord("#1", "gno://n/a (b).md", "x](http://evil) <b>", {}, body="> quote *bold*")
    assert list(records.markdown_lines([record])) == [
        "- [x\\](http://evil) \\<b\\>](gno://n/a%20%28b%29.md) · `#1`\n",
        "  > \\> quote \\*bold\\*\n",
    ]


@few
@given(hostile_hits())
def test_json_is_the_answer_and_safe(hostile: Hit) -> None:
    written = json_text(found(hostile))
    assert text.is_safe(written)
    assert "\n" not in written
    assert json.loads(written)["hits"][0]["snippet"] == hostile.snippet


def test_json_for_people_is_indented() -> None:
    assert re.match(r'\{\n  "query"', json_text(found(), indented=True))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)"])
def test_a_spreadsheet_sees_no_formula(cell: str) -> None:
    written = "".join(records.csv_lines([ListedRecord("#1", "gno://n/a", cell, {})]))
    assert f"'{cell}" in written
