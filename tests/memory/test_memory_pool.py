"""The sizes of the pool; copies never displace other memories."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from gnod.memory.ranking import DEEP_SEARCH, FEW, SEARCH, distinct, united

few = settings(max_examples=60)


def test_sizes() -> None:
    assert (SEARCH.pool, SEARCH.topics, SEARCH.results, SEARCH.whole, SEARCH.keywords) == (64, 48, 32, 3, 0)
    assert (DEEP_SEARCH.pool, DEEP_SEARCH.topics, DEEP_SEARCH.results) == (256, 192, 100)
    assert (DEEP_SEARCH.whole, DEEP_SEARCH.keywords) == (5, 2)
    assert (SEARCH.always_reranks, DEEP_SEARCH.always_reranks, FEW) == (False, True, 5)


class Asked:
    """A list, best first, of memories with what they say; `asked`: how many were wanted of it."""

    def __init__(self, texts: Sequence[int]) -> None:
        self.texts = texts
        self.asked: list[int] = []

    def fetch(self, wanted: int) -> Sequence[int]:
        self.asked.append(wanted)
        return range(min(wanted, len(self.texts)))

    def fingerprint(self, id_: int) -> bytes:
        return b"%d" % self.texts[id_]


def test_one_namespace_is_asked_for_the_pool() -> None:
    found = Asked(range(500))
    assert distinct(found.fetch, 64, found.fingerprint, has_shared=False) == list(range(64))
    assert found.asked == [64]


def test_several_are_asked_for_twice_the_pool_and_cut_back() -> None:
    found = Asked([n // 2 for n in range(500)])  # one copy of each
    assert distinct(found.fetch, 64, found.fingerprint, has_shared=True) == list(range(0, 128, 2))
    assert found.asked == [128]


def test_many_copies_displace_nothing() -> None:
    found = Asked([n // 10 for n in range(2000)])
    assert distinct(found.fetch, 64, found.fingerprint, has_shared=True) == list(range(0, 640, 10))
    assert found.asked == [128, 256, 512, 1024]


def test_nothing_there() -> None:
    assert distinct(Asked([]).fetch, 64, Asked([]).fingerprint, has_shared=True) == []


@few
@given(st.lists(st.integers(0, 12), max_size=120), st.integers(1, 12), st.booleans())
def test_the_first_of_each_text_in_their_order(texts: list[int], limit: int, shared: bool) -> None:
    found = Asked(texts)
    firsts = [n for n, text in enumerate(texts) if texts.index(text) == n][:limit]
    kept = distinct(found.fetch, limit, found.fingerprint, has_shared=shared)
    assert kept == firsts


@few
@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True), st.integers(1, 9))
def test_copies_add_to_their_original(nearest: list[int], topical: list[int], kinds: int) -> None:
    def text(id_: int) -> bytes:
        return b"%d" % (id_ % kinds)

    joined = united(nearest, topical, text)
    assert [text(id_) for id_ in joined] == [text(id_) for id_ in topical]
    for id_ in joined:
        assert id_ in nearest or not any(text(id_) == text(other) for other in nearest)
