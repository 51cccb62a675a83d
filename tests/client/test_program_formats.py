"""Output for programs: JSON, file lists, paths, CSV, Markdown, XML."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given

from gnoctl.printing import records, text
from gnoctl.printing.output import json_text
from gnoctl.printing.records import ListedRecord, record_of
from gnod.protocol.search import Hit
from gnod.types import parse_uri
from tests.client import samples
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon
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


METHODS = {"search": "lexical", "vsearch": "vector", "query": "query", "similar": "similar"}
ODD = ["/home/u/two words.md", "/home/u/quo\"te's.md", "/home/u/-n.md", "/home/u/ é\t.md"]


def sources(daemon: FakeDaemon, *given: str) -> None:
    hits = [samples.hit(rank, source=each) for rank, each in enumerate(given, 1)]
    for mode in METHODS.values():
        daemon.answers[f"search.{mode}"] = samples.found(*hits, mode=mode)


@pytest.mark.parametrize("command", METHODS)
def test_each_file_once_in_the_order_of_the_hits(command: str, daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    sources(daemon, *ODD, ODD[0])
    assert gnoctl(command, "x", "--paths") == (0, "".join(f"{each}\n" for each in ODD), "")
    nulls = "".join(f"{each}\0" for each in ODD)
    assert gnoctl(command, "x", "--paths0") == gnoctl(command, "x", "-0") == (0, nulls, "")
    sources(daemon)
    assert gnoctl(command, "x", "--paths") == (1, "", "")


def test_a_line_break_in_a_name_makes_no_second_path(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    sources(daemon, "/home/u/a\n/etc/passwd", "/home/u/b.md")
    assert gnoctl("search", "x", "--paths") == (
        0,
        "/home/u/b.md\n",
        "paths with a line break are left out: 1. Use --paths0\n",
    )
    assert gnoctl("search", "x", "-0").out == "/home/u/a\n/etc/passwd\0/home/u/b.md\0"


def test_a_file_in_an_archive_counts_as_the_archive(daemon: FakeDaemon, gnoctl: Gnoctl, tmp_path: Path) -> None:
    archive, folder = tmp_path / "old!.zip", tmp_path / "wow!"
    archive.write_bytes(b"PK")
    folder.mkdir()
    sources(daemon, f"{archive}!/a.md", f"{archive}!/b.zip!/c.md", f"{folder}/d.md")
    assert gnoctl("search", "x", "--paths").out.splitlines() == [str(archive), f"{folder}/d.md"]


def test_one_format_at_a_time(daemon: FakeDaemon, gnoctl: Gnoctl) -> None:
    sources(daemon)
    outcome = gnoctl("search", "x", "--paths", "--json")
    assert outcome.status != 0
    assert "cannot be used together" in outcome.err + outcome.out
