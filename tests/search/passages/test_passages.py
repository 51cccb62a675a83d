"""Snippets and marks."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from gnod.analysis.terms import Analyzer
from gnod.errors import QuerySyntaxError
from gnod.search.keyword import expression
from gnod.search.keyword.marks import TermFinder
from gnod.search.passages.best_passage import ShownPassage, best_passage, best_passage_of
from gnod.search.query.parsing import parse_clauses

ANALYZERS = [Analyzer("de"), Analyzer("en")]


def passage(text: str, query: str) -> ShownPassage:
    return best_passage(TermFinder(text, ANALYZERS), expression.build(parse_clauses(query), ANALYZERS).query_terms())


def marked(text: str, query: str) -> list[str]:
    found = passage(text, query)
    return [found.snippet[start:end] for start, end in found.marks]


def test_marks_are_words_with_that_stem() -> None:
    assert marked("We deploy. A deployment was deployed; deposit it.\n", "deploying") == [
        "deploy",
        "deployment",
        "deployed",
    ]


def test_marks_keep_their_place_beside_diacritics_and_wide_letters() -> None:
    assert marked("Žluťoučký kůň: naïve Häuser ＡＢＣ\n", "kun naive haus abc") == ["kůň", "naïve", "Häuser", "ＡＢＣ"]
    assert marked("İstanbul is big\n", "big") == ["big"]


def test_identifiers_are_marked_whole_and_not_piece_by_piece() -> None:
    text = "1 and 2 and 3, v 1: fixed in v1.2.3 of node.js and GitHub, C++ too\n"
    assert marked(text, "v1.2.3") == ["v1.2.3"]
    assert marked(text, "node.js") == ["node.js"]
    assert marked(text, "github") == ["GitHub"]
    assert marked(text, "C++") == ["C++"]


def test_a_part_of_a_name_is_marked_where_the_name_is_code() -> None:
    assert marked("GitHub knows hubs\n", "hub") == ["hubs"]
    text = "GitHub, `GitHub`, `List<GitHub>`, GitHub(), x.GitHub\n```\nGitHub hub\n```\nGitHub\n"
    assert marked(text, "hub") == ["GitHub", "GitHub", "GitHub", "GitHub", "GitHub", "hub"]
    assert marked("GitHub, `GitHub`, git hub\n", "GitHub") == ["GitHub", "GitHub", "git hub"]


def test_phrases_are_marked_where_they_occur() -> None:
    assert marked("real men; in real-time, in real time\n", "real-time") == ["real-time", "real time"]


def test_phrases_are_marked_over_the_end_of_a_line_and_its_markup() -> None:
    assert marked("to a server: The *red*\n    # > valve -- closed\n", '"red valve closed"') == [
        "red*\n    # > valve -- closed"
    ]
    assert marked("a red and a valve; red\n\nx valve", '"red valve"') == []


def test_a_phrase_of_words_that_are_everywhere_is_found() -> None:
    text = "The job has ended. A worker is using any job.\n" * 200 + "A worker has any job at 54:54.029 now.\n"
    assert passage(text, '"worker has any job"').line == 201
    assert passage(text, "54.029").line == 201
    assert "using any job" in marked(text, '"uses any job"')


def test_unspaced_scripts_are_marked_by_character() -> None:
    assert marked("冷凍設備の保守記録\n", "設備") == ["設備"]


def test_the_best_passage_holds_most_words_and_its_lines_are_exact() -> None:
    text = "alpha\n" * 50 + "\nHere alpha meets beta.\n" + "beta\n" * 50
    found = passage(text, "alpha beta")
    assert found.line in (50, 52)
    assert "alpha meets beta" in found.snippet
    lines = text.split("\n")
    assert lines[found.snippet_line - 1].endswith(found.snippet.split("\n")[0])


def test_a_rare_word_is_found_far_down_among_many_common_ones() -> None:
    text = "common words stand here. " * 20_000 + "the needle and the common words\n"
    found = passage(text, "common needle")
    assert "needle" in found.snippet
    assert len(found.marks) >= 2


def test_the_best_passage_of_a_text_in_parts_has_its_lines_in_the_whole() -> None:
    parts = [
        "common words\n" * 300,
        "common words\n" * 300 + "a needle\n",
        "the needle and the common words\n",
        "common\n",
    ]
    sought = expression.build(parse_clauses("common needle"), ANALYZERS).query_terms()
    found = best_passage_of(parts, sought, ANALYZERS)
    assert (found.line, found.end_line) == (600, 601)
    apart = best_passage_of([parts[0], "common\n", "a needle\n"], sought, ANALYZERS)
    assert (apart.line, [apart.snippet[slice(*mark)] for mark in apart.marks]) == (302, ["needle"])


def test_a_text_in_parts_is_read_no_further_than_to_a_passage_with_every_word() -> None:
    def parts() -> Iterator[str]:
        yield "the needle and the common words\n"
        raise AssertionError("read too far")

    sought = expression.build(parse_clauses("common needle"), ANALYZERS).query_terms()
    assert best_passage_of(parts(), sought, ANALYZERS).line == 1


def test_the_opening_of_a_text_in_parts_without_the_words_is_shown() -> None:
    sought = expression.build(parse_clauses("elephant"), ANALYZERS).query_terms()
    assert best_passage_of(["# Heading\n\nFirst text.\n", "More text.\n"], sought, ANALYZERS).snippet.startswith(
        "First"
    )
    assert best_passage_of([], sought, ANALYZERS) == ShownPassage(1, 1, "", 1, [])


@given(st.text(max_size=400), st.text(min_size=1, max_size=30))
def test_one_part_gives_the_same_passage_as_the_text(text: str, query: str) -> None:
    try:
        sought = expression.build(parse_clauses(query), ANALYZERS).query_terms()
    except QuerySyntaxError:
        return
    assert best_passage_of([text], sought, ANALYZERS) == best_passage(TermFinder(text, ANALYZERS), sought)


def test_a_match_in_the_title_only_shows_the_documents_start() -> None:
    found = passage("---\ntitle: Zebra\n---\n# Heading\n\nFirst text.\n", "elephant")
    assert found.as_written() == ShownPassage(6, 6, "First text.", 6, [])


@example("¼:", "4")
@given(st.text(max_size=400), st.text(min_size=1, max_size=30))
def test_marks_lie_inside_the_snippet(text: str, query: str) -> None:
    try:
        found = passage(text + "\n", query)
    except QuerySyntaxError:
        return
    assert found.snippet in text + "\n"
    assert 1 <= found.line <= found.end_line
    for start, end in found.marks:
        assert 0 <= start < end <= len(found.snippet)
