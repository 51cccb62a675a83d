"""The clauses of a query; and the structured form: when a text is structured, and its errors."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.errors import QuerySyntaxError
from gnod.search.query import parsing
from gnod.search.query.parsing import (
    KINDS,
    MAX_CHARACTERS,
    MAX_LINES,
    Clause,
    Subquery,
    parse_clauses,
    parse_query,
    parse_subqueries,
    render,
    variant_lines,
)
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


LEX, VEC, HYDE = (partial(Subquery, kind) for kind in KINDS)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("lex: pump seal", [LEX("pump seal")]),
        ("vec:why does it leak?", [VEC("why does it leak?")]),
        (
            'lex: "pump seal" -car\n\n  vec: why does it leak  \r\nhyde: It leaks: the seal is worn.\n',
            [LEX('"pump seal" -car'), VEC("why does it leak"), HYDE("It leaks: the seal is worn.")],
        ),
        ("LEX: pump\nHyde : it leaks", [LEX("pump"), HYDE("it leaks")]),
        ("\n\nlex: lex: twice", [LEX("lex: twice")]),
        ("lex: a\rlex: b", [LEX("a"), LEX("b")]),
        ("lex: line\u2028separator", [LEX("line\u2028separator")]),
    ],
)
def test_lines_of_the_structured_form(text: str, lines: list[Subquery]) -> None:
    assert parse_subqueries(text) == lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n ",
        "pump seal",
        "note: this",
        "TODO: x",
        "http://example.org/lex",
        "lexical: not ours, and one line",
        "lex::parser",
        "lex://authority",
        "lex",
        "what is lex: a library?",
        "note: first\nand a second line without",
        "std::vector\nboost::any",
        "https://a.example\nhttps://b.example",
        "12:30\n13:45",
    ],
)
def test_ordinary_queries(text: str) -> None:
    assert parse_subqueries(text) is None


@pytest.mark.parametrize(
    ("text", "reason", "says"),
    [
        ("lex: a\nvex: b", "unknown_prefix", "a line cannot begin with 'vex:'; did you mean 'vec:'?"),
        ("lex: a\nsemantic: b", "unknown_prefix", "did you mean 'vec:'?"),
        ("keywords: a\nvec: b", "unknown_prefix", "did you mean 'lex:'?"),
        ("from: a\nto: b", "unknown_prefix", "expected lines that begin with lex:, vec: or hyde:"),
        ("lex: a\nand more of it", "missing_prefix", "the line 'and more of it' does not say how"),
        ("lex: a\nhttp://b", "missing_prefix", "the line 'http://b'"),
        ("lex:", "empty_line", "'lex:' has no text"),
        ("lex: a\nvec:   ", "empty_line", "'vec:' has no text"),
        ("lex: a\n" * (MAX_LINES + 1), "too_many_lines", "has 11 lines: use at most 10"),
        ("lex: " + "a" * MAX_CHARACTERS, "too_long", "longer than 4,096 characters"),
    ],
)
def test_faults_say_what_is_wrong(text: str, reason: str, says: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_subqueries(text)
    assert caught.value.details == {"reason": reason}
    assert says in caught.value.message


_PIECES = st.sampled_from(["lex:", "vec: ", "hyde: ", " lex:", "\n", "\r\n", "\t", "x", "日", "é9"])


@given(st.lists(_PIECES, max_size=20).map("".join) | st.text(max_size=40))
def test_any_text_is_lines_or_ordinary_or_a_clean_error(text: str) -> None:
    try:
        lines = parse_subqueries(text)
    except QuerySyntaxError:
        return
    assert lines is None or all(line.text == line.text.strip() != "" for line in lines)


_TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1, max_size=50)
_LINES = st.builds(Subquery, st.sampled_from(KINDS), _TEXTS.map(str.strip).filter(bool))


@given(st.lists(_LINES, min_size=1, max_size=MAX_LINES))
def test_what_is_rendered_is_parsed(lines: list[Subquery]) -> None:
    assert parse_subqueries(render(lines)) == lines


def test_an_ordinary_query_is_searched_by_words_and_by_meaning() -> None:
    lines = parse_query("a crane").lines
    assert [(line.subquery, line.weight, line.is_original) for line in lines] == [
        (Subquery("lex", "a crane"), parsing.ORIGINAL, True),
        (Subquery("vec", "a crane"), parsing.ORIGINAL, True),
    ]
    assert [each.subquery.text for each in parse_query('deploy "blue green" -docker').lines] == [
        'deploy "blue green" -docker',
        "deploy blue green",
    ]


def test_weights_of_lines() -> None:
    lines = parse_query("lex: crane\nvec: who lifts\nhyde: A crane lifts.").lines
    assert [(each.weight, each.is_original) for each in lines] == [(2.0, True), (2.0, True), (1.4, True)]
    assert [(each.weight, each.is_original) for each in variant_lines(line.subquery for line in lines)] == [
        (parsing.VARIANT, False),
        (parsing.VARIANT, False),
        (parsing.HYDE, False),
    ]


def test_the_question_is_the_query_as_a_sentence() -> None:
    assert parse_query("  Who said that, and why? ").question == "Who said that, and why?"
    assert parse_query('"real time" clock').question == "real time clock"
    assert parse_query("lex: clock -watch").question == "clock"
    assert parse_query("hyde: A clock shows the time.\nvec: what is it").question == "what is it"
