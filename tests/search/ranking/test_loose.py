"""The line between documents that are about a query and those that are only loosely similar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.ranking.fusion import FEW_WORDS, NEAR, is_loose

SHARE = st.floats(0, 1)
NEARNESS = st.none() | st.floats(-20, 20)


@pytest.mark.parametrize(
    ("share", "nearness", "expected"),
    [
        (0.0, 0.3, True),  # a neighbour that every query has
        (0.0, NEAR, False),  # the same in other words
        (0.1, 1.0, True),
        (0.6, 1.6, False),  # most of the words, and rather near
        (1.0, -3.0, False),  # every word
        (0.0, None, True),
        (FEW_WORDS, None, False),
    ],
)
def test_words_and_nearness_are_evidence(share: float, nearness: float | None, expected: bool) -> None:
    assert is_loose(share, nearness) is expected


@given(SHARE, NEARNESS, st.floats(0, 1), st.floats(0, 5))
def test_more_evidence_never_makes_a_document_loose(
    share: float, nearness: float | None, words: float, nearer: float
) -> None:
    more = is_loose(min(share + words, 1.0), nearness if nearness is None else nearness + nearer)
    assert is_loose(share, nearness) or not more


@given(NEARNESS)
def test_a_document_with_every_word_is_never_loose(nearness: float | None) -> None:
    assert not is_loose(1.0, nearness)
    assert not is_loose(sum([0.1] * 10), nearness), "the shares of ten words, added"
