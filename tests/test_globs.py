"""The meaning of globs over paths, and their speed for any pattern and any path."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod import globs
from gnod.errors import InvalidReference
from gnod.globs import Glob
from gnod.ingest.reading.cpu_time import limit_cpu_time
from gnod.search.query import references
from tests.small_index import SmallIndex

CASES = [
    ("*.md", ["a.md", ".md"], ["a/b.md", "a.mdx", ""]),
    ("**/*.md", ["a.md", "a/b.md", "a/b/c.md"], ["a.txt", "/a.md"]),
    ("notes/**", ["notes/a", "notes/a/b"], ["notes", "other/a"]),
    ("a**z", ["az", "a/b/z"], ["a/b"]),
    ("./a?c", ["abc"], ["a/c", "ac"]),
    ("*.{md,txt}", ["a.md", "a.txt"], ["a.pdf", "a.{md,txt}"]),
    ("{a,b{c,d}}", ["a", "bc", "bd"], ["b", "ac"]),
    ("{a,b", ["a", "b"], ["{a,b"]),
    ("a,b}", ["a,b}"], ["a"]),
    ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
    ("[!a-c]x", ["dx"], ["ax", "/x"]),
    ("[]]", ["]"], ["["]),
    ("[", ["["], [""]),
    ("[[a]", ["[", "a"], ["b"]),
    ("[a-]", ["-", "a"], ["b"]),
    ("a&&b||c~~d", ["a&&b||c~~d"], []),
    ("a.b+(c)\\d", ["a.b+(c)\\d"], ["aXb+(c)\\d"]),
    ("日*", ["日本"], ["本"]),
]


@pytest.mark.parametrize(("pattern", "matching", "others"), CASES, ids=[case[0] for case in CASES])
def test_what_a_glob_means(pattern: str, matching: list[str], others: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in matching if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("*a" * 200 + "b", "a" * 4000 + "b"),
        ("**a" * 150 + "b", "a/" * 2000 + "ab"),
        ("**/" * 300 + "b", "a/" * 2000 + "b"),
        ("{*,*}" * 150 + "b", "a" * 4000 + "b"),
        ("{" * 400 + "a", "a"),
        ("[[" * 300, "[" * 600),
        ("?" * 900, "a" * 900),
    ],
    ids=lambda text: text[:6],
)
def test_none_takes_exponential_time_or_too_deep_a_stack(pattern: str, matching: str) -> None:
    glob = Glob(pattern)
    with limit_cpu_time(10):  # the slowest takes 0.1 s
        assert glob.matches(matching)
        assert not glob.matches("a" * 4000)
        assert not glob.matches("a/" * 2000)


@given(st.text(alphabet="*?[]!{},ab/.-\\", max_size=30), st.text(alphabet="ab/.-,", max_size=15))
def test_any_text_is_a_glob(pattern: str, path: str) -> None:
    glob = Glob(pattern)
    assert glob.matches(path) == glob.matches(path)


@given(st.text(alphabet="ab/.-_é", max_size=20))
def test_a_plain_path_matches_itself_and_nothing_else(path: str) -> None:
    glob = Glob(path)
    assert glob.matches(path.strip().removeprefix("./"))
    assert not glob.matches(path + "x")


def test_a_very_long_one_is_refused(small_index: SmallIndex) -> None:
    with pytest.raises(InvalidReference, match="1000 characters"):
        references.matching(small_index.reader, "*" * 1001)


def test_the_examples_are_true() -> None:
    result = doctest.testmod(globs)
    assert result.attempted
    assert not result.failed
