"""Cut a chunk into the pieces that a model embeds one by one. Pure.

The shorter the text, the more specific its vector. Small models were trained on a few sentences, and a document ranks
by its best piece, so long chunks lose nothing to averaging (docs/adr/0013).
"""

from __future__ import annotations

import re
from typing import NamedTuple

# The best boundary comes first.
_BOUNDARIES = tuple(
    re.compile(pattern) for pattern in (r"\n\n", r"[.!?…]['\"”’)\]]*\s+|[。！？]|[।॥]\s*", r"\n", r"\s+")
)
_SHORTEST = 0.5


class PieceSpan(NamedTuple):
    """`text[start:end]`."""

    start: int
    end: int


def cut(text: str, limit: int | None) -> list[PieceSpan]:
    """Return the pieces in order: the whole text, in parts of nearly equal length, none over `limit` characters.

    >>> [text[0:9] for text in ("One. Two. Three.",)], cut("One. Two. Three.", 10)
    (['One. Two.'], [PieceSpan(start=0, end=10), PieceSpan(start=10, end=16)])
    """
    if limit is None or len(text) <= limit:
        return [PieceSpan(0, len(text))]
    spans = []
    start = 0
    while len(text) - start > limit:
        left = len(text) - start
        aim = left / -(-left // limit)
        end = _nearest(text, start + int(aim * _SHORTEST), start + limit, start + int(aim))
        spans.append(PieceSpan(start, end))
        start = end
    return [*spans, PieceSpan(start, len(text))]


def _nearest(text: str, low: int, high: int, aim: int) -> int:
    """Return the boundary in (low, high] of the best kind that is nearest to `aim`; `high` if there is none."""
    for pattern in _BOUNDARIES:
        places = [match.end() for match in pattern.finditer(text, low, high) if match.end() > low]
        if places:
            return min(places, key=lambda place: abs(place - aim))
    return high
