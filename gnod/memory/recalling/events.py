"""Small memories of one event, and near-duplicates, as one result with the others folded below it. Pure.

Two memories are of one event if they are in one namespace, of about the same time, and close in meaning; if they are
closer, they are near-duplicates at any time. Never if their figures differ: `E4711` is not `E4712`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.memory.recalling.speaker_turns import turn
from gnod.memory.records import Memory, Vector

# Cosines between texts. With these values, three of 1,300 turns that answer a question of LoCoMo are folded below
# another.
_ONE_EVENT = 0.85
_NEAR_DUPLICATE = 0.95
_EVENT_MS = 3_600_000
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")
_FIGURE = re.compile(r"\w*\d[\w.,:/-]*\w|\d")


class Group(NamedTuple):
    """The id of a result, and those of the memories below it, best first."""

    id: int
    folded: list[int]


def groups(ranked: Sequence[Memory], vectors: Mapping[int, Vector]) -> list[Group]:
    """Fold each memory below the best one of the same event. They are given best first. One without a vector is not
    folded."""
    found: list[Group] = []
    leaders: list[Memory] = []
    for memory in ranked:
        at = next((at for at, leader in enumerate(leaders) if _belongs(memory, leader, vectors)), None)
        if at is None:
            leaders.append(memory)
            found.append(Group(memory.id, []))
        else:
            found[at].folded.append(memory.id)
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
