"""A supported text or confident quotes answer a question; small models are not called."""

from __future__ import annotations

import pytest

from gnod.answers.citations import CheckedAnswer, Reason
from gnod.answers.query_models import is_capable
from gnod.answers.service import decide

SUPPORTED = CheckedAnswer("So [1].", [1], None, 1, 0, 0, [])


def test_supported_text_answers_whatever_the_quotes() -> None:
    for quoted in (True, False):
        assert decide(None, SUPPORTED, quoted=quoted) == (True, None)


def test_quotes_answer_and_the_reason_says_why_there_is_no_text() -> None:
    assert decide(None, None, quoted=True) == (True, "no_sources")
    for missing in ("no_model", "model_too_small", "not_wanted"):
        assert decide(missing, None, quoted=True) == (True, missing)
    reasons: list[Reason] = ["unsupported", "model_declined"]
    for reason in reasons:
        checked = SUPPORTED._replace(text="", citations=[], reason=reason)
        assert decide(None, checked, quoted=True) == (True, reason)
        assert decide(None, checked, quoted=False) == (False, "not_found")
    assert decide("no_model", None, quoted=False) == (False, "not_found")


@pytest.mark.parametrize(
    ("parameters", "is_called"),
    [(134_515_008, False), (268_098_176, False), (999_885_952, True), (1_720_574_976, True), (None, True)],
)
def test_the_smallest_model(parameters: int | None, is_called: bool) -> None:
    assert is_capable(parameters) == is_called
