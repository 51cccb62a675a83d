"""`part*` finds words that begin with a part, `*part` words that end with it, and `*part*` words that contain it."""

from __future__ import annotations

import contextlib

import pytest

from gnod.errors import QuerySyntaxError
from gnod.search.correction.correction_service import Corrector
from gnod.search.correction.known_words import MAX_ALTERNATIVES
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import find_marks
from gnod.search.query.parsing import parse_clauses, parse_query
from gnod.store.connection import Connection
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

PAGES = {
    "zoll.md": "# Customs\n\nThe Zolltarif of the country.\n",
    "preise.md": "# Prices\n\nAll Tarife are new.\n",
    "certificate.md": "# TLS\n\nRenew certificates.\n",
    "certain.md": "# Sure\n\nIt is certain.\n",
    "math.md": "# Product\n\nCompute 2*3 with **kwargs.\n",
    "tokyo.md": "# 東京都の天気\n",
}


def found(index: SmallIndex, query: str) -> list[str]:
    corrector = Corrector(index.database.submit_read)

    connection = index.reader
    clauses = corrector.resolved(connection, parse_clauses(query))
    paths = dict(connection.execute("SELECT id, path FROM documents"))
    ranked = lexical.search(connection, clauses, Filters(), limit=MAX_ALTERNATIVES).ranked
    return sorted(paths[each.id] for each in ranked)


@pytest.fixture
def index(small_index: SmallIndex) -> SmallIndex:
    small_index.add(
        {path: text for path, text in PAGES.items() if not path.startswith(("zoll", "preise"))}, language="en"
    )
    small_index.add({path: text for path, text in PAGES.items() if path.startswith(("zoll", "preise"))}, language="de")
    return small_index


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("tarif*", ["preise.md"]),
        ("*tarif", ["preise.md", "zoll.md"]),
        ("*Tarife", ["preise.md", "zoll.md"]),
        ("*arif*", ["preise.md", "zoll.md"]),
        ("cert*", ["certain.md", "certificate.md"]),
        ("certific*", ["certificate.md"]),  # longer than its stem
        ("certificat*", ["certificate.md"]),
        ("cert* -certif*", ["certain.md"]),
        ("*zzz*", []),
        ("2*3", ["math.md"]),
        ("**kwargs", ["math.md"]),
        ('"cert*"', []),
        ("東京*", ["tokyo.md"]),
        ("ce* renew", ["certificate.md"]),
    ],
)
def test_a_wildcard_finds_words_by_a_part(index: SmallIndex, query: str, paths: list[str]) -> None:
    assert found(index, query) == paths


@pytest.mark.parametrize(
    ("query", "reason"),
    [("*", "empty_query"), ("***", "empty_query"), ("a*", "wildcard_too_short"), ("*ab*", "wildcard_too_short")],
)
def test_too_short_a_part_says_what_to_write(query: str, reason: str) -> None:
    with pytest.raises(QuerySyntaxError, match=r"write part\* or \*part\*") as raised:
        parse_clauses(query)
    assert raised.value.details["reason"] == reason


@pytest.mark.parametrize("query", ["**a**", "a** b*c *d", "*" * 4000, "x* " * 1300, "*abc* " * 700])
def test_many_wildcards_are_an_error_or_a_search(index: SmallIndex, query: str) -> None:
    with contextlib.suppress(QuerySyntaxError):
        assert len(found(index, query)) <= len(PAGES)


def test_a_part_with_many_words_finds_some_of_them(small_index: SmallIndex) -> None:
    letters = "abcdefghij"
    words = [f"x{a}{b}marker{c}y" for a in letters for b in letters for c in letters[:2]]
    small_index.add({"many.md": " ".join(words)}, language="en")
    corrector = Corrector(small_index.database.submit_read)
    (clause,) = corrector.resolved(small_index.reader, parse_clauses("*marker*"))
    assert len(clause.alternatives) == MAX_ALTERNATIVES + 1  # and the words that begin with it


def test_vectors_get_the_part_and_marks_the_words() -> None:
    query = parse_query("renew certific* soon")
    assert [line.subquery.text for line in query.lines] == ["renew certific* soon", "renew certific soon"]


def test_the_words_are_marked(index: SmallIndex) -> None:
    corrector = Corrector(index.database.submit_read)

    def work(connection: Connection) -> list[str]:
        clauses = corrector.resolved(connection, parse_clauses("*arif*"))
        analyzers = lexical.analyzers_of_index(connection)
        text = "The Zolltarif and the Tarife."
        marks = find_marks(text, lexical.query_terms(clauses, analyzers), analyzers)
        return [text[mark.start : mark.end] for mark in marks]

    assert index.database.submit_read(work).result() == ["Zolltarif", "Tarife"]
