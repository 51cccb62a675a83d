"""Estimate from the quotes how probable it is that the documents answer a question. Pure.

The estimate is a logistic function of a weighted sum. Only this module defines the weights and the threshold
(docs/adr/0033-confidence.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import Literal, NamedTuple

from gnod.answers.quotes import ScoredUnit

# At this confidence or more, quotes are shown as the answer. Chosen on development collections.
THRESHOLD = 0.6
# At CERTAIN or more, a packet of evidence is reported to have the answer; below ABSENT, the documents are reported not
# to have it. About one in ten packets without an answer is CERTAIN, and about one in ten with an answer is ABSENT
# (docs/BENCHMARKS.md).
CERTAIN = 0.7
ABSENT = 0.3
# No weight is negative, so more evidence never lowers the confidence.
WEIGHTS = {"words": 3.0, "matched": 2.0, "sentence": 3.0, "piece": 1.0, "lead": 2.5}
BIAS = -5.4
# The maximum for the sum of the weights of matched words: about four rare words.
_AMPLE = 20.0
# The maximum for the lead: if no other document is near, this one is not a better answer.
_CLEAR = 0.3
# A cross-encoder reads question and sentence together, so it counts as much as all other evidence.
_RERANKED = 0.5


AnswerState = Literal["answered", "perhaps", "not_found"]


class Confidence(NamedTuple):
    """`value`: in [0, 1]. `components`: the parts of the sum, each in [0, 1] before it is weighted."""

    value: float
    components: Mapping[str, float]

    @property
    def is_enough(self) -> bool:
        return self.value >= THRESHOLD

    @property
    def state(self) -> AnswerState:
        if self.value >= CERTAIN:
            return "answered"
        return "perhaps" if self.value >= ABSENT else "not_found"


NOTHING_FOUND = Confidence(0.0, {})


def assess(scored: Sequence[ScoredUnit], weight: float) -> Confidence:
    """Return the confidence that the first unit answers the question. `scored`: best first. `weight`: of all words of
    the question.

    The components are parts of the first unit's score (without vectors, the words count for the cosines), the weight of
    the question's words in it (two common words are less evidence than five rare ones, even if they are all words of
    the question), and its lead over the best unit of another document. A unit that is only about the subject has a
    small lead, because several documents have such units.
    """
    if not scored:
        return NOTHING_FOUND
    first = scored[0]
    rivals = (unit.score for unit in scored if _is_rival(unit, first))
    parts = {
        name: first.components[name] for name in ("words", "sentence", "piece", "rerank") if name in first.components
    }
    lead = first.score - max(rivals, default=0.0)
    return of_components({**parts, "matched": parts["words"] * weight / _AMPLE, "lead": lead / _CLEAR})


def _is_rival(scored: ScoredUnit, first: ScoredUnit) -> bool:
    """Return whether a unit is in another document and says something else."""
    mine, other = first.candidate, scored.candidate
    return other.document.id != mine.document.id and other.text.split() != mine.text.split()


def of_components(components: Mapping[str, float]) -> Confidence:
    """Return the confidence from components. Components are clamped to [0, 1]."""
    bounded = {name: min(max(value, 0.0), 1.0) for name, value in components.items()}
    value = 1 / (1 + exp(-BIAS - sum(weight * bounded[name] for name, weight in WEIGHTS.items())))
    if "rerank" in bounded:
        value = (1 - _RERANKED) * value + _RERANKED * bounded["rerank"]
    return Confidence(round(value, 6), {name: round(component, 6) for name, component in bounded.items()})
