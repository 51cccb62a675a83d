"""Any string is a valid query or a clean error, for any languages in the index."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.analysis.stemming import SNOWBALL
from gnod.analysis.terms import Analyzer, QueryUnit
from gnod.answers.words import question_words
from gnod.errors import QuerySyntaxError
from gnod.search.keyword import expression, lexical
from gnod.search.keyword.marks import find_marks
from gnod.search.query.parsing import parse_clauses, parse_text
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.analysis.real_words import REAL_WORDS
from tests.small_index import SmallIndex

ANALYZERS = {language: Analyzer(language) for language in SNOWBALL}
WORDS = [word for words in REAL_WORDS.values() for word in words.split()]
SEPARATORS = ["-", "_", ".", "'", "/", '"', " -", " ", "日", "\u0301", "ﹰ", "ﷺ"]
QUERIES = st.lists(st.sampled_from(WORDS) | st.sampled_from(SEPARATORS) | st.text(max_size=8), max_size=8).map(
    "".join
) | st.text("ab\"-*^:(){}+ \x00'\\日犬", max_size=12)


@pytest.fixture(scope="module")
def babel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    """An index of one document in each language."""
    index = SmallIndex(tmp_path_factory.mktemp("babel") / "index.sqlite")
    for language, words in REAL_WORDS.items():
        index.add({f"{language}.md": f"# {language}\n\n{words}"}, language=language)
    index.rows("SELECT 1")  # starts the reader thread, which all tests of the module use
    yield index
    index.close()


def shape(units: list[QueryUnit]) -> list[tuple[str, int, bool, bool]]:
    return [(unit.surface, len(unit.parts), unit.whole is None, unit.unspaced) for unit in units]


def check_alignment(text: str) -> None:
    shapes = [shape(analyzer.units(text)) for analyzer in ANALYZERS.values()]
    assert all(each == shapes[0] for each in shapes)


def check_search(index: SmallIndex, query: str) -> None:
    def work(connection: Connection) -> None:
        analyzers = lexical.analyzers_of_index(connection)
        question_words(query, analyzers)
        find_marks(f"some {query} text", lexical.query_terms(parse_text(query), analyzers), analyzers)
        assert expression.build(parse_clauses(query), analyzers).terms()
        lexical.survey(connection, parse_clauses(query), Filters(), depth=10)
        lexical.search(connection, parse_clauses(query), Filters(), limit=10, prefix_last_term=True)

    with contextlib.suppress(QuerySyntaxError):
        index.database.submit_read(work).result()


def test_there_are_words_of_every_language() -> None:
    assert REAL_WORDS.keys() == SNOWBALL.keys()


@pytest.mark.parametrize("language", REAL_WORDS)
def test_every_word_finds_the_document_that_has_it(babel: SmallIndex, language: str) -> None:
    for word in REAL_WORDS[language].split():
        assert f"{language}.md" in babel.search(word, limit=100), word


@pytest.mark.parametrize("language", ["el", "ne"])
def test_a_word_with_an_empty_stem_is_found_and_marked(small_index: SmallIndex, language: str) -> None:
    words = REAL_WORDS[language].split()
    small_index.add({"a.md": " ".join(words), "b.md": "none of these"}, language=language)

    def marked(word: str, connection: Connection) -> list[str]:
        analyzers = lexical.analyzers_of_index(connection)
        [document] = documents.by_ids(connection, [1]).values()
        text = documents.markdown(connection, document.mirror_hash)
        return [
            text[m.start : m.end] for m in find_marks(text, lexical.query_terms(parse_text(word), analyzers), analyzers)
        ]

    for word in words:
        assert small_index.search(word) == ["a.md"]
        assert small_index.search(f'"{word}"') == ["a.md"]
        assert word in marked(word, small_index.reader)


@pytest.mark.slow
def test_analysers_of_all_languages_return_aligned_units() -> None:
    for word in WORDS:
        for text in (word, word.upper(), f"{word}-{word}", f"{word}_x.{word}", f"日{word}日", f"{word}\u0301"):
            check_alignment(text)


@pytest.mark.slow
def test_real_words_are_queries_for_every_pair_of_languages() -> None:
    for pair in combinations(SNOWBALL, 2):
        analyzers = [ANALYZERS[language] for language in pair]
        for word in f"{REAL_WORDS[pair[0]]} {REAL_WORDS[pair[1]]}".split():
            assert expression.build(parse_clauses(f"{word} {word}-x"), analyzers).terms()


@given(QUERIES)
def test_any_text_gives_aligned_units(text: str) -> None:
    check_alignment(text)


@given(query=QUERIES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_string_is_a_query_or_a_clean_error(babel: SmallIndex, query: str) -> None:
    check_search(babel, query)
