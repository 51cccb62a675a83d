"""Caches with one limit in bytes for the whole process, so that it does not grow with what it is asked.

Texts and queries repeat their words, so what a function returns for a word is worth keeping. How many words there are
is up to users and their files: a limit for each cache, each thread or each language would add up. All caches of a
budget are emptied together when they exceed it. That is rare, and a lookup stays that of a dictionary.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K")
V = TypeVar("V")

# The place of an entry in a dictionary, with the room that a dictionary keeps free.
_ENTRY_BYTES = 100
# An entry larger than this part of the limit would displace too many others.
_LARGEST = 64


class CacheBudget:
    """The caches that share `most_bytes`. For all threads."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._used = 0
        self._lock = threading.Lock()
        self._caches: WeakValueDictionary[int, Cache[Any, Any]] = WeakValueDictionary()

    @property
    def used_bytes(self) -> int:
        """The size of all entries; also of caches that are gone, until the next time that all are emptied."""
        return self._used

    def empty(self) -> None:
        with self._lock:
            self._empty()

    def enlist(self, cache: Cache[Any, Any]) -> None:
        with self._lock:
            self._caches[id(cache)] = cache

    def keep(self, cache: Cache[K, V], key: K, value: V) -> None:
        size = _ENTRY_BYTES + size_of(key) + size_of(value)
        if size * _LARGEST > self.most_bytes:
            return
        with self._lock:
            if self._used + size > self.most_bytes:
                self._empty()
            self._used += size
            cache[key] = value

    def _empty(self) -> None:
        for cache in list(self._caches.values()):
            cache.clear()
        self._used = 0


# Facts about the words of texts and queries. With a larger limit, nothing gets noticeably faster.
WORDS = CacheBudget(16 << 20)


class Cache(dict[K, V], Generic[K, V]):
    """Values that can be computed again. Another thread may empty it at any time: look a key up once."""

    def __init__(self, budget: CacheBudget = WORDS) -> None:
        super().__init__()
        self._budget = budget
        budget.enlist(self)

    def keep(self, key: K, value: V) -> V:
        self._budget.keep(self, key, value)
        return value


class Computed(Cache[K, V]):
    """What a function returns, by its argument: a lookup of an unknown key calls it."""

    def __init__(self, function: Callable[[K], V], budget: CacheBudget = WORDS) -> None:
        super().__init__(budget)
        self._function = function

    def __missing__(self, key: K) -> V:
        return self.keep(key, self._function(key))


def size_of(value: object) -> int:
    """Return the bytes of a value and, of a tuple, list or set, those of its elements."""
    own = sys.getsizeof(value)
    if isinstance(value, str):
        return own
    return own + sum([size_of(each) for each in value]) if isinstance(value, (tuple, list, frozenset)) else own
