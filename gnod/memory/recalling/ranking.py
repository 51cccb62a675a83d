"""Turn candidates into results: the rules that order and fold memories, with their constants. Pure.

`candidates` has the rules that choose candidates.

docs/memory.md explains the rules to users; the factors of each type are in `gnod.memory_types`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import exp
from typing import NamedTuple

from gnod.memory.recalling.speaker_turns import turn
from gnod.memory.records import Memory, Vector
from gnod.memory.validity import Validity
from gnod.memory_types import DONE_PENALTY, type_named

# The minimum scores after reranking.
_KEYWORD_FLOOR = 0.30
_SCORE_FLOOR = 0.03

# The parameters of a sigmoid for scores without a reranker. Vectors and keywords contribute at most 1 to the fused
# score.
_SYNTHETIC_CENTRE = 0.4
_SYNTHETIC_LOW, _SYNTHETIC_HIGH = 0.40, 0.70
# With 10, a memory that is first by vectors and by keywords (fused score 1) is within 0.001 of the top, and a quarter
# of this score gives a fifth of the range.
_SYNTHETIC_STEEPNESS = 10.0
# The maximum score of a memory that no reranker read, whatever its type: no model has confirmed that it answers the
# query.
_UNVERIFIED_CAP = _SYNTHETIC_HIGH

# Cosines between texts. With these values, of 1,300 turns that answer a question of LoCoMo, three are folded below
# another one.
_ONE_EVENT = 0.85
_NEAR_DUPLICATE = 0.95
_EVENT_MS = 3_600_000
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_FIGURE = re.compile(r"\w*\d[\w.,:/-]*\w|\d")


class Depth(NamedTuple):
    """How thorough a search is.

    `pool`: number of candidates to rank. `results`: maximum number of results. `whole`: number of first results that
    may be shown whole. `always_reranks`: whether even very few candidates are reranked. `keywords`: number of keywords
    that a query needs.
    """

    pool: int
    results: int
    whole: int
    always_reranks: bool
    keywords: int


SEARCH = Depth(pool=64, results=32, whole=3, always_reranks=False, keywords=0)
DEEP_SEARCH = Depth(pool=256, results=100, whole=5, always_reranks=True, keywords=2)

# A normal search does not rerank fewer candidates.
FEW = 5


class RecalledMemory(NamedTuple):
    """`score` orders the results. `cosine`: to the query, if the memory has a vector. Both are in [0, 1]. `matched`:
    the fraction of the query's words in the memory. `validity`: at the requested time. `is_verified`: whether a
    reranker gave the score. `folded`: other memories of the same event, best first; they are not results by
    themselves."""

    memory: Memory
    score: float
    matched: float
    validity: Validity = "holds"
    is_verified: bool = True
    cosine: float | None = None
    folded: Sequence[Memory] = ()


def boosted(scores: Sequence[float], types: Sequence[str]) -> list[float]:
    """Multiply the fused scores of memories by the boosts of their types.

    >>> boosted([0.5, 0.5], ["fact", "summary"])
    [0.5, 0.7]
    """
    boosts = {type_: type_named(type_).fusion_boost for type_ in set(types)}
    return [score * boosts[type_] for score, type_ in zip(scores, types, strict=True)]


def synthetic(fused: float, strength: float) -> float:
    """Return the score of a memory that was not reranked, from its fused score and its strength
    (`candidates.MemorySignals.strength`). A strength of 1 or more has no effect.

    >>> round(synthetic(1.0, 1.0), 4), round(synthetic(0.5, 1.0), 4), round(synthetic(0.5, 0.2), 4)
    (0.6993, 0.6193, 0.1239)
    """
    sigmoid = 1 / (1 + exp(-_SYNTHETIC_STEEPNESS * (fused - _SYNTHETIC_CENTRE)))
    return (_SYNTHETIC_LOW + (_SYNTHETIC_HIGH - _SYNTHETIC_LOW) * sigmoid) * min(max(strength, 0.0), 1.0)


def reranked(scores: Sequence[float], rest: Sequence[float]) -> list[float]:
    """Return the reranker's scores, then scores of the memories that it had no time to read. These are at most its
    worst score, because it read the best candidates first.

    >>> reranked([0.9, 0.2], [0.6, 0.1])
    [0.9, 0.2, 0.2, 0.1]
    """
    worst = min(scores, default=1.0)
    return [*scores, *(min(score, worst) for score in rest)]


def finish(found: Sequence[RecalledMemory]) -> list[RecalledMemory]:
    """Apply boosts, penalties and the keyword floor, sorting after each; return the memories best first."""
    ranked = _sorted(found)
    for group in (_boosted, _penalised, _raised):
        ranked = _sorted([hit._replace(score=group(hit)) for hit in ranked])
    return [hit for hit in ranked if hit.score >= _SCORE_FLOOR]


def _boosted(found: RecalledMemory) -> float:
    boost = type_named(found.memory.type).rerank_boost
    return min(found.score * boost, 1.0 if found.is_verified else _UNVERIFIED_CAP)


def _penalised(found: RecalledMemory) -> float:
    penalty = type_named(found.memory.type).penalty
    return found.score * penalty * (1.0 if found.validity == "holds" else DONE_PENALTY)


def _raised(found: RecalledMemory) -> float:
    """Raise the score of an exact match that a model scored low."""
    return max(found.score, _KEYWORD_FLOOR * found.matched)


def _sorted(found: Sequence[RecalledMemory]) -> list[RecalledMemory]:
    return sorted(found, key=lambda hit: -hit.score)


def current_first(ranked: Sequence[RecalledMemory]) -> list[RecalledMemory]:
    """Move each memory before those that it supersedes, and raise its score to at least theirs. A memory that is not
    true at the requested time does not move before one that is."""
    by_name = {hit.memory.name: hit for hit in ranked}
    placed: dict[int, RecalledMemory] = {}
    for hit in ranked:
        chain = []
        next_: RecalledMemory | None = hit
        while next_ is not None and next_.memory.id not in placed:
            chain.append(next_._replace(score=max(next_.score, hit.score)))
            newer = by_name.get(next_.memory.superseded_by or "")
            next_ = newer if newer and (newer.validity == "holds" or next_.validity != "holds") else None
        placed.update((one.memory.id, one) for one in reversed(chain))
    return list(placed.values())


def events(ranked: Sequence[RecalledMemory], vectors: Mapping[int, Vector]) -> list[RecalledMemory]:
    """Fold each memory below the best one of the same event. `ranked`: best first. `vectors`: by id.

    Two memories belong to one event if they are in one namespace, close in meaning, and of about the same time. If they
    are even closer in meaning, they are near-duplicates, whatever their times. Memories with different figures are
    never folded: `E4711` is not `E4712`.
    """
    found: list[RecalledMemory] = []
    for hit in ranked:
        at = next((at for at, leader in enumerate(found) if _belongs(hit.memory, leader.memory, vectors)), None)
        if at is None:
            found.append(hit)
        else:
            found[at] = found[at]._replace(folded=[*found[at].folded, hit.memory])
    return found


def _belongs(memory: Memory, leader: Memory, vectors: Mapping[int, Vector]) -> bool:
    if memory.namespace != leader.namespace or memory.type != leader.type:
        return False
    if memory.id not in vectors or leader.id not in vectors:
        return False
    cosine = float(vectors[memory.id] @ vectors[leader.id])
    if cosine < _ONE_EVENT or (cosine < _NEAR_DUPLICATE and not _is_one_event(memory, leader)):
        return False
    return _figures(memory.text) == _figures(leader.text)


def _is_one_event(one: Memory, other: Memory) -> bool:
    turns = turn(one.text), turn(other.text)
    if turns[0] and turns[1] and turns[0].about != turns[1].about:
        return False
    return abs(one.happened_ms - other.happened_ms) <= _EVENT_MS


def _figures(text: str) -> set[str]:
    """Return the numbers and identifiers with digits, without times of the day."""
    return set(_FIGURE.findall(_CLOCK.sub(" ", text)))
