"""Which sequences go into one step of a model together. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# The tokens in one step of the model. Larger steps are not faster.
STEP_TOKENS = 256
# The sequences in one step.
MAX_PARTS = 64


def packed(
    items: Iterable[T], length: Callable[[T], int], *, tokens: int = STEP_TOKENS, most: int = MAX_PARTS
) -> Iterator[list[T]]:
    """Yield the items that go together, in their order: at most `tokens` of their lengths, and `most` of them. An item
    over the limit goes alone.

    >>> list(packed(["aaaa", "aa", "a", "a"], len, tokens=3))
    [['aaaa'], ['aa', 'a'], ['a']]
    """
    pack: list[T] = []
    used = 0
    for item in items:
        size = length(item)
        if pack and (used + size > tokens or len(pack) == most):
            yield pack
            pack, used = [], 0
        pack.append(item)
        used += size
    if pack:
        yield pack
