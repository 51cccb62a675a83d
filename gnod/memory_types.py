"""The types of memories: their purpose, and their effect on the ranking. Pure.

The client uses the names, `gnod.memory.recalling.ranking` uses the factors, and a test compares docs/memory.md with
this module.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gnod.errors import InvalidName


class MemoryType(NamedTuple):
    """`fusion_boost` multiplies the score that selects candidates. `rerank_boost` multiplies the final score, up to 1;
    then `penalty` multiplies it."""

    name: str
    description: str
    fusion_boost: float = 1.0
    rerank_boost: float = 1.0
    penalty: float = 1.0


# Other types are also valid, and have no effect.
MEMORY_TYPES = (
    MemoryType("fact", "something that is true"),
    MemoryType("preference", "how somebody wants things to be done", fusion_boost=1.3, rerank_boost=1.25),
    MemoryType("summary", "the main points of something longer", fusion_boost=1.4, rerank_boost=1.3),
    MemoryType("result", "the outcome of some work", penalty=0.6),
    MemoryType("decision", "what was decided, and why"),
    MemoryType("task", "something to do"),
)

# The type of a finished or superseded memory has this suffix.
DONE = "_done"
DONE_PENALTY = 0.7

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")
_MAX_CHARACTERS = 40


def checked_type(name: str) -> str:
    """Return the stored form of the type. Raises InvalidName.

    >>> checked_type("Decision_Done")
    'decision_done'
    """
    lowered = name.strip().lower()
    if len(lowered) > _MAX_CHARACTERS or not _NAME.match(lowered):
        *names, last = (known.name for known in MEMORY_TYPES)
        raise InvalidName(
            f"{name[:_MAX_CHARACTERS]!r} is not a valid type of memory: use letters, digits and '_', such as "
            f"{', '.join(names)} or {last}; add {DONE!r} when it is finished"
        )
    return lowered


def type_named(name: str) -> MemoryType:
    """Return the entry of a type, whose name may end in `_done`.

    >>> type_named("preference_done").fusion_boost, type_named("anything").penalty
    (1.3, 1.0)
    """
    base = name.removesuffix(DONE)
    return next((known for known in MEMORY_TYPES if known.name == base), MemoryType(base, ""))


def is_done(name: str) -> bool:
    return name.endswith(DONE)
