"""The signs of vectors, one bit for each dimension. The number of different signs shows how far a row is from a query
(Charikar 2002). Signs take an eighth of the memory of quantised rows. Must not depend on ids.

All vectors of a model have a common part without information. So the signs are those of the differences from a
`centre`.
"""

from __future__ import annotations

import threading
from math import isqrt, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Differences = NDArray[np.uint16]
Words = NDArray[np.uint64]

MOST_ROWS = 65_536
INFINITE = np.iinfo(np.uint16).max
_WORD = 64
# Count the signs of this many words together, in one byte. With fewer calls, threads wait less for each other.
_ADDED = 3
# Process this many rows at a time, so that the results stay in the processor's cache.
_TAKEN = 16_384
# Examine one row in this many, to estimate how many rows differ in at most a given number of signs.
_STRIDE = 16


def bytes_per_row(dimensions: int) -> int:
    return _words(dimensions) * 8


class _Scratch(threading.local):
    """The working memory of each thread. It is reused, because the system clears new memory."""

    def __init__(self) -> None:
        self.words = np.empty((_ADDED, MOST_ROWS), np.uint64)
        self.counts = np.empty((_ADDED, MOST_ROWS), np.uint8)


_scratch = _Scratch()


class Signs:
    """The signs of a fixed number of rows, at most MOST_ROWS, one array for each 64 dimensions."""

    def __init__(self, centre: Floats, rows: int) -> None:
        self._centre = centre
        self._bits = np.zeros((_words(len(centre)), rows), np.uint64)

    def fill(self, at: int, vectors: Floats) -> None:
        self._bits[:, at : at + len(vectors)] = _bits(vectors, self._centre).T

    def count(self, query: Words, into: Differences, rows: Ids | None = None) -> None:
        """Write the number of signs in which each of the first rows, or of `rows`, differs from a query
        (`of_query`)."""
        if rows is None:
            into[:] = 0
            for first in range(0, len(query), _ADDED):
                bits, asked = self._bits[first : first + _ADDED, : len(into)], query[first : first + _ADDED, None]
                words, counts = (array[: len(bits), : len(into)] for array in (_scratch.words, _scratch.counts))
                np.bitwise_count(np.bitwise_xor(bits, asked, out=words), out=counts)
                into += np.add.reduce(counts, axis=0, dtype=np.uint8)
            return
        for low in range(0, len(rows), _TAKEN):
            # With "clip", NumPy does not first check whether all rows exist.
            words = np.take(self._bits, rows[low : low + _TAKEN], axis=1, mode="clip") ^ query[:, None]
            np.add.reduce(np.bitwise_count(words), axis=0, dtype=into.dtype, out=into[low : low + _TAKEN])


def of_query(query: Floats, centre: Floats) -> Words:
    """Return the signs of a query, for `Signs.count`."""
    return _bits(query[None, :], centre).ravel()


def fewest(differences: Differences, count: int) -> NDArray[np.int64]:
    """Return the numbers of at least the `count` rows with the fewest differences, with all ties, ascending. Leaves out
    rows with infinite differences."""
    wanted = count // _STRIDE
    found = _up_to(differences, _fewest(differences[::_STRIDE], wanted + 2 * isqrt(wanted) + 1))
    return found if len(found) >= count else _up_to(differences, _fewest(differences, count))


def _fewest(differences: Differences, count: int) -> int:
    """Return the number of different signs in the last of the `count` rows with the fewest differences."""
    return int(np.searchsorted(np.cumsum(np.bincount(differences, minlength=1)), count))


def _up_to(differences: Differences, most: int) -> NDArray[np.int64]:
    return np.flatnonzero(differences <= min(most, INFINITE - 1))


def expected(differences: Differences, dimensions: int, sigmas: float) -> int:
    """Return the maximum number of different signs in rows as near as these. Assumes the same probability for each
    sign."""
    probability = float(differences.mean()) / dimensions
    return int(dimensions * probability + sigmas * sqrt(dimensions * probability * (1 - probability)))


def _bits(vectors: Floats, centre: Floats) -> NDArray[np.uint64]:
    packed = np.packbits(vectors > centre, axis=1)
    words = np.zeros((len(vectors), _words(len(centre)) * 8), np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


def _words(dimensions: int) -> int:
    return -(-dimensions // _WORD)
