"""More evidence never lowers the confidence. The confidence separates answered from unanswered questions in all
scripts, and in small and large collections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.answers import quotes
from gnod.answers.confidence import NOTHING_FOUND, THRESHOLD, WEIGHTS, Confidence, assess, of_components
from gnod.answers.quotes import ScoredUnit
from tests.answers.test_quotes import HARBOUR, collected
from tests.small_index import SmallIndex

shares = st.floats(-1, 2)
components = st.fixed_dictionaries(dict.fromkeys(WEIGHTS, shares), optional={"rerank": shares})

NOTES = {
    "kiro.md": "# Кошка\n\nКотёнка зовут Мисо. Он весь день спит на диване.\n",
    "kyoto.md": "# 京都\n\n帰りの電車は十七時。お寺は九時に開く。\n",
    "delhi.md": "# यात्रा\n\nरेलगाड़ी सुबह सात बजे दिल्ली से चलती है।\n",
    "kran.md": "# Kran\n\nBei Wind über 20 m/s steht der Kran still.\n",
}
OTHERS = {f"{n}.md": f"# Other {n}\n\nSomething about subject {n}, and nothing else.\n" for n in range(150)}


def ranked(index: SmallIndex, question: str, cosine: float | None = None) -> tuple[list[ScoredUnit], float]:
    """Return the units of all documents and the weight of the question. `cosine`: of the first unit; other units have
    0."""
    found = collected(index, question)
    cosines = [None if cosine is None else cosine * (n == 0) for n in range(len(found.candidates))]
    return quotes.rank(found, cosines), found.words.total


def confidence(index: SmallIndex, question: str) -> Confidence:
    return assess(*ranked(index, question))


@given(components, st.sampled_from(sorted(WEIGHTS)), st.floats(0, 1))
def test_more_of_anything_is_never_less_confidence(given: dict[str, float], name: str, more: float) -> None:
    before, after = of_components(given), of_components({**given, name: given[name] + more})
    assert 0 <= before.value <= after.value <= 1
    assert before.components.keys() == given.keys()
    assert all(0 <= each <= 1 for each in before.components.values())


@given(components)
def test_a_cross_encoder_decides_what_is_open(given: dict[str, float]) -> None:
    no, yes = (of_components({**given, "rerank": score}) for score in (0.0, 1.0))
    assert yes.value - no.value == pytest.approx(0.5)
    assert not no.is_enough


def test_both_ends() -> None:
    assert of_components(dict.fromkeys(WEIGHTS, 0.0)).value < 0.01
    assert of_components(dict.fromkeys(WEIGHTS, 1.0)).value > 0.99
    assert 0 < THRESHOLD < 1
    assert assess([], 10.0) == NOTHING_FOUND
    assert not NOTHING_FOUND.is_enough
    assert [Confidence(value, {}).state for value in (0.0, 0.299, 0.3, 0.699, 0.7, 1.0)] == [
        *("not_found", "not_found", "perhaps", "perhaps", "answered", "answered")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("others", [{}, OTHERS], ids=["small", "large"])
@pytest.mark.parametrize(
    ("asked", "beside"),
    [
        ("When may anybody deploy?", "Who deploys the new submarine on Tuesday?"),
        ("what does error F28 mean", "what does the manual say about error F93 of the freezer"),
        ("Как зовут котёнка?", "Какого цвета был велосипед котёнка соседа?"),
        ("帰りの電車は何時", "昨日の会議は誰と話した"),
        ("रेलगाड़ी कितने बजे दिल्ली से चलती है?", "राजा की बेटी का घोड़ा किस रंग का था?"),
        ("Wann steht der Kran still?", "Wer bezahlt die Reparatur am Kran der Werft?"),
    ],
)
def test_what_is_there_is_told_from_what_is_not(
    asked: str, beside: str, others: dict[str, str], small_index: SmallIndex
) -> None:
    small_index.add({**HARBOUR, **NOTES, **others})
    there, not_there = confidence(small_index, asked), confidence(small_index, beside)
    assert there.is_enough, there
    assert not not_there.is_enough, not_there


def test_a_sentence_near_the_question_counts(small_index: SmallIndex) -> None:
    small_index.add(HARBOUR)
    far, near = (assess(*ranked(small_index, "Does the harbour sleep?", cosine)).value for cosine in (0.1, 0.8))
    assert far < near


def test_a_document_that_says_the_same_is_no_rival(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# Crane A\n\nThe crane carries three tonnes.\n", **HARBOUR})
    alone = confidence(small_index, "What does the crane carry?").components["lead"]
    small_index.add({"b.md": "# Crane B\n\nThe crane carries\nthree tonnes.\n"})
    assert confidence(small_index, "What does the crane carry?").components["lead"] == pytest.approx(alone, abs=0.2)
    small_index.add({"c.md": "# Crane C\n\nThe crane carries nine tonnes.\n"})
    assert confidence(small_index, "What does the crane carry?").components["lead"] < 0.2
