"""Choose the passages of a packet of evidence: the fewest that support an answer, within a token budget. Pure.

The choice is greedy: the passage with the most value comes first. The value is the passage's score plus a bonus for
words of the question that no chosen passage has. A passage that repeats a chosen one, or that adds little, is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from gnod.types import estimated_tokens

# The value of all words of the question together, as a share of the first passage's score.
COVERAGE = 0.25
# A passage repeats a chosen one if the chosen one has this share of its character sequences, and all its figures.
COPIED = 0.9
# Another passage must have this share of the first one's value. The share grows by the second number until the budget
# is used up, so that a large packet gets only passages that are about as good as its first one. A budget below the
# minimum counts as the minimum.
WORTHWHILE, _RISE = 0.57, 0.25
_LEAST_BUDGET = 1000
_CHARACTERS = 5

Reason = Literal["over_budget", "repeats", "below_score"]

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_SPACE = re.compile(r"[\W_]+")


class PacketSource(NamedTuple):
    """A document. `head`: the title and address, which the reader sees once above its passages."""

    text: str
    head: str


class Option(NamedTuple):
    """A passage that may be chosen: a range of a document's text. `lead`: the range of the table's header, or of the
    line above the list. `words`: numbers of the question's words in it. `short`: the passage without its surroundings,
    for a small budget; None if it has none. A chosen passage is joined with adjacent ones, and loses its lead if
    another passage of the packet contains it."""

    document: int
    start: int
    end: int
    heading: str
    lead: tuple[int, int]
    score: float
    words: frozenset[int]
    short: Option | None = None


class LeftOut(NamedTuple):
    """`repeats`: the number of the passage in the packet that has the same text."""

    reason: Reason
    option: Option
    tokens: int
    repeats: int | None = None


class Packet(NamedTuple):
    """`passages`: grouped by document, in order of their lines; the document with the best passage comes first.
    `tokens`: of all passages, with headings and heads. `left_out`: best first."""

    passages: list[Option]
    tokens: int
    left_out: list[LeftOut]


def choose(
    options: Sequence[Option],
    sources: Mapping[int, PacketSource],
    weights: Sequence[float],
    max_tokens: int,
) -> Packet:
    """Return the packet. `options`: in any order. `weights`: of the question's words; their sum is 1."""
    return _Selection(sources, weights, max_tokens).run(options)


class _Selection:
    def __init__(self, sources: Mapping[int, PacketSource], weights: Sequence[float], max_tokens: int) -> None:
        self._sources = sources
        self._weights = weights
        self._max_tokens = max_tokens
        self._chosen: list[Option] = []
        self._texts: dict[tuple[int, int, int], _ComparedText] = {}

    def run(self, options: Sequence[Option]) -> Packet:
        waiting = sorted(options, key=_order)
        scale = waiting[0].score if waiting else 0.0
        covered: set[int] = set()
        first: float | None = None
        left_out: list[tuple[Reason, Option, Option | None]] = []
        while waiting:
            values = [self._value(each, covered, scale) for each in waiting]
            at = max(range(len(waiting)), key=lambda n: values[n])
            if first is not None and values[at] < self._worthwhile() * first:
                break
            option = waiting.pop(at)
            if self._has(option):
                continue
            if repeated := self._repeated(option):
                left_out.append(("repeats", option, repeated))
            elif fitting := self._fitting(option):
                self._chosen = fitting
                covered |= option.words
                first = values[at] if first is None else first
            else:
                left_out.append(("over_budget", option, None))
        left_out += [("below_score", each, None) for each in waiting if not self._has(each)]
        return self._packet(left_out)

    def _worthwhile(self) -> float:
        return WORTHWHILE + _RISE * self._cost(self._chosen) / max(self._max_tokens, _LEAST_BUDGET)

    def _value(self, option: Option, covered: set[int], scale: float) -> float:
        return option.score + COVERAGE * scale * sum(self._weights[n] for n in option.words - covered)

    def _has(self, option: Option) -> bool:
        return any(
            each.document == option.document and each.start <= option.start and option.end <= each.end
            for each in self._chosen
        )

    def _repeated(self, option: Option) -> Option | None:
        text = self._text(option)
        return next((each for each in self._chosen if text.is_in(self._text(each))), None)

    def _text(self, place: Option) -> _ComparedText:
        key = (place.document, place.start, place.end)
        if key not in self._texts:
            self._texts[key] = _ComparedText(self._sources[place.document].text[place.start : place.end])
        return self._texts[key]

    def _fitting(self, option: Option) -> list[Option] | None:
        """Return the chosen passages with one more; None if it does not fit even without its surroundings."""
        joined = self._joined(option)
        if self._cost(joined) <= self._max_tokens:
            return joined
        return self._fitting(option.short) if option.short else None

    def _joined(self, option: Option) -> list[Option]:
        """Return the chosen passages with one more, in the order of the packet. Passages that only white space
        separates become one."""
        text = self._sources[option.document].text
        places = [*(each for each in self._chosen if each.document == option.document), option]
        joined: list[Option] = []
        for each in sorted(places, key=lambda place: place[:6]):
            last = joined[-1] if joined else None
            if last and each.heading == last.heading and not text[last.end : each.start].strip():
                score = max(last.score, each.score)
                joined[-1] = last._replace(end=max(last.end, each.end), score=score)
            elif last and each.start < last.end:
                joined[-1] = last._replace(end=max(last.end, each.end), score=max(last.score, each.score))
            else:
                joined.append(each)
        return _in_order([*(each for each in self._chosen if each.document != option.document), *_with_leads(joined)])

    def _cost(self, passages: Sequence[Option]) -> int:
        heads = dict.fromkeys(passage.document for passage in passages)
        return sum(estimated_tokens(self._sources[head].head) for head in heads) + sum(map(self._tokens, passages))

    def _tokens(self, place: Option) -> int:
        text = self._sources[place.document].text
        return estimated_tokens("\n".join((place.heading, text[slice(*place.lead)], text[place.start : place.end])))

    def _packet(self, left_out: Iterable[tuple[Reason, Option, Option | None]]) -> Packet:
        return Packet(
            self._chosen,
            self._cost(self._chosen),
            [
                LeftOut(reason, option, self._tokens(option), self._number(repeated) if repeated else None)
                for reason, option, repeated in left_out
            ],
        )

    def _number(self, place: Option) -> int:
        """Return the number of the passage that contains this place now."""
        return next(
            n
            for n, each in enumerate(self._chosen)
            if each.document == place.document and each.start <= place.start and place.end <= each.end
        )


def _order(option: Option) -> tuple[object, ...]:
    """Return the sort key: best first, and deterministic for equal passages."""
    short = option.short or option
    return (-option.score, *option[:3], short.start, short.end, sorted(option.words))


def _in_order(passages: Sequence[Option]) -> list[Option]:
    best: dict[int, float] = {}
    for each in passages:
        best[each.document] = max(best.get(each.document, 0.0), each.score)
    return sorted(passages, key=lambda each: (-best[each.document], each.document, each.start))


def _with_leads(passages: Sequence[Option]) -> list[Option]:
    """Leave out leads that are part of a passage, or above an earlier one."""
    seen: set[tuple[int, int]] = set()
    kept = []
    for passage in passages:
        low, high = passage.lead
        is_shown = passage.lead in seen or any(other.start <= low and high <= other.end for other in passages)
        seen.add(passage.lead)
        kept.append(passage._replace(lead=(0, 0)) if is_shown else passage)
    return kept


class _ComparedText:
    """The parts of a text that show whether another text repeats it."""

    def __init__(self, text: str) -> None:
        self._plain = _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()

    @cached_property
    def _figures(self) -> frozenset[str]:
        return frozenset(_FIGURE.findall(self._plain))

    @cached_property
    def _sequences(self) -> frozenset[str]:
        plain = self._plain
        return frozenset(plain[n : n + _CHARACTERS] for n in range(max(len(plain) - _CHARACTERS + 1, 1)))

    def is_in(self, other: _ComparedText) -> bool:
        if self._plain in other._plain:
            return True
        shared = len(self._sequences & other._sequences)
        return self._figures <= other._figures and shared >= COPIED * len(self._sequences)
