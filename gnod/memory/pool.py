"""How many memories each stage takes, and how copies in several namespaces become one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Depth(NamedTuple):
    """`pool`: candidates that are ranked. `results`: returned at most. `whole`: of those, the first that may come
    whole. `always_reranks`: also when there are hardly any. `keywords`: a query needs as many."""

    pool: int
    results: int
    whole: int
    always_reranks: bool
    keywords: int

    @property
    def topics(self) -> int:
        """Return how many the topics give at most: three quarters of the pool."""
        return self.pool * 3 // 4


SEARCH = Depth(pool=64, results=32, whole=3, always_reranks=False, keywords=0)
DEEP_SEARCH = Depth(pool=256, results=100, whole=5, always_reranks=True, keywords=2)

# Below it, a normal search asks no cross-encoder.
FEW = 5

# What is fetched where there are shared namespaces, whose copies are dropped.
_FAN_OUT = 2


def distinct(
    fetch: Callable[[int], Sequence[int]], limit: int, fingerprint_of: Callable[[int], bytes], *, has_shared: bool
) -> list[int]:
    """Return the first `limit` memories of a list without copies. `fetch` gives so many ids, best first. Of a memory
    that stands in several namespaces, so that its fingerprint is the same, the first one stays."""
    wanted = limit * _FAN_OUT if has_shared else limit
    while True:
        fetched = fetch(wanted)
        first: dict[bytes, int] = {}
        for id_ in fetched:
            first.setdefault(fingerprint_of(id_), id_)
        kept = list(first.values())
        # Twice the pool is enough for one copy of each; where there are more, they must not displace others.
        if len(kept) >= limit or len(fetched) < wanted:
            return kept[:limit]
        wanted *= 2


def united(nearest: Sequence[int], topical: Sequence[int], fingerprint_of: Callable[[int], bytes]) -> list[int]:
    """Return the second list with the ids that the first has for the same texts, so that a copy adds to its original.

    >>> united([4, 2], [7, 9], {2: b"a", 4: b"b", 7: b"a", 9: b"c"}.__getitem__)
    [2, 9]
    """
    known = {fingerprint_of(id_): id_ for id_ in nearest}
    return [known.get(fingerprint_of(id_), id_) for id_ in topical]
