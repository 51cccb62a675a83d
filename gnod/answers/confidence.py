"""How probable it is that the documents answer a question, from what is known of the quotes. Pure.

A logistic function of a weighted sum. Its weights and the threshold are here and nowhere else
(docs/adr/0033-confidence.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from typing import Literal, NamedTuple

from gnod.answers.quotes import ScoredUnit

# At this confidence or more, quotes are shown as the answer. Chosen on development collections.
THRESHOLD = 0.6
# What is said of a packet of evidence: from CERTAIN on, that it has the answer; below ABSENT, that the documents do not
# have it. Of the packets without an answer about one in ten is CERTAIN, and so is ABSENT of those with one
# (docs/BENCHMARKS.md).
CERTAIN = 0.7
ABSENT = 0.3
# No weight is negative, so more evidence never lowers the confidence.
WEIGHTS = {"words": 3.0, "matched": 2.0, "sentence": 3.0, "piece": 1.0, "lead": 2.5}
BIAS = -5.4
# A larger sum of the weights of matched words does not count more. This is about four rare words.
_AMPLE = 20.0
# A larger lead does not count more: if no other document is near, that does not make this one a better answer.
_CLEAR = 0.3
# A cross-encoder reads question and sentence together, so it counts as much as everything else.
_RERANKED = 0.5


AnswerState = Literal["answered", "perhaps", "not_found"]


class Confidence(NamedTuple):
    """`value`: in [0, 1]. `components`: what it is made of, each in [0, 1] before its weight."""

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
    """Return the confidence that the first unit answers. `scored`: best first. `weight` of all words of the question.

    The components are parts of the first unit's score (without vectors, the words count for the cosines), the weight of
    the question's words in it (two common words are less evidence than five rare ones, even if they are all), and its
    lead over the best unit of another document: what is about the subject only is about as near in several documents.
    """
    if not scored:
        return NOTHING_FOUND
    first = scored[0]
    rivals = (each.score for each in scored if _is_rival(each, first))
    parts = {
        name: first.components[name] for name in ("words", "sentence", "piece", "rerank") if name in first.components
    }
    lead = first.score - max(rivals, default=0.0)
    return of_components({**parts, "matched": parts["words"] * weight / _AMPLE, "lead": lead / _CLEAR})


def _is_rival(scored: ScoredUnit, first: ScoredUnit) -> bool:
    """Tell whether a unit stands in another document, and says something else."""
    mine, other = first.candidate, scored.candidate
    return other.document.id != mine.document.id and other.text.split() != mine.text.split()


def of_components(components: Mapping[str, float]) -> Confidence:
    """Return the confidence that components give; those outside of [0, 1] are brought to the nearer end."""
    bounded = {name: min(max(value, 0.0), 1.0) for name, value in components.items()}
    value = 1 / (1 + exp(-BIAS - sum(weight * bounded[name] for name, weight in WEIGHTS.items())))
    if "rerank" in bounded:
        value = (1 - _RERANKED) * value + _RERANKED * bounded["rerank"]
    return Confidence(round(value, 6), {name: round(each, 6) for name, each in bounded.items()})
