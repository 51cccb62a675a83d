from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.text.canonical import canonicalise, with_line_map
from gnod.types import canonical_line, source_line


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("hello", "hello\n"),
        ("\ufeffa\r\nb\rc", "a\nb\nc\n"),
        ("a  \t\nb", "a\nb\n"),
        ("a\n\n\n \n\nb\n\n\n", "a\n\nb\n"),
        ("\n\n\na", "\na\n"),
        ("a\x00\x1b[31mb\tc\x85", "a[31mb\tc\n"),
        ("e\u0301", "é\n"),
        ("a\x01\u0301", "á\n"),
        ("\ufb01nd o\ufb03ce \ufb06", "find office st\n"),
        ("", "\n"),
        (" \n\t\n", "\n"),
        ("x\ud800y", "x?y\n"),
    ],
)
def test_rules(text: str, canonical: str) -> None:
    assert canonicalise(text) == canonical


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=200))
def test_canonicalising_twice_is_canonicalising_once(text: str) -> None:
    once = canonicalise(text)
    assert canonicalise(once) == once
    assert once.endswith("\n")
    assert not once.endswith("\n\n")
    assert "\n\n\n" not in once


@given(st.lists(st.sampled_from(["a", "b c", "", " ", "\t", "# h"]), max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_every_canonical_line_is_found_in_the_file(lines: list[str], line_end: str) -> None:
    text = line_end.join(lines)
    canonical, places = with_line_map(text)
    assert canonical == canonicalise(text)
    for number, line in enumerate(canonical.split("\n")[:-1], 1):
        where = source_line(places, number)
        assert [*lines, ""][where - 1].rstrip() == line
        assert canonical_line(places, where) == number
    assert all(canonical_line(places, n) <= n for n in range(1, len(lines) + 1))
