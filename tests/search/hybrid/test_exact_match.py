"""Whether the words of a query stand in a text, as they are written."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gnod.analysis.terms import Analyzer
from gnod.errors import QuerySyntaxError
from gnod.search.hybrid.reranking import exact_terms, matched_fraction
from gnod.search.query.parsing import parse_clauses

ENGLISH = [Analyzer("en")]
BOTH = [Analyzer("de"), Analyzer("en")]


def exact(query: str, analyzers: list[Analyzer]) -> list[str]:
    try:
        return exact_terms(parse_clauses(query), analyzers)
    except QuerySyntaxError:
        return []


def fraction(query: str, text: str, analyzers: list[Analyzer] = ENGLISH) -> float:
    return matched_fraction(text, exact(query, analyzers))


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("show", "a show of hands", 1.0),
        ("howl", "they show howls", 0.0),
        ("cat", "concatenate a category, Cat5 and a bobcat", 0.0),
        ("cat", "concatenate (cat)", 1.0),
        ("boat 12", "boat 123 and boat 412", 0.5),
        ("12", "12.", 1.0),
        ("Harbour MASTER", "the harbour\nmaster", 1.0),
        ("harbour crane pilot storm", "a storm in the harbour", 0.5),
        ("straße", "STRASSE", 1.0),
        ("café", "cafe\u0301", 1.0),
        ("cafe", "cafe\u0301", 0.0),
    ],
)
def test_whole_words_in_any_case(query: str, text: str, expected: float) -> None:
    assert fraction(query, text) == expected


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("node.js", "runs on Node.js.", 1.0),
        ("node.js", "a node in js", 0.0),
        ("node.js", "node.json", 0.0),
        ("E4711", "error E4711: no paper", 1.0),
        ("E4711", "error E47110 and E471", 0.0),
        ("E4711", "(e4711)", 1.0),
        ("C++", "we write C++ here", 1.0),
        ("C++", "we write C here", 0.0),
        ("C#", "C#-code", 1.0),
        ("snake_case", "in snake_case,", 1.0),
        ("snake_case", "in snake case", 0.0),
        ("v1.2.3", "since v1.2.3", 1.0),
        ("v1.2.3", "since v1.2.31", 0.0),
        ("user@example.com", "<user@example.com>", 1.0),
        ("DEC-0054", "see dec-0054", 1.0),
    ],
)
def test_identifiers_stand_whole(query: str, text: str, expected: float) -> None:
    assert fraction(query, text) == expected


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("नदी", "यह नदी गहरी है", 1.0),
        ("नदी", "नदीम यहाँ है", 0.0),  # a name that begins with the word for river
        ("नद", "यह नदी गहरी है", 0.0),  # what follows is a vowel sign, not a letter
        ("किताब", "किताबें", 0.0),
        ("किताब", "एक किताब।", 1.0),
    ],
)
def test_combining_marks_belong_to_the_word(query: str, text: str, expected: float) -> None:
    assert fraction(query, text) == expected


def test_scripts_without_spaces_go_by_pairs() -> None:
    assert exact("冷凍設備", ENGLISH) == ["冷冻", "冻设", "设备"]
    assert fraction("冷凍設備", "この冷凍設備の保守") == 1.0
    assert fraction("冷凍設備", "冷凍した設備") == pytest.approx(2 / 3)
    assert fraction("凍", "冷凍設備") == 1.0
    assert fraction("検索", "冷凍設備の保守記録") == 0.0


def test_phrases_stand_as_they_are() -> None:
    assert exact('"blue green" deploy', ENGLISH) == ["blue green", "deploy"]
    assert fraction('"blue green"', "a Blue\n  GREEN rollout") == 1.0
    assert fraction('"blue green"', "green and blue") == 0.0
    assert fraction('"blue green"', "blue greens") == 0.0


def test_what_is_excluded_is_no_term() -> None:
    assert exact('jaguar -car -"big cat"', ENGLISH) == ["jaguar"]
    assert fraction("jaguar -car", "a jaguar in a car") == 1.0


def test_function_words_are_none_in_any_language_of_the_index() -> None:
    assert exact("how does the crane work", ENGLISH) == ["crane", "work"]
    assert exact("wie geht der Kran", BOTH) == exact("geht Kran", BOTH)


def test_a_word_said_twice_is_one_term() -> None:
    assert exact("crane Crane CRANE", ENGLISH) == ["crane"]


@pytest.mark.parametrize("query", ["", "?!", '"', "-car"])
def test_a_query_without_words_matches_nothing(query: str) -> None:
    assert exact(query, ENGLISH) == []
    assert fraction(query, "a car") == 0.0


@given(st.text(max_size=30), st.lists(st.sampled_from([" ", "\n", "\t", "  \n"]), min_size=2, max_size=2))
def test_a_term_stands_in_a_text_of_itself_and_blanks(query: str, blanks: list[str]) -> None:
    terms = exact(query, ENGLISH)
    assume(terms)
    for term in terms:
        assert matched_fraction(term.join(blanks), [term]) == 1.0
        assert matched_fraction(term.upper().join(blanks), [term]) in (0.0, 1.0)
    assert matched_fraction(blanks[0].join(terms), terms) == 1.0


@given(st.text("abc äß冷凍.-\n", max_size=40), st.lists(st.text("abcäß冷凍", min_size=1, max_size=4), max_size=5))
def test_a_fraction_is_one(text: str, terms: list[str]) -> None:
    found = matched_fraction(text, [term.casefold() for term in terms])
    assert 0.0 <= found <= 1.0
    assert round(found * len(terms)) == pytest.approx(found * len(terms))
