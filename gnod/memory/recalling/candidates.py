"""Choose the pool for a query: score each memory by vectors, keywords, topics, names and times, and add the scores.
Pure.

As in the hybrid search (gnod.search.ranking.fusion), scores are scaled over all searched memories and added. The
weights were chosen on conversations of LoCoMo (docs/adr/0035-memory-search.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log10
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.memory.recalling.keyword_index import MemoryMatches
from gnod.memory.recalling.speaker_turns import Conversations
from gnod.memory.recalling.time_expressions import Period
from gnod.memory.validity import DAY_MS

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

# Vectors and keywords together give a score of up to 1, half each. These weights are added to it.
_TOPICS = 0.3
_SPEAKER = 0.1
_PERIOD = 0.2
_STATES_TIME = 0.1
# A turn that asks has the words of the question, but rarely the answer.
_ASKS = -0.1
# A memory that is this many days outside the period of a query gets 1/e of the weight: people describe May in early
# June.
_DAYS_OUTSIDE = 7.0

# The evidence for the best memory must reach a minimum that grows with the number of memories, because the best of many
# unrelated ones is nearer than the best of a few.
_FLOOR_PER_DECADE, _HIGHEST_FLOOR = 0.38, 1.15
# Without vectors, the best memory must contain this share of the query's words, by weight.
_COVERAGE_FLOOR = 0.35


class MemorySignals(NamedTuple):
    """Arrays with a value for each searched memory. `cosines`: NaN without a vector. `meanings`: cosines that include
    the surrounding turns. `topics`: how many words of the query are topics of the memory, divided by the number of the
    memory with most. `nearness`: nearness in time, in [0, 1]; NaN if the query names no time. `asks_when`: whether the
    query asks when."""

    ids: Ids
    cosines: Floats
    meanings: Floats
    topics: Floats
    nearness: Floats
    matches: MemoryMatches
    asks_when: bool

    def found(self) -> NDArray[np.bool_]:
        """Return which memories a vector, a keyword or a topic found."""
        return np.asarray(~np.isnan(self.cosines) | (self.matches.scores > 0) | (self.topics > 0))

    def strength(self) -> Floats:
        """Return the evidence for each memory by itself, in [0, 3]: the share of the query that it contains, plus twice
        the cosine, because texts that answer a query have cosines around 0.5."""
        return np.asarray(self.matches.coverage + 2 * np.nan_to_num(np.maximum(self.cosines, 0.0)))


def evidence(
    ids: Ids,
    created_ms: Ids,
    cosines: Floats,
    matches: MemoryMatches,
    topics: Mapping[int, float],
    periods: Sequence[Period],
    *,
    asks_when: bool,
) -> MemorySignals:
    """Join the scores of the memories `ids`, which ascend. `created_ms`: when each memory was stored."""
    times_ms = np.where(matches.is_indexed, matches.times_ms, created_ms)
    most = max([1.0, *topics.values()])  # a topic that was only suggested counts less than 1
    return MemorySignals(
        ids=ids,
        cosines=cosines,
        meanings=Conversations(matches.sessions, times_ms, matches.asks).blended(cosines),
        topics=_at(ids, topics) / most,
        nearness=_nearness(np.column_stack([times_ms // DAY_MS, matches.days]), periods),
        matches=matches,
        asks_when=asks_when,
    )


def fused(found: MemorySignals) -> Floats:
    """Return the score of each memory, larger is better; -1 for a memory that no retriever found."""
    return np.where(found.found(), _summed(found), -1.0)


def floor(number: int, *, has_vector: bool) -> float:
    """Return the strength that the best memory must have. If it is below, no memory answers the query.

    >>> round(floor(10, has_vector=True), 2), round(floor(500, has_vector=True), 2), floor(10_000, has_vector=True)
    (0.38, 1.03, 1.15)
    """
    if not has_vector:
        return _COVERAGE_FLOOR
    return min(_FLOOR_PER_DECADE * log10(max(number, 1)), _HIGHEST_FLOOR)


def _summed(found: MemorySignals) -> Floats:
    has_vector = ~np.isnan(found.cosines)
    matches = found.matches
    keywords = matches.scores / best if (best := matches.scores.max(initial=0.0)) > 0 else matches.scores
    if not has_vector.any():
        both = keywords
    else:
        low, high = np.nanmin(found.meanings), np.nanmax(found.meanings)
        vectors = (found.meanings - low) / (high - low) if high > low else np.ones(len(found.ids))
        # A missing vector must not lower the score of a memory.
        both = np.where(has_vector, (np.nan_to_num(vectors) + keywords) / 2, keywords) if best > 0 else vectors
    states_time = matches.states_time & found.asks_when
    bonus = _TOPICS * found.topics + _SPEAKER * matches.named + _STATES_TIME * states_time + _ASKS * matches.asks
    return np.asarray(np.nan_to_num(both) + bonus + _PERIOD * np.nan_to_num(found.nearness))


def _nearness(days: NDArray[np.int64], periods: Sequence[Period]) -> Floats:
    """Return the nearness of each memory's days to the nearest period, in [0, 1]."""
    best = np.full(len(days), np.nan)
    for period in periods:
        outside = np.maximum(0, np.maximum(period.start - days, days - period.end)).min(axis=1)
        best = np.fmax(best, np.exp(-outside / _DAYS_OUTSIDE))
    return best


def pool(found: MemorySignals, scores: Floats, fingerprint_of: Callable[[int], bytes], limit: int) -> list[int]:
    """Return the rows of the best memories, the best first. If several namespaces have copies of a memory, return only
    one."""
    order = np.argsort(-scores, kind="stable")
    chosen: list[int] = []
    seen: set[bytes] = set()
    for row in order:
        if scores[row] < 0 or len(chosen) == limit:
            break
        fingerprint = fingerprint_of(int(found.ids[row]))
        if fingerprint and fingerprint not in seen:  # if not, it was removed meanwhile
            seen.add(fingerprint)
            chosen.append(int(row))
    return chosen


def _at(ids: Ids, counts: Mapping[int, float]) -> Floats:
    """Return the counts of `ids` as an array; 0 where there is none. `counts` may have a memory that is not in `ids`,
    because it was stored meanwhile."""
    known = np.fromiter(counts.keys(), np.int64, len(counts))
    values = np.fromiter(counts.values(), float, len(counts))
    found = np.zeros(len(ids))
    among = np.isin(known, ids)
    found[np.searchsorted(ids, known[among])] = values[among]
    return found
