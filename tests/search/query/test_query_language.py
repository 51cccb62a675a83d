from __future__ import annotations

import pytest

from gnod.errors import QuerySyntaxError
from gnod.search.query.parsing import Clause, parse_clauses
from tests.small_index import SmallIndex


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("two words", [Clause("two"), Clause("words")]),
        ('"a phrase" word', [Clause("a phrase", is_phrase=True), Clause("word")]),
        ("“curly quotes”", [Clause("curly quotes", is_phrase=True)]),
        ('word -not -"nor this"', [Clause("word"), Clause("not", is_negated=True), Clause("nor this", True, True)]),
        ("real-time gpt-4", [Clause("real-time"), Clause("gpt-4")]),
        ("git commit --amend", [Clause("git"), Clause("commit"), Clause("--amend")]),
        ("a - b", [Clause("a"), Clause("b")]),
        ("word „half", [Clause("word"), Clause("„half")]),
        ("AND OR NOT NEAR(x)", [Clause("AND"), Clause("OR"), Clause("NOT"), Clause("NEAR(x)")]),
    ],
)
def test_parse(query: str, clauses: list[Clause]) -> None:
    assert parse_clauses(query) == clauses


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "empty_query"),
        ("   ", "empty_query"),
        ("?! … ()", "empty_query"),
        ('""', "empty_query"),
        ("-only -negations", "only_negations"),
        ('say "hello', "unmatched_quote"),
        ('"', "unmatched_quote"),
        ("\x00", "empty_query"),
    ],
)
def test_faults_have_a_stable_reason(query: str, reason: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_clauses(query)
    assert caught.value.details == {"reason": reason}


@pytest.mark.parametrize(
    "query",
    [
        'a" OR "b',
        "x NEAR y",
        "col:value",
        "filepath:x",
        "{a b}",
        "^start",
        "a*",
        "(((",
        "a AND",
        '"\'"',
        "'; --",
        "日",
        "*",
    ],
)
def test_no_fts5_syntax_shows_through(small_index: SmallIndex, query: str) -> None:
    small_index.add({"a.md": "some text x y"})
    message = ""
    try:
        small_index.search(query)
    except QuerySyntaxError as error:
        message = error.message
    assert "fts5" not in message.lower()
