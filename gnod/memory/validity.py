"""Whether a memory is true at a time: by the times that it states, and by what supersedes it. Pure.

`validity_in_text` reads such times in texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from gnod.memory.records import Memory
from gnod.memory_types import is_done

# "unknown": it was stored later, and nothing says since when it is true.
Validity = Literal["holds", "unknown", "not_yet", "ended"]
DAY_MS = 86_400_000
_BEST_FIRST: tuple[Validity, ...] = ("holds", "unknown", "not_yet", "ended")


class TimeSpan(NamedTuple):
    """A period, in milliseconds since 1970."""

    first_ms: int
    last_ms: int

    @classmethod
    def of_days(cls, first: int, last: int) -> TimeSpan:
        """Return the span of days since 1970."""
        return cls(first * DAY_MS, (last + 1) * DAY_MS - 1)


def validity(memory: Memory, span: TimeSpan) -> Validity:
    """Tell whether a memory is true at any moment of the span."""
    begins_ms, ends_ms = _begins_ms(memory), _ends_ms(memory)
    if ends_ms is not None and ends_ms < span.first_ms:
        return "ended"
    if begins_ms is not None:
        return "holds" if begins_ms <= span.last_ms else "not_yet"
    is_later = memory.happened_ms > span.last_ms and memory.times.valid_until_ms is None
    return "unknown" if is_later else "holds"


def best_validity(memory: Memory, spans: Sequence[TimeSpan]) -> Validity:
    """Return the validity in the span in which it is best. A memory without a beginning and an end always holds."""
    if _begins_ms(memory) is None and _ends_ms(memory) is None:
        return "holds"
    return min((validity(memory, span) for span in spans), key=_BEST_FIRST.index)


def _begins_ms(memory: Memory) -> int | None:
    """Return since when it is known to be true. What supersedes another memory is true since it happened."""
    if memory.times.valid_from_ms is None and memory.supersedes:
        return memory.happened_ms
    return memory.times.valid_from_ms


def _ends_ms(memory: Memory) -> int | None:
    """Return the last moment at which it is true. What is finished ended when its type changed, or later."""
    superseded_ms = memory.superseded_ms
    ends = [memory.times.valid_until_ms, None if superseded_ms is None else superseded_ms - 1]
    known = [end for end in ends if end is not None]
    return min(known, default=memory.updated_ms if is_done(memory.type) else None)
