"""A set of words in eight bytes for each: it keeps their hashes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

W = TypeVar("W", str, bytes)


class WordSet(Generic[W]):
    """Tells which words are in a set."""

    def __init__(self, words: Iterable[W]) -> None:
        self._hashes = np.sort(_hashes(words))

    def known(self, words: Iterable[W]) -> set[W]:
        asked = list(words)
        if not self._hashes.size:
            return set()
        hashes = _hashes(asked)
        places = np.minimum(np.searchsorted(self._hashes, hashes), self._hashes.size - 1)
        return {word for word, known in zip(asked, (self._hashes[places] == hashes).tolist(), strict=True) if known}


def _hashes(words: Iterable[W]) -> NDArray[np.int64]:
    return np.fromiter(map(hash, words), np.int64)
