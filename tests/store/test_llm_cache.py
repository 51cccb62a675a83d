"""The cache of language models' answers."""

from __future__ import annotations

import pytest

from gnod.store.connection import Connection
from gnod.store.tables import llm_cache
from tests.small_index import SmallIndex


def get(index: SmallIndex, key: str) -> str | None:
    return llm_cache.get(index.reader, key=key)


def put(index: SmallIndex, key: str, value: str, now: float) -> None:
    index.write(lambda c: llm_cache.put(c, key, value, now))


def test_a_stored_value_is_returned_and_can_be_replaced(small_index: SmallIndex) -> None:
    assert get(small_index, "a") is None
    put(small_index, "a", "one", 1.0)
    put(small_index, "b", "two\n🙂", 2.0)
    put(small_index, "a", "three", 3.0)
    assert (get(small_index, "a"), get(small_index, "b")) == ("three", "two\n🙂")
    times = small_index.rows("SELECT key, created, used FROM llm_cache ORDER BY key")
    assert times == [("a", 1.0, 3.0), ("b", 2.0, 2.0)]


def test_the_newest_are_kept_even_when_the_clock_goes_back(
    small_index: SmallIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm_cache, "KEPT", 3)
    for number, key in enumerate("abcd"):
        put(small_index, key, key, float(number))
    put(small_index, "b", "b", 10.0)
    put(small_index, "e", "e", 11.0)
    assert small_index.rows("SELECT key FROM llm_cache ORDER BY key") == [("b",), ("d",), ("e",)]
    put(small_index, "f", "f", -5.0)
    assert small_index.rows("SELECT key FROM llm_cache ORDER BY key") == [("b",), ("e",), ("f",)]


def test_pruning_a_full_cache_uses_the_index(small_index: SmallIndex) -> None:
    def fill(connection: Connection) -> None:
        rows = ((str(i), "v", float(i), float(i)) for i in range(llm_cache.KEPT))
        connection.executemany("INSERT INTO llm_cache VALUES (?, ?, ?, ?)", rows)

    small_index.write(fill)
    put(small_index, "new", "v", 1e9)
    assert small_index.rows("SELECT count(*) FROM llm_cache") == [(llm_cache.KEPT,)]
    assert get(small_index, "0") is None
    plan = small_index.rows("EXPLAIN QUERY PLAN SELECT rowid FROM llm_cache ORDER BY used DESC, rowid DESC")
    assert "llm_cache_by_use" in str(plan)
    assert "TEMP" not in str(plan)
