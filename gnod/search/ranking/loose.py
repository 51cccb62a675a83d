"""Which documents of a list are only loosely similar to the query. Pure.

There are nearest documents for every query, also when none is about it. Two things are evidence that one is: it has the
query's words, or its vector is nearer than those of unrelated texts are. How near these are to the query is known for
each model and language (gnod.models.readability), so one line holds for every model (docs/adr/0047-scores.md).
"""

from __future__ import annotations

# A document is about the query from this nearness on, in standard deviations of the cosines of unrelated texts.
NEAR = 3.5
# The words of the query count as this much nearness, if a document has all of them.
WORDS = 5.0
# Where nearness says nothing, this share of the words is enough.
FEW_WORDS = 0.2
_ALL = 1 - 1e-9


def is_loose(share: float, nearness: float | None) -> bool:
    """Tell whether neither is evidence. `share` of the query's words that the document has, by weight, in [0, 1].
    `nearness`: as in `Unrelated.nearness`; None: it says nothing, or the document has no vector."""
    if nearness is None or share >= _ALL:
        return share < FEW_WORDS
    return nearness + WORDS * share < NEAR
