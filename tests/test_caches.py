"""The caches of a budget together stay within its bytes, for any requests and any number of threads."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.alphabets import candidates
from gnod.analysis.terms import Analyzer, terms_of_many
from gnod.caches import WORDS, Cache, CacheBudget, Computed, size_of
from gnod.errors import QuerySyntaxError
from gnod.models.readability import script_of
from gnod.search.correction.edits import one_edit
from gnod.search.keyword import expression
from gnod.search.keyword.marks import find_marks
from gnod.search.query.parsing import parse_clauses

_LETTERS = "abcdefghijklmnopqrstuvwxyzäéøßабвгдежзикλμνξαβγआइकखग東京都أبت"


def _held(caches: Iterable[Cache[str, Any]]) -> int:
    return sum(size_of(key) + size_of(value) for cache in caches for key, value in cache.items())


@given(st.lists(st.tuples(st.integers(0, 2), st.text(max_size=200)), max_size=120), st.integers(2_000, 20_000))
def test_caches_of_a_budget_keep_to_it(asked: list[tuple[int, str]], most: int) -> None:
    budget = CacheBudget(most)
    caches: list[Computed[str, Any]] = [Computed(lambda text: (text, frozenset(text)), budget) for _ in range(3)]
    for number, text in asked:
        assert caches[number][text] == (text, frozenset(text))
        assert _held(caches) <= budget.used_bytes <= most


def test_a_large_entry_displaces_no_others() -> None:
    budget = CacheBudget(64_000)
    cache = Computed(str.upper, budget)
    assert cache["small"] == "SMALL"
    assert cache["x" * 2000] == "X" * 2000
    assert cache.keys() == {"small"}


def test_caches_that_are_gone_leave_room_in_time() -> None:
    budget = CacheBudget(64_000)
    for number in range(2000):
        Computed(str.upper, budget)[f"word {number}"]
    gc.collect()
    assert budget.used_bytes <= 64_000


def test_several_threads() -> None:
    budget = CacheBudget(50_000)

    def work(seed: int) -> None:
        cache, rng = Computed(str.upper, budget), random.Random(seed)
        for _ in range(3000):
            word = str(rng.randrange(2000))
            assert cache[word] == word.upper()

    with ThreadPoolExecutor(4) as threads:
        for each in [threads.submit(work, seed) for seed in range(4)]:
            each.result()
    assert budget.used_bytes <= 50_000


def test_entries_take_what_is_said_of_them() -> None:
    """The bytes of a budget must match the memory of the process."""
    budget = CacheBudget(512 << 10)
    cache: Computed[str, tuple[str, str]] = Computed(lambda word: (word + "a", word + "é"), budget)
    tracemalloc.start()
    for number in range(10_000):
        cache[f"word {number}"]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert cache
    assert taken < 1.2 * budget.most_bytes


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> int:
    WORDS.empty()
    monkeypatch.setattr(WORDS, "most_bytes", 192 << 10)
    return WORDS.most_bytes


@pytest.mark.slow
def test_what_is_asked_about_words_keeps_to_the_limit(little: int) -> None:
    """Call all functions that cache facts about words of queries and texts, in several languages."""
    rng = random.Random(7)
    languages = [Analyzer(language) for language in ("de", "en", "hi", "ru")]
    _ask_about(_words(rng, 20), languages)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(3):
        _ask_about(_words(rng, 40), languages)
        assert WORDS.used_bytes <= little
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 1.5 * little


def _words(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(_LETTERS, k=rng.randint(4, 12))) for _ in range(count)]


def _ask_about(words: list[str], analyzers: list[Analyzer]) -> None:
    text = " ".join(words)
    for analyzer in analyzers:
        analyzer.stream(text)
    for word in words:
        candidates(word)
        script_of(word)
        try:
            wanted = expression.build(parse_clauses(f'{word} "{word} {words[0]}"'), analyzers)
        except QuerySyntaxError:
            continue
        find_marks(f"{word} {word}s", wanted.query_terms(), analyzers)
    terms_of_many(one_edit(words[0]), analyzers)
