"""Test links in all syntaxes, with tables of cases from the documentation of the formats and with random text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.links import properties
from gnod.ingest.links.extraction import extract
from gnod.ingest.links.places import LinkPlaces
from gnod.ingest.text import frontmatter
from gnod.ingest.text.canonical import canonicalise
from gnod.ingest.text.outline import outline
from gnod.store.link_names import ALIAS, EXTERNAL, OUTSIDE, PATH, names_of
from gnod.store.tables.records import Link

CASES = Path(__file__).parent / "link_cases"
FORMATS = {
    "markdown": ("text/markdown", "dir/here.md"),
    "obsidian": ("text/markdown", "dir/here.md"),
    "org": ("text/org", "dir/here.org"),
    "rst": ("text/x-rst", "dir/here.rst"),
    "asciidoc": ("text/asciidoc", "dir/here.adoc"),
    "antora": ("text/asciidoc", "docs/modules/one/pages/sub/here.adoc"),
}
_MARKS = """
    [[ ]] [ ] ( ) ](b.md) ![ | # < > << >> ` `` ~~~ ``` --- include:: :doc:` .. _a: toctree:: // link: xref: https://a.b
    #+include: file: id: % %2e%2e / \\ é up: <a href= src= ' " <!-- -->
"""
PARTS = [*_MARKS.split(), "\n", "\n\n", " ", "\0", "\u0301"]
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\"}


class Case(NamedTuple):
    syntax: str
    source: str
    text: str
    expected: str


def cases() -> Iterator[Case]:
    """Read the tables: `\\n` is a line end; a line with `# ` names the source of the rules for the lines after it."""
    for syntax in FORMATS:
        source = ""
        for line in (CASES / f"{syntax}.tsv").read_text().splitlines():
            text, tab, expected = line.rpartition("\t")
            if not tab:
                source = line.removeprefix("# ")
            else:
                text = re.sub(r"\\([nt\\])", lambda match: _ESCAPES[match[1]], text)
                yield Case(syntax, source, text, expected)


def found(text: str, syntax: str = "markdown") -> tuple[list[Link], list[str]]:
    mime, path = FORMATS[syntax]
    source = text if mime != "text/markdown" else None
    text = canonicalise(text)
    head = frontmatter.parse(text)
    structure = outline(text, start=head.body_start)
    return extract(text, source, mime=mime, path=path, head=head, structure=structure, lost=[])


def shown(link: Link) -> str:
    """Show a link: `/` precedes a path, `~` precedes the end of a path, and a name has no prefix."""
    if link.reach == EXTERNAL:
        return link.target
    if link.reach == OUTSIDE:
        return "outside"
    assert link.key is not None
    mark = "/" if link.reach == PATH else "" if link.reach == ALIAS else "~"
    return f"{mark}{link.key}" + (f"#{link.fragment}" if link.fragment else "")


def test_every_case_of_the_tables() -> None:
    every = list(cases())
    wrong = [
        f"{case.syntax}: {case.text!r}: expected {case.expected}, found {actual} ({case.source})"
        for case in every
        if (actual := " ; ".join(map(shown, found(case.text, case.syntax)[0])) or "-") != case.expected
    ]
    assert not wrong, "\n".join(wrong)
    assert len(every) >= 500
    assert all(case.source for case in every)


@pytest.mark.parametrize("syntax", FORMATS)
@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=40).map("".join))
def test_any_text_has_links_in_its_lines(syntax: str, text: str) -> None:
    canonical = canonicalise(text)
    for link in found(canonical, syntax)[0]:
        assert 0 <= link.start <= link.end <= len(canonical)
        assert 1 <= link.line <= text.count("\n") + text.count("\r") + 1
        assert FORMATS[syntax][0] != "text/markdown" or canonical.count("\n", 0, link.start) + 1 == link.line
        assert (link.key is None) == (link.reach in (EXTERNAL, OUTSIDE))
        assert link.key is None or ".." not in link.key.split("/")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("syntax", "part", "count"),  # 0: only the time counts
    [
        pytest.param("markdown", "[[Note]] ", 100_000, marks=pytest.mark.slow),
        ("markdown", "[a](b.md)\n", 10_000),
        ("markdown", "[a][b] ", 0),
        ("markdown", "[[a ", 0),
        ("markdown", "[", 0),
        ("markdown", "![", 0),
        ("markdown", "[a](", 0),
        ("markdown", '[a](b "', 0),
        ("markdown", "`a``", 0),
        ("markdown", "` `` ``` ", 0),
        ("markdown", '<a href="', 0),
        ("markdown", "<!-- ", 0),
        ("markdown", "[a]: b\n", 0),
        ("markdown", "\n\n    a", 0),
        ("org", "[[file:a.org][x]] ", 10_000),
        ("org", "#+begin_src\n", 0),
        ("org", "=a ", 0),
        ("rst", ":doc:`a` ", 10_000),
        ("rst", "`a ", 0),
        ("rst", ".. _a", 0),
        ("rst", "a::\n\n ", 0),
        ("rst", ".. toctree::\n\n a\n", 0),
        ("asciidoc", "link:a.html[x] ", 10_000),
        ("asciidoc", "<<a", 0),
        ("asciidoc", "link:a", 0),
        ("asciidoc", "----\ninclude::a[]\n", 0),
    ],
)
def test_many_links_and_unfinished_ones_take_little_time(syntax: str, part: str, count: int) -> None:
    started = time.process_time()
    links = found(part * (count or 20_000), syntax)[0]
    assert count in (0, len(links))
    assert time.process_time() - started < 8


@pytest.mark.parametrize(
    ("fragment", "line"),
    [
        ("Learn C#", 1),
        ("learn-c", 1),
        ("Learn C#Basics", 3),
        ("Learn C# > Basics", 3),
        ("F# > Basics", 7),
        ("F##Basics", 7),
        ("F", 5),
        ("", 1),
        ("Gone", None),
    ],
)
def test_the_heading_of_a_fragment(fragment: str, line: int | None) -> None:
    text = "# Learn C#\n\n## Basics\n\n# F#\n\n## Basics\n"
    assert LinkPlaces(text).line_of(fragment) == line


def test_the_names_of_a_document() -> None:
    assert {tuple(each) for each in names_of("Notes/Sub/A B.md", ["Other.md"], ["id:x"])} == {
        ("notes/sub/a b", 0, 2),
        ("sub/a b", 1, 2),
        ("a b", 1, 2),
        ("other", 2, 2),
        ("id:x", 0, 2),
    }
    assert {each.name for each in names_of("docs/index.rst", [], [])} == {
        "docs/index.rst", "docs/index", "index.rst", "index", "docs",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metadata", "names"),
    [
        ({"aliases": ["A", "B"], "id": 7}, ["A", "B", "7"]),
        ({"Aliases": "A, B"}, ["A", "B"]),
        ({"alias": "A", "aliases": ["B", "A", None, {"x": 1}]}, ["A", "B"]),
    ],
)
def test_names_of_a_note(metadata: dict[str, object], names: list[str]) -> None:
    assert properties.names(metadata) == names


def test_labels() -> None:
    assert found(":PROPERTIES:\n:ID: Ab-1\n:END:\n", "org")[1] == ["id:ab-1"]
    assert found(".. _My Label:\n\nText\n\n.. _url: https://a.b\n", "rst")[1] == ["ref:my label"]
