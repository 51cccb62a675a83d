"""The kind of answer that a question expects, and texts that contain such an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.query.question_type import AnswerType, contains, expected


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many boats are there?", "number"),
        ("what is the percentage of failed requests", "number"),
        ("Wie viele Boote liegen im Hafen?", "number"),
        ("सेना में कितने लोग थे?", "number"),
        ("祭りに何人来ましたか", "number"),
        ("When was it built?", "date"),
        ("which days do we deploy", "date"),
        ("In welchem Jahr wurde es gebaut?", "date"),
        ("帰りの電車は何時", "date"),
        ("Who answers in the year of the flood?", "person"),
        ("Wer wohnt hier?", "person"),
        ("¿Quién lo hizo?", "person"),
        ("In what country is Normandy located?", "place"),
        ("Wo steht der Kran?", "place"),
        ("東京駅はどこ", "place"),
        ("why was the site down", "reason"),
        ("What does error F28 mean?", None),
        ("Wie ist das Wetter?", None),
        ("", None),
    ],
)
def test_the_question_word_decides(question: str, kind: AnswerType | None) -> None:
    assert expected(question).type == kind


@pytest.mark.parametrize(
    ("question", "text", "has"),
    [
        ("How many boats?", "There are 41 boats.", True),
        ("How many boats?", "There are eleven boats.", True),
        ("How many boats?", "There are boats.", False),
        ("How many boats had 3 masts?", "Boats with 3 masts.", False),
        ("When was it?", "It was on 3 November.", True),
        ("When was it?", "It was in 1901.", True),
        ("When does it stop?", "Everybody may call stop.", False),
        ("When does it start?", "It starts in May.", True),
        ("Who replaced the valve?", "The valve was replaced by Helmbrecht.", True),
        ("Who replaced the valve?", "The valve was replaced.", False),
        ("Who was Helmbrecht?", "The valve was replaced by Helmbrecht.", False),
        ("Wann fuhr er?", "Er fuhr im März.", True),
        ("いつですか", "五月です。", True),
        ("Why is it closed?", "It is closed because of the storm.", True),
        ("What is it?", "It is 41.", False),
    ],
)
def test_what_a_text_contains(question: str, text: str, has: bool) -> None:
    assert contains(text, expected(question)) is has


@given(st.text(max_size=80), st.text(max_size=200))
def test_any_text_is_a_question(question: str, text: str) -> None:
    wanted = expected(question)
    assert wanted.type is not None or not contains(text, wanted)
    assert contains(text, wanted) in (True, False)
