"""Which memories give a new value for something that an older one states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.superseding import pairs
from gnod.memory.superseding import MAX_COMPARED_CHARACTERS, difference


@pytest.mark.parametrize("kind", ["updates", "unrelated"])
def test_the_pairs_for_development(kind: str) -> None:
    wrong = [
        each
        for each in pairs(kind, "development")
        if (difference(each.older, each.newer) is None) == (kind == "updates")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("older", "newer", "new"),
    [
        ("A seat costs €6.50", "A seat costs €7.20", "7.20"),
        ("Anna lives in Rome", "Anna lives in Oslo instead of Rome", "Oslo"),
        ("Peter owns the parser", "Maria owns the parser", "Maria"),
        ("The rent is 950", "They raised the rent to 1,020", "1.020"),
        ("Анна живёт в Москве", "Анна живёт в Риге", "Риге"),
        ("会議は月曜日です", "会議は火曜日です", "火"),
        ("Le serveur est à Lyon", "Le serveur est à Nantes", "Nantes"),
    ],
)
def test_the_value_that_differs(older: str, newer: str, new: str) -> None:
    found = difference(older, newer)
    assert found
    assert found.new == new


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Anna lives in Rome", "Anna lives in Rome"),
        ("Anna lives in Rome", "Anna lives in Rome, near the river"),
        ("Anna lives in Rome", "Bruno lives in Rome"),
        ("Anna lives in Rome", "Bruno lives in Oslo"),
        ("Invoice 12 is paid", "Invoice 13 is paid"),
        ("Kim speaks Danish", "Kim speaks Greek"),
        ("", "Anna lives in Rome"),
        ("The port is 80. " * 100, "The port is 81. " * 100),
    ],
)
def test_nothing_differs_or_too_much(older: str, newer: str) -> None:
    assert difference(older, newer) is None


WORDS = ["Anna", "Rome", "Oslo", "lives", "in", "the", "14", "16", "not", "now", "costs", "会議", "€5"]
words = st.lists(st.sampled_from(WORDS), max_size=8)
sentences = words.map(" ".join) | st.text(max_size=80)
frames = st.sampled_from(["The port is {}", "A seat costs €{}", "Anna lives in {}", "会議は{}曜日です"])
values = st.sampled_from(["14", "16", "1,020", "6.50", "Oslo", "Rome", "月", "火"])
more = st.sampled_from(["", " now", ", they said"])
restated = st.builds(
    lambda frame, old, new, more: (frame.format(old), frame.format(new) + more), frames, values, values, more
)


@given(restated | st.tuples(sentences, sentences))
def test_a_difference_names_two_values_and_what_they_belong_to(texts: tuple[str, str]) -> None:
    older, newer = texts
    assert difference(older, older) is None
    if found := difference(older, newer):
        assert found.subject
        assert found.old != found.new or (found.old, found.new) == ("", "")


@given(st.text(min_size=1, max_size=20))
def test_long_texts_are_not_compared(text: str) -> None:
    long = text * (MAX_COMPARED_CHARACTERS + 1)
    assert difference(f"The port is 80 {long}", f"The port is 81 {long}") is None
