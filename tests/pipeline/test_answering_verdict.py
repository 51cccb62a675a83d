"""A question is answered only by a generated text of which a source supports a part; small models are not asked."""

from __future__ import annotations

import pytest

from gnod.pipeline.answering import verdict
from gnod.pipeline.answering.citations import CheckedAnswer, Reason

SUPPORTED = CheckedAnswer("So [1].", [1], None, 1, 0, 0, [])


def test_only_supported_text_answers() -> None:
    assert verdict.decide(None, 1, SUPPORTED) == (True, None)
    assert verdict.decide(None, 0, None) == (False, "no_sources")
    for reason in ("no_model", "model_too_small", "not_wanted"):
        assert verdict.decide(reason, 0, None) == (False, reason)
    reasons: list[Reason] = ["unsupported", "model_declined"]
    for reason in reasons:
        checked = SUPPORTED._replace(text="", citations=[], reason=reason)
        assert verdict.decide(None, 1, checked) == (False, reason)


@pytest.mark.parametrize(
    ("parameters", "is_capable"),
    [(134_515_008, False), (268_098_176, False), (999_885_952, True), (1_720_574_976, True), (None, True)],
)
def test_the_smallest_model(parameters: int | None, is_capable: bool) -> None:
    assert verdict.is_capable(parameters) == is_capable
