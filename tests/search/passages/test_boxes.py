"""Boxes of words from the characters of a page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.terms import Analyzer
from gnod.search.keyword import lexical
from gnod.search.passages.boxes import WordBox, edges_of_lines, find_boxes
from gnod.search.query.parsing import parse_text

ANALYZERS = [Analyzer("en"), Analyzer("de")]


def edges(text: str) -> list[float]:
    """Return boxes of 10 by 20 for the characters of a text, line below line. Line ends have no box."""
    boxes: list[float] = []
    for number, line in enumerate(text.split("\n")):
        for at in range(len(line)):
            boxes += [10.0 * at, 20.0 * number, 10.0 * at + 10, 20.0 * number + 20]
        boxes += [0.0] * 4
    return boxes[:-4]


def found(text: str, query: str) -> list[WordBox]:
    return find_boxes(text, edges(text), lexical.query_terms(parse_text(query), ANALYZERS), ANALYZERS)


def test_characters_share_the_box_of_their_line() -> None:
    text = "one two\n\nthree"
    given = edges_of_lines(text, [(10, 0, 80, 20), (0, 40, 50, 60)])
    assert find_boxes(text, given, lexical.query_terms(parse_text("two three"), ANALYZERS), ANALYZERS) == [
        WordBox("two", 50, 0, 80, 20),
        WordBox("three", 0, 40, 50, 60),
    ]
    assert len(edges_of_lines(text, [])) == 4 * len(text)  # a line without a box: nothing is marked
    assert list(edges_of_lines("", [])) == []


def test_words_are_found_as_in_documents() -> None:
    text = "The studies of\nGitHub show: retry_with_backoff."
    assert found(text, "study") == [WordBox("studies", 40, 0, 110, 20)]
    assert found(text, "github") == [WordBox("GitHub", 0, 20, 60, 40)]
    assert [box.text for box in found(text, "backoff STUDY absent")] == ["studies", "backoff"]
    assert found(text, "") == found("", "x") == []


def test_a_word_on_two_lines_has_two_boxes() -> None:
    text = "an exam-\nple and a real-\ntime one"
    assert found(text, "examples") == [WordBox("exam-", 30, 0, 80, 20), WordBox("ple", 0, 20, 30, 40)]
    assert [box.text for box in found(text, "real-time")] == ["real-", "time"]
    assert [box.text for box in found("x\n" * 300 + text, "real time")] == ["real-", "time"]


def test_scripts_without_spaces() -> None:
    assert [box.text for box in found("東京都の日本語文書", "日本語")] == ["日本語"]


def test_every_place_of_a_frequent_word() -> None:
    text = "a model of a thing\n" * 400
    assert len(found(text, "models")) == 400


@given(st.text(alphabet="ab -\n\u00ad\u0301日本", max_size=60), st.text(alphabet="ab日本 -", max_size=10))
def test_any_page_and_any_query(text: str, query: str) -> None:
    for box in found(text, query):
        assert box.right > box.left
        assert "\n" not in box.text
