"""Known-item questions: what a document asks for itself, and that it does not contain it any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.tuning.questions import questions

BODY = "The crane stands on rails beside the quay and lifts containers from ships. " * 4
CODE = '''def wind_limit(speed):
    """Return the wind speed at which the crane has to stop.

    :param speed: in metres per second
    """
    limit = LIMITS[speed] if speed in LIMITS else DEFAULT
    return limit * SAFETY_FACTOR + calibration_offset(speed) - tolerance_of(anemometer)
'''


def kinds(title: str, markdown: str) -> dict[str, str]:
    return {each.kind: each.text for each in questions(title, markdown)}


def test_of_a_note() -> None:
    sentence = "Stop the crane at twenty metres per second."
    markdown = f"# Cranes in high wind\n\n{sentence} {BODY}\n\n## Who may start it again\n\n{BODY}"
    found = questions("Cranes in high wind", markdown)
    assert kinds("Cranes in high wind", markdown) == {
        "title": "Cranes in high wind",
        "heading": "Who may start it again",
        "sentence": "Stop the crane at twenty metres per second",
    }
    for each in found:
        assert each.text not in each.markdown
        assert len(each.markdown) > len(BODY)
    assert next(each.title for each in found if each.kind == "title") == ""
    assert next(each.title for each in found if each.kind == "sentence") == "Cranes in high wind"


def test_of_code_the_docstring() -> None:
    (found,) = [each for each in questions("", CODE) if each.kind == "docstring"]
    assert found.text == "Return the wind speed at which the crane has to stop"
    assert "wind speed" not in found.markdown
    assert "calibration_offset" in found.markdown


@pytest.mark.parametrize(
    ("title", "markdown"),
    [
        ("Readme", BODY[:120]),  # one word is no question, and too little is left of the sentence
        ("A title of four", "A title of four"),  # nothing is left
        ("", ""),
        ("", "| a | b |\n| - | - |\n| c | d |\n"),
        ("", "---\ntitle: x\n---\n"),
    ],
)
def test_no_question_without_a_document_that_answers_it(title: str, markdown: str) -> None:
    assert not questions(title, markdown)


def test_a_title_that_the_text_repeats_is_removed_everywhere() -> None:
    (found,) = [
        each
        for each in questions("Cranes in wind", f"# Cranes in wind\n\nCranes, in  wind: stop. {BODY}")
        if each.kind == "title"
    ]
    assert "ranes" not in found.markdown.replace("crane ", "")


TITLES = st.sampled_from(["Cranes in high wind", "Who may start it again"]) | st.text(max_size=30)
PIECES = st.sampled_from([BODY, CODE, "# Cranes in high wind\n\n", "## Who may start it again\n\n", "\n\n"])


@given(TITLES, st.lists(PIECES | st.text(max_size=30), max_size=6).map("".join))
def test_any_text_is_taken(title: str, markdown: str) -> None:
    for each in questions(title, markdown):
        assert each.text.strip()
        assert len(each.markdown) <= len(markdown) + 1
