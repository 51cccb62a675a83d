"""Windows and batches lose nothing and keep their limits."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from gnod.models.llama.embedding import batches, windows


@given(st.lists(st.integers(), max_size=300), st.integers(1, 40))
def test_windows_are_the_tokens_in_nearly_equal_parts(tokens: list[int], room: int) -> None:
    parts = [list(part) for part in windows(tokens, room)]
    assert list(chain.from_iterable(parts)) == tokens
    lengths = [len(part) for part in parts]
    assert max(lengths) <= room
    assert max(lengths) - min(lengths) <= 1
    assert len(parts) == max(1, -(-len(tokens) // room))


@given(st.lists(st.lists(st.just(0), max_size=30), max_size=60), st.integers(1, 40), st.integers(1, 8))
def test_each_part_is_in_one_batch(parts: list[list[int]], budget: int, most: int) -> None:
    found = list(batches(parts, budget=budget, most=most))
    assert sorted(number for batch in found for number in batch) == list(range(len(parts)))
    for batch in found:
        assert 1 <= len(batch) <= most
        assert len(batch) == 1 or sum(len(parts[number]) for number in batch) <= budget
    lengths = [len(parts[number]) for batch in found for number in batch]
    assert lengths == sorted(lengths, reverse=True)
