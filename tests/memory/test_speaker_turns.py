"""Turns of conversations: which ones ask, and how surrounding turns count."""

from __future__ import annotations

import numpy as np
import pytest

from gnod.memory.recalling.speaker_turns import Conversations, asks

HOUR_MS = 3_600_000
NAN = float("nan")


def conversations(
    sessions: list[int], *, asking: tuple[int, ...] = (), times_ms: list[int] | None = None
) -> Conversations:
    asked = np.isin(np.arange(len(sessions)), asking)
    return Conversations(np.asarray(sessions, np.int64), np.asarray(times_ms or [0] * len(sessions), np.int64), asked)


def heard(around: Conversations, count: int, *rows: int) -> list[float]:
    said = np.isin(np.arange(count), rows).astype(float)
    return [round(float(value), 3) for value in around.heard(said)]


@pytest.mark.parametrize(
    "text", ["Ada: Really?", 'She asked: "When?"', "元気ですか？", "أين المفتاح؟", "Ready?! 😊", "So? )"]
)
def test_questions(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize("text", ["Ada: Yes.", "When? In May.", "", "https://example.org/?q=a", "a?b"])
def test_no_questions(text: str) -> None:
    assert not asks(text)


def test_words_reach_the_turns_around() -> None:
    assert heard(conversations([7] * 7), 7, 0) == [1, 0.7, 0.49, 0.343, 0.24, 0, 0]
    assert heard(conversations([7] * 3), 3, 1) == [0.7, 1, 0.7]
    assert heard(conversations([7] * 3), 3, 0, 2) == [1, 0.7, 1], "the nearest counts, not the sum"
    assert heard(conversations([7] * 3, asking=(0,)), 3, 0) == [1, 1, 0.49], "an answer hears its question fully"
    assert heard(conversations([7] * 3, asking=(1,)), 3, 1) == [0.7, 1, 1]


def test_words_stay_in_their_conversation() -> None:
    assert heard(conversations([7, 8, 8], asking=(0,)), 3, 0) == [1, 0, 0]
    assert heard(conversations([0, 0, 0], asking=(0,)), 3, 0) == [1, 0, 0], "they are not turns"
    assert heard(conversations([7, 8, 7]), 3, 0) == [1, 0, 0.49], "two conversations at the same time"
    assert heard(conversations([7, 7], times_ms=[0, HOUR_MS + 1]), 2, 0) == [1, 0]
    assert heard(conversations([7]), 1, 0) == [1]
    assert heard(conversations([7, 7]), 2) == [0, 0]


def test_the_meaning_of_the_turns_around_counts() -> None:
    alone = conversations([0] * 4).blended(np.asarray([0.5, 0.1, 0.3, 0.1]))
    assert alone == pytest.approx([0.5, 0.1, 0.3, 0.1]), "facts stay as they are"
    cosines = np.asarray([0.6, 0.2, 0.0, 0.0, 0.2, 0.2])
    found = conversations([7, 7, 0, 0, 8, 0]).blended(cosines)
    assert found[1] > found[4] == found[5] == pytest.approx(0.2), "beside a near turn"
    assert found[2] == found[3] == pytest.approx(0.0)
    found = conversations([7] * 5).blended(np.asarray([0.4, NAN, 0.1, 0.1, 0.1]))
    assert np.isnan(found).tolist() == [False, True, False, False, False], "a turn without a vector has no meaning yet"
    assert found[2] > found[3], "two turns away"
    assert np.isnan(conversations([7, 7]).blended(np.asarray([NAN, NAN]))).all()
    assert len(conversations([]).blended(np.empty(0))) == 0
