"""Decide whether a memory is true at a time, from the times that it states and the memory that supersedes it. Pure.

`validity_in_text` reads such times in texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from gnod.memory.records import Memory
from gnod.memory_types import is_done

# "unknown": it was stored later and does not say when it became true.
Validity = Literal["holds", "unknown", "not_yet", "ended"]
DAY_MS = 86_400_000
_BEST_FIRST: tuple[Validity, ...] = ("holds", "unknown", "not_yet", "ended")


class TimeSpan(NamedTuple):
    """A period, in milliseconds since 1970."""

    first_ms: int
    last_ms: int

    @classmethod
    def of_days(cls, first: int, last: int) -> TimeSpan:
        """Return the span from the first to the last day, in days since 1970."""
        return cls(first * DAY_MS, (last + 1) * DAY_MS - 1)


def validity(memory: Memory, span: TimeSpan) -> Validity:
    """Return whether a memory is true at any moment of the span."""
    begins_ms, ends_ms = _begins_ms(memory), _ends_ms(memory)
    if ends_ms is not None and ends_ms < span.first_ms:
        return "ended"
    if begins_ms is not None:
        return "holds" if begins_ms <= span.last_ms else "not_yet"
    is_later = memory.happened_ms > span.last_ms and memory.times.valid_until_ms is None
    return "unknown" if is_later else "holds"


def best_validity(memory: Memory, spans: Sequence[TimeSpan]) -> Validity:
    """Return the best validity in any of the spans. A memory without a beginning and an end always holds."""
    if _begins_ms(memory) is None and _ends_ms(memory) is None:
        return "holds"
    return min((validity(memory, span) for span in spans), key=_BEST_FIRST.index)


def _begins_ms(memory: Memory) -> int | None:
    """Return the time from which it is known to be true. A memory that supersedes another one is true from when it
    happened."""
    if memory.times.valid_from_ms is None and memory.supersedes:
        return memory.happened_ms
    return memory.times.valid_from_ms


def _ends_ms(memory: Memory) -> int | None:
    """Return the last moment at which it is true. A finished memory ended when its type changed, or later."""
    superseded_ms = memory.superseded_ms
    ends = [memory.times.valid_until_ms, None if superseded_ms is None else superseded_ms - 1]
    known = [end for end in ends if end is not None]
    return min(known, default=memory.updated_ms if is_done(memory.type) else None)
