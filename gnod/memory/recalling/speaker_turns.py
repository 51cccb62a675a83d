"""Turns of conversations: memories that begin with who says them, as in `Ada: …` or `Ada (8 May 2023): …`. Pure.

A turn is understood from what was said around it: "Yes, last Tuesday!" has no words of the question that it answers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LABEL = re.compile(r"([^\W\d_][\w .'’-]{0,39}?)(?: ?\(([^()\n]{1,40})\))?: ")

# The mark may be followed by quotes, brackets or an emoji.
_QUESTION = re.compile(r"[?？؟]\W*\Z")

# A word counts for the turns up to this far before and after it: this share of it for each step. For the turn after a
# question it counts fully.
_STEPS = 4
_SHARE = 0.7
# The meaning of the turns up to this far around a turn counts for it: this share of it for each step.
_MEANING_STEPS = 2
_MEANING_SHARE = 0.5
# Turns of one conversation that are further apart do not belong together.
_SESSION_MS = 3_600_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SpeakerTurn(NamedTuple):
    """`about`: what stands in brackets after the speaker, mostly the time of the conversation; may be empty. `length`:
    the characters before what is said."""

    speaker: str
    about: str
    length: int


def turn(text: str) -> SpeakerTurn | None:
    """Return the speaker of a text; None: it names none.

    >>> turn("Ada (1:56 pm on 8 May, 2023): Yes, in May!")
    SpeakerTurn(speaker='Ada', about='1:56 pm on 8 May, 2023', length=30)
    >>> turn("See https://example.org for that") is None
    True
    """
    match = _LABEL.match(text)
    return SpeakerTurn(match[1].strip(), match[2] or "", match.end()) if match else None


def asks(text: str) -> bool:
    """Tell whether a text ends with a question.

    >>> asks("Ada: Really? 😊"), asks("Ada: When? In May.")
    (True, False)
    """
    return _QUESTION.search(text) is not None


class Conversations:
    """Which memories are said around which. Arrays with a value for each memory, in the order in which they were
    stored. `sessions`: equal in one conversation; 0: not a turn. `asks`: whether it is a question."""

    def __init__(self, sessions: Ints, times_ms: Ints, asks: NDArray[np.bool_]) -> None:
        # By distance: what counts for the later of two turns of the earlier one, and the reverse. 0: they are not turns
        # of one conversation.
        self._shares: list[tuple[int, Floats, Floats]] = []
        for step in range(1, _STEPS + 1):
            follows = _follows(sessions, times_ms, step)
            if follows.any():
                share = np.where(follows, _SHARE**step, 0.0)
                is_answer = follows & asks[:-step] & (step == 1)
                self._shares.append((step, np.where(is_answer, 1.0, share), share))

    def heard(self, values: Floats) -> Floats:
        """Return for each memory its own value or the largest of the turns around, reduced by their distance. The last
        axis of the values is the memories."""
        # Allocating a part for each step takes longer than computing it.
        found, part = values.copy(), np.empty_like(values)
        for step, forward, backward in self._shares:
            later, earlier = found[..., step:], found[..., :-step]
            np.maximum(later, np.multiply(values[..., :-step], forward, out=part[..., step:]), out=later)
            np.maximum(earlier, np.multiply(values[..., step:], backward, out=part[..., step:]), out=earlier)
        return found

    def blended(self, cosines: Floats) -> Floats:
        """Return cosines to a query that include a share of how far those of the turns around are from the mean. Their
        spread stays about the same, so that other memories are neither raised nor lowered. NaN: no vector."""
        if np.isnan(cosines).all():
            return cosines
        mean = np.nanmean(cosines)
        known = np.nan_to_num(cosines - mean)
        total, spread = cosines - mean, np.ones(len(cosines))
        for step, _, backward in self._shares:
            if step > _MEANING_STEPS:
                break
            share = _MEANING_SHARE**step
            earlier = np.flatnonzero(backward)
            for of, around in ((earlier + step, earlier), (earlier, earlier + step)):
                total[of] += share * known[around]
                spread[of] += share**2
        return np.asarray(mean + total / np.sqrt(spread))


def _follows(sessions: Ints, times_ms: Ints, step: int) -> NDArray[np.bool_]:
    """Tell of each two memories so many steps apart whether they are turns of one conversation."""
    is_same = (sessions[step:] == sessions[:-step]) & (sessions[step:] != 0)
    return np.asarray(is_same & (np.abs(times_ms[step:] - times_ms[:-step]) <= _SESSION_MS))
