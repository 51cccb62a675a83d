"""Recognise turns of conversations: memories that begin with their speaker, such as `Ada: …` or `Ada (8 May 2023): …`.
Pure.

A turn needs the turns around it as context: "Yes, last Tuesday!" has no words of the question that it answers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LABEL = re.compile(r"([^\W\d_][\w .'’-]{0,39}?)(?: ?\(([^()\n]{1,40})\))?: ")

# Quotes, brackets or an emoji may follow the question mark.
_QUESTION = re.compile(r"[?？؟]\W*\Z")

# A word also counts for the turns up to this many steps before and after its turn. Each step multiplies its weight by
# this share; for the turn after a question, the weight stays the same.
_STEPS = 4
_SHARE = 0.7
# The meaning of the turns up to this many steps around a turn counts for it; each step multiplies it by this share.
_MEANING_STEPS = 2
_MEANING_SHARE = 0.5
# Turns that are further apart than this belong to different conversations.
_SESSION_MS = 3_600_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SpeakerTurn(NamedTuple):
    """`about`: the text in brackets after the speaker, mostly the time of the conversation; may be empty. `length`: the
    number of characters before what is said."""

    speaker: str
    about: str
    length: int


def turn(text: str) -> SpeakerTurn | None:
    """Return the speaker of a text; None if it names none.

    >>> turn("Ada (1:56 pm on 8 May, 2023): Yes, in May!")
    SpeakerTurn(speaker='Ada', about='1:56 pm on 8 May, 2023', length=30)
    >>> turn("See https://example.org for that") is None
    True
    """
    match = _LABEL.match(text)
    return SpeakerTurn(match[1].strip(), match[2] or "", match.end()) if match else None


def asks(text: str) -> bool:
    """Return whether a text ends with a question.

    >>> asks("Ada: Really? 😊"), asks("Ada: When? In May.")
    (True, False)
    """
    return _QUESTION.search(text) is not None


class Conversations:
    """Spreads scores between neighbouring turns. The arguments are arrays with a value for each memory, in the order in
    which they were stored. `sessions`: equal in one conversation; 0: not a turn. `asks`: whether the turn ends with a
    question."""

    def __init__(self, sessions: Ints, times_ms: Ints, asks: NDArray[np.bool_]) -> None:
        # By distance: the share of the earlier turn that counts for the later one, and the reverse. 0: the two are not
        # turns of one conversation.
        self._shares: list[tuple[int, Floats, Floats]] = []
        for step in range(1, _STEPS + 1):
            follows = _follows(sessions, times_ms, step)
            if follows.any():
                share = np.where(follows, _SHARE**step, 0.0)
                is_answer = follows & asks[:-step] & (step == 1)
                self._shares.append((step, np.where(is_answer, 1.0, share), share))

    def heard(self, values: Floats) -> Floats:
        """Return for each memory its own value, or the largest value of the surrounding turns, reduced by distance, if
        that is larger. The last axis of `values` is the memories."""
        # Allocating an array for each step takes longer than the computation, so reuse one.
        found, part = values.copy(), np.empty_like(values)
        for step, forward, backward in self._shares:
            later, earlier = found[..., step:], found[..., :-step]
            np.maximum(later, np.multiply(values[..., :-step], forward, out=part[..., step:]), out=later)
            np.maximum(earlier, np.multiply(values[..., step:], backward, out=part[..., step:]), out=earlier)
        return found

    def blended(self, cosines: Floats) -> Floats:
        """Add to each cosine a share of the deviations of the surrounding turns from the mean. The spread stays about
        the same, so other memories neither gain nor lose. NaN: no vector."""
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
    """Return, for each two memories `step` apart, whether they are turns of one conversation."""
    is_same = (sessions[step:] == sessions[:-step]) & (sessions[step:] != 0)
    return np.asarray(is_same & (np.abs(times_ms[step:] - times_ms[:-step]) <= _SESSION_MS))
