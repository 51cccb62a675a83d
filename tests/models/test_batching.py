"""Windows and steps lose nothing and stay within their limits."""

from __future__ import annotations

from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from gnod.models.run.engines import packed, windows


@given(st.lists(st.integers(), max_size=300), st.integers(1, 40))
def test_windows_are_the_tokens_in_nearly_equal_parts(tokens: list[int], room: int) -> None:
    parts = [list(part) for part in windows(tokens, room)]
    assert list(chain.from_iterable(parts)) == tokens
    lengths = [len(part) for part in parts]
    assert max(lengths) <= room
    assert max(lengths) - min(lengths) <= 1
    assert len(parts) == max(1, -(-len(tokens) // room))


@given(st.lists(st.text(max_size=30), max_size=60), st.integers(1, 40), st.integers(1, 8))
def test_each_part_is_in_one_step(parts: list[str], tokens: int, most: int) -> None:
    found = list(packed(parts, len, limit=tokens, most=most))
    assert list(chain.from_iterable(found)) == parts
    for step in found:
        assert 1 <= len(step) <= most
        assert len(step) == 1 or sum(map(len, step)) <= tokens
    for before, after in pairwise(found):
        assert len(before) == most or sum(map(len, before)) + len(after[0]) > tokens
