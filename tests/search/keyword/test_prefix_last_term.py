"""Search while the user still types the last word."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.errors import QuerySyntaxError
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import find_marks
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

PAGES = {
    "protein.md": "# Proteins\n\nWhat proteins are made of.\n",
    "protocol.md": "# Wire\n\nThe protocol of the socket.\n",
    "prot.md": "# Prot\n\nA prot is no word.\n",
    "github.md": "# Code\n\nIt lies on GitHub.\n",
    "städte.md": "# München\n",
    "kyoto.md": "# 京都旅行のメモ\n",
}


def found(index: SmallIndex, query: str, *, is_prefix: bool = True) -> list[str]:
    result = lexical.search(
        index.reader,
        parse_clauses(query),
        Filters(),
        limit=10,
        prefix_last_term=is_prefix and not query[-1:].isspace(),
    )
    paths = dict(index.reader.execute("SELECT id, path FROM documents"))
    return [paths[r.id] for r in result.ranked]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("prote", {"protein.md"}),
        ("proto", {"protocol.md"}),
        ("prot", {"prot.md", "protein.md", "protocol.md"}),
        ("socket prot", {"prot.md", "protein.md", "protocol.md"}),
        ("githu", {"github.md"}),
        ("münch", {"städte.md"}),
        ("munch", {"städte.md"}),
        ("京", {"kyoto.md"}),
        ("prot ", {"prot.md"}),  # a space ends the word
        ("pr", set()),
        ('"prote"', set()),  # a quoted word is complete
    ],
)
def test_words_with_this_beginning_are_found(small_index: SmallIndex, query: str, paths: set[str]) -> None:
    small_index.add(PAGES)
    assert set(found(small_index, query)) == paths


def test_the_word_itself_comes_first(small_index: SmallIndex) -> None:
    small_index.add(PAGES)
    assert found(small_index, "prot")[0] == "prot.md"
    assert found(small_index, "socket prot")[0] == "protocol.md"


def test_the_last_word_is_complete_by_default(small_index: SmallIndex) -> None:
    small_index.add(PAGES)
    assert found(small_index, "prote", is_prefix=False) == []


def test_only_the_last_word_is_a_prefix(small_index: SmallIndex) -> None:
    small_index.add(PAGES)
    assert "protein.md" not in found(small_index, "prote the")
    assert found(small_index, "prote -wire") == []


def test_the_place_is_marked(small_index: SmallIndex) -> None:
    small_index.add(PAGES)

    def work(connection: Connection) -> list[str]:
        result = lexical.search(connection, parse_clauses("prote"), Filters(), limit=10, prefix_last_term=True)
        text = "What proteins and Protestants are."
        analyzers = lexical.analyzers_of_index(connection)
        return [text[m.start : m.end] for m in find_marks(text, result.expression.query_terms(), analyzers)]

    assert small_index.database.submit_read(work).result() == ["proteins", "Protestants"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(alphabet=st.sampled_from('abc ä"-*^()+#.:_京\\'), max_size=12))
def test_any_typed_text_is_answered_or_refused(small_index: SmallIndex, query: str) -> None:
    with contextlib.suppress(QuerySyntaxError):
        found(small_index, query)
