"""Test the terms of texts."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.terms import MAX_TERM_CHARACTERS, Analyzer, compounds

ENGLISH = Analyzer("en")


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("real-time", "real time realtim="),
        ("gpt-4", "gpt 4"),
        ("DEC-0054", "dec 0054"),
        ("snake_case", "snake case snake_case"),
        ("camelCase", "camel case camelcas"),
        ("HTTPServer", "http server httpserver"),
        ("GitHub YouTube iPhone LaTeX McDonald SQLite", "github youtub iphon latex mcdonald sqlite"),
        (
            "TokenBucket() `TokenBucket` `List<TokenBucket>`",
            "token bucket token bucket list token bucket" + 3 * " tokenbucket",
        ),
        ("queue.TokenBucket", "queue token bucket queue.tokenbucket"),
        ("GitHub-Actions (GitHub)", "github action github githubact="),
        ("OpenGL4 IPv6", "opengl 4 ipv 6 opengl4 ipv6"),
        ("ConnectionError OpenStreetMap", "connect error open street map connectionerror openstreetmap"),
        ("A GitHub\n```\nclass TokenBucket\n```\nGitHub", "a github class token bucket github tokenbucket"),
        ("authority authorization author", "authorit authoriz author"),
        ("node.js", "node js node.js"),
        ("v1.2.3", "1 2 3 v1.2.3"),
        ("foo::bar", "foo bar foo::bar"),
        ("user@example.com", "user exampl com user@example.com"),
        ("config.yaml", "config yaml config.yaml"),
        ("a/b/c.md", "a b c md a/b/c.md"),
        ("sha256", "sha 256 sha256"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("C++11 page#anchor", "c++ 11 page anchor"),
        ("PDFs and APIs", "pdf and api"),
        ("don't", "don t"),
        ("ＡＢＣ", "abc"),
        ("RÉSUMÉ café", "resum cafe"),
        ("日本語", "日本 本语 语"),
        ("犬", "犬"),
        ("第3章", "第 3 章"),
        ("pass\u200bword ad\u00admin", "password admin"),
        ("", ""),
        ("?!… — ()", ""),
    ],
)
def test_stream(text: str, stream: str) -> None:
    assert ENGLISH.stream(text) == stream


def test_words_keep_their_combining_marks() -> None:
    assert Analyzer("hi").stream("हिन्दी विकिपीडिया").count(" ") == 1


def test_a_word_is_made_of_letters_digits_and_marks() -> None:
    alphanumeric = re.compile(r"[^\W_]")
    for char in map(chr, range(0x10000)):
        is_word = compounds(char) == [char]
        assert is_word == (bool(alphanumeric.match(char)) or unicodedata.category(char)[0] == "M"), hex(ord(char))


def test_composed_and_decomposed_text_give_the_same_terms() -> None:
    text = "Café Ångström naïveté Việt Nam 가나다"
    assert ENGLISH.stream(unicodedata.normalize("NFD", text)) == ENGLISH.stream(unicodedata.normalize("NFC", text))


def test_german_umlauts_and_compounds() -> None:
    german = Analyzer("de")
    assert german.stream("Häuser") == german.stream("Haus") == "haus"


def test_wholes_come_after_all_parts_so_that_they_do_not_interrupt_phrases() -> None:
    assert ENGLISH.stream("call snake_case now").startswith("call snake case now ")


@given(st.text(st.characters(max_codepoint=127), max_size=200))
def test_a_text_in_ascii_has_the_same_compounds_inside_other_text(text: str) -> None:
    assert compounds(f"{text} é")[:-1] == compounds(text)


@pytest.mark.slow
@given(st.text(max_size=300))
def test_any_text_gives_clean_terms(text: str) -> None:
    terms = ENGLISH.stream(text).split(" ")
    assert all(len(term) <= MAX_TERM_CHARACTERS for term in terms)
    assert not any(c.isspace() for term in terms for c in term)


@given(st.text(max_size=100))
def test_a_query_finds_all_indexed_words(text: str) -> None:
    indexed = set(ENGLISH.stream(text).split())
    asked = {term for unit in ENGLISH.units(text) for term in unit.parts}
    assert asked <= indexed


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["x" * 5_000_000, "a-" * 500_000, "z" + "\u0301" * 500_000, "A" * 1_000_000 + "=", "日" * 300_000],
    ids=["one word", "one compound", "zalgo", "base64", "one run"],
)
def test_enormous_words_are_fast(text: str) -> None:
    started = time.process_time()
    ENGLISH.stream(text)
    assert time.process_time() - started < 10


def test_pasted_images_are_not_indexed() -> None:
    assert ENGLISH.stream("before " + "iVBORw0KGgoAAAANSUhEUgAA" * 100 + " after") == "befor after"
