"""What a question asks for, and what has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.query.question_type import AnswerType, contains, expected


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many boats are there?", AnswerType.NUMBER),
        ("what is the percentage of failed requests", AnswerType.NUMBER),
        ("Wie viele Boote liegen im Hafen?", AnswerType.NUMBER),
        ("सेना में कितने लोग थे?", AnswerType.NUMBER),
        ("祭りに何人来ましたか", AnswerType.NUMBER),
        ("When was it built?", AnswerType.DATE),
        ("which days do we deploy", AnswerType.DATE),
        ("In welchem Jahr wurde es gebaut?", AnswerType.DATE),
        ("帰りの電車は何時", AnswerType.DATE),
        ("Who answers in the year of the flood?", AnswerType.PERSON),
        ("Wer wohnt hier?", AnswerType.PERSON),
        ("¿Quién lo hizo?", AnswerType.PERSON),
        ("In what country is Normandy located?", AnswerType.PLACE),
        ("Wo steht der Kran?", AnswerType.PLACE),
        ("東京駅はどこ", AnswerType.PLACE),
        ("why was the site down", AnswerType.REASON),
        ("What does error F28 mean?", None),
        ("Wie ist das Wetter?", None),
        ("", None),
    ],
)
def test_the_question_word_decides(question: str, kind: AnswerType | None) -> None:
    assert expected(question).type is kind


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
