"""Arrange texts for the model: long ones in windows, windows in batches. Pure: knows token counts, no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def windows(tokens: Sequence[int], room: int) -> Iterator[Sequence[int]]:
    """Cut a text's tokens into as few parts as fit into `room` each, of nearly equal length.

    >>> [list(part) for part in windows([1, 2, 3, 4, 5], 2)]
    [[1, 2], [3, 4], [5]]
    """
    count = max(1, -(-len(tokens) // room))
    length, longer = divmod(len(tokens), count)
    at = 0
    for number in range(count):
        end = at + length + (number < longer)
        yield tokens[at:end]
        at = end


def batches(parts: Sequence[Sequence[T]], *, budget: int, most: int) -> Iterator[list[int]]:
    """Yield the numbers of the parts that go together: long ones first, at most `budget` tokens and `most` parts.

    A part that is over the budget by itself goes alone.

    >>> list(batches([[1], [1, 2, 3], [1, 2]], budget=3, most=8))
    [[1], [2, 0]]
    """
    batch: list[int] = []
    used = 0
    # Of like length together: the attention of a batch costs its longest part's square.
    for number in sorted(range(len(parts)), key=lambda n: -len(parts[n])):
        length = len(parts[number])
        if batch and (used + length > budget or len(batch) == most):
            yield batch
            batch, used = [], 0
        batch.append(number)
        used += length
    if batch:
        yield batch
