"""The texts and the time for a reranker, the effect of its scores, and matches of query words as written.
test_hybrid.py tests with a model.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gnod.analysis.terms import Analyzer
from gnod.errors import QuerySyntaxError
from gnod.search.hybrid.reranking import blend, exact_terms, excerpt, matched_fraction
from gnod.search.keyword import lexical
from gnod.search.passages.best_passage import best_span
from gnod.search.query.parsing import parse_clauses, parse_text

unit = st.floats(0, 1)
fused_scores = st.lists(unit, min_size=1, max_size=30).map(lambda scores: sorted(scores, reverse=True))


class TestBlend:
    @pytest.mark.parametrize(
        ("rank", "share"), [(1, 0.75), (2, 0.75), (3, 0.75), (4, 0.6), (10, 0.6), (11, 0.4), (30, 0.4)]
    )
    def test_the_share_falls_with_the_rank(self, rank: int, share: float) -> None:
        fused = [1.0] * 30
        assert blend(fused, [0.0] * 30)[rank - 1] == pytest.approx(share)
        assert blend([0.0] * 30, [1.0] * 30)[rank - 1] == pytest.approx(1 - share)

    @given(fused_scores)
    def test_without_reranking_nothing_changes(self, fused: list[float]) -> None:
        assert blend(fused, []) == fused

    @given(fused_scores, st.lists(unit, max_size=30))
    def test_scores_are_in_range_and_the_unread_stay_behind(self, fused: list[float], reranked: list[float]) -> None:
        read = reranked[: len(fused)]
        blended = blend(fused, read)
        assert len(blended) == len(fused)
        assert all(0.0 <= score <= 1.0 for score in blended)
        if read:
            unread = blended[len(read) :]
            assert unread == sorted(unread, reverse=True)
            assert all(score <= min(blended[: len(read)]) for score in unread)

    @given(fused_scores, st.lists(unit, min_size=30, max_size=30), st.data())
    def test_a_reranking_cut_short_agrees_with_the_whole_about_what_it_has_read(
        self, fused: list[float], reranked: list[float], data: st.DataObject
    ) -> None:
        whole = blend(fused, reranked[: len(fused)])
        done = data.draw(st.integers(1, len(fused)))
        cut = blend(fused, reranked[:done])
        assert cut[:done] == whole[:done]
        order = sorted(range(len(fused)), key=lambda place: -cut[place])
        assert set(order[:done]) == set(range(done)), "unread documents stay below those that were read"
        assert order[done:] == list(range(done, len(fused))), "unread documents keep their order"


ENGLISH = [Analyzer("en")]
JOINER = "\n…\n"


def shown(text: str, room: int, query: str, chunk: tuple[int, int] | None = None) -> str:
    return excerpt(
        text, room, span=chunk, query_terms=lexical.query_terms(parse_text(query), ENGLISH), analyzers=ENGLISH
    )


def filler(characters: int) -> str:
    line = "nothing of interest is said in this line of the text\n"
    return (line * (characters // len(line) + 1))[:characters]


class TestExcerpt:
    def test_the_whole_text_where_it_fits(self) -> None:
        text = "  A text\n\nthat fits. "
        assert shown(text, len(text), "fits") == text
        assert shown(text, len(text), "fits", (3, 5)) == text

    def test_the_best_chunk_and_the_words_are_shown(self) -> None:
        text = f"{filler(3000)}\nThe crane is yellow.\n{filler(3000)}\nKittens sleep on sofas.\n{filler(3000)}"
        start = text.index("Kittens")
        both = shown(text, 600, "yellow crane", (start, start + 23))
        assert "The crane is yellow." in both
        assert "Kittens sleep on sofas." in both
        assert both.count(JOINER) == 1
        assert both.index("crane") < both.index("Kittens")

    def test_words_inside_the_best_chunk_leave_it_all_the_room(self) -> None:
        text = f"{filler(3000)}\nThe crane is yellow. Kittens sleep.\n{filler(3000)}"
        start = text.index("The crane")
        one = shown(text, 600, "kittens", (start, start + 35))
        assert JOINER not in one
        assert 400 < len(one) <= 600

    def test_the_words_at_the_end_of_a_chunk_that_is_too_long(self) -> None:
        text = f"{filler(1000)}\nHere begins the chunk.\n{filler(2000)}The crane is yellow.\n{filler(1000)}"
        chunk = (text.index("Here begins"), text.index("yellow") + 7)
        both = shown(text, 500, "yellow crane", chunk)
        assert "Here begins" in both
        assert "The crane is yellow." in both

    def test_lines_begin_whole(self) -> None:
        text = f"{filler(3000)}\nThe crane is yellow.\n{filler(3000)}"
        assert shown(text, 500, "yellow crane").startswith("nothing of interest")

    def test_the_beginning_where_nothing_else_is_known(self) -> None:
        text = filler(3000)
        assert text.startswith(shown(text, 300, "xqzzy"))

    @given(
        st.text(st.sampled_from("ab \ncrane日本\u0301"), min_size=1, max_size=900),
        st.integers(2, 400),
        st.none() | st.tuples(st.integers(0, 900), st.integers(1, 300)),
    )
    def test_never_more_than_the_room_and_always_the_places(
        self, text: str, room: int, place: tuple[int, int] | None
    ) -> None:
        chunk = None
        if place and place[0] < len(text):
            chunk = (place[0], min(place[0] + place[1], len(text)))
        found = shown(text, room, "crane", chunk)
        if len(text) <= room:
            assert found == text
            return
        assert len(found) <= room + len(JOINER)
        pieces = found.split(JOINER) if JOINER not in text else [found]
        assert all(piece in text for piece in pieces)
        best = best_span(text, lexical.query_terms(parse_text("crane"), ENGLISH), ENGLISH)
        squeezed = "".join(found.split())
        for start, end in filter(None, (chunk, best)):
            opening = "".join(text[start : min(end, start + room // 2)].split())
            assert opening in squeezed


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
def test_identifiers_occur_whole(query: str, text: str, expected: float) -> None:
    assert fraction(query, text) == expected


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("नदी", "यह नदी गहरी है", 1.0),
        ("नदी", "नदीम यहाँ है", 0.0),  # a name that begins with the Hindi word for river
        ("नद", "यह नदी गहरी है", 0.0),  # a vowel sign follows, not a letter
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


def test_phrases_occur_as_written() -> None:
    assert exact('"blue green" deploy', ENGLISH) == ["blue green", "deploy"]
    assert fraction('"blue green"', "a Blue\n  GREEN rollout") == 1.0
    assert fraction('"blue green"', "green and blue") == 0.0
    assert fraction('"blue green"', "blue greens") == 0.0


def test_excluded_words_are_not_terms() -> None:
    assert exact('jaguar -car -"big cat"', ENGLISH) == ["jaguar"]
    assert fraction("jaguar -car", "a jaguar in a car") == 1.0


def test_function_words_of_all_languages_are_dropped() -> None:
    assert exact("how does the crane work", ENGLISH) == ["crane", "work"]
    assert exact("wie geht der Kran", BOTH) == exact("geht Kran", BOTH)


def test_a_word_said_twice_is_one_term() -> None:
    assert exact("crane Crane CRANE", ENGLISH) == ["crane"]


@pytest.mark.parametrize("query", ["", "?!", '"', "-car"])
def test_a_query_without_words_matches_nothing(query: str) -> None:
    assert exact(query, ENGLISH) == []
    assert fraction(query, "a car") == 0.0


@given(st.text(max_size=30), st.lists(st.sampled_from([" ", "\n", "\t", "  \n"]), min_size=2, max_size=2))
def test_a_term_occurs_in_a_text_of_itself_and_spaces(query: str, blanks: list[str]) -> None:
    terms = exact(query, ENGLISH)
    assume(terms)
    for term in terms:
        assert matched_fraction(term.join(blanks), [term]) == 1.0
        assert matched_fraction(term.upper().join(blanks), [term]) in (0.0, 1.0)
    assert matched_fraction(blanks[0].join(terms), terms) == 1.0


@given(st.text("abc äß冷凍.-\n", max_size=40), st.lists(st.text("abcäß冷凍", min_size=1, max_size=4), max_size=5))
def test_a_fraction_is_a_share_of_the_terms(text: str, terms: list[str]) -> None:
    found = matched_fraction(text, [term.casefold() for term in terms])
    assert 0.0 <= found <= 1.0
    assert round(found * len(terms)) == pytest.approx(found * len(terms))
