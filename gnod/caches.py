"""Caches with one limit in bytes for the whole process, so that its memory does not grow with the requests.

Texts and queries repeat their words, so it is worth keeping the result of a function for a word. The number of words
depends on users and their files, and separate limits for each cache, thread or language would add up. When the caches
of a budget exceed it, all of them are emptied. This is rare, and a lookup is as fast as in a dictionary.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K")
V = TypeVar("V")

# The size of an entry in a dictionary, including the free space that a dictionary keeps.
_ENTRY_BYTES = 100
# An entry larger than this part of the limit would displace too many others.
_LARGEST = 64


class CacheBudget:
    """A limit of `most_bytes` that several caches share. Thread-safe."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._used = 0
        self._lock = threading.Lock()
        self._caches: WeakValueDictionary[int, Cache[Any, Any]] = WeakValueDictionary()

    @property
    def used_bytes(self) -> int:
        """The size of all entries. It includes deleted caches until all caches are next emptied."""
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


# Facts about the words of texts and queries. A larger limit makes nothing noticeably faster.
WORDS = CacheBudget(16 << 20)


class Cache(dict[K, V], Generic[K, V]):
    """A cache of values that can be computed again. Another thread may empty it at any time, so look a key up once."""

    def __init__(self, budget: CacheBudget = WORDS) -> None:
        super().__init__()
        self._budget = budget
        budget.enlist(self)

    def keep(self, key: K, value: V) -> V:
        self._budget.keep(self, key, value)
        return value


class Computed(Cache[K, V]):
    """A cache of the results of a function by its argument. Looking up an unknown key calls the function."""

    def __init__(self, function: Callable[[K], V], budget: CacheBudget = WORDS) -> None:
        super().__init__(budget)
        self._function = function

    def __missing__(self, key: K) -> V:
        return self.keep(key, self._function(key))


def size_of(value: object) -> int:
    """Return the size of a value in bytes, including the elements of a tuple, list or set."""
    own = sys.getsizeof(value)
    if isinstance(value, str):
        return own
    return own + sum([size_of(element) for element in value]) if isinstance(value, (tuple, list, frozenset)) else own
