"""Score a text by how often sequences of three letters occur in languages in Latin letters: a table of 0.9 MB.

`trigrams.xz` has a byte for each sequence from `aaa` to `zzz` and each language: the negative logarithm of the relative
frequency, in steps of 1 / STEPS. `scripts/distil_trigrams.py` computed it with lingua (Apache-2.0), whose own models
take 43 MB. It omits letters with accents, because `alphabets` already uses them to distinguish languages.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from gnod.analysis.alphabets import LATIN
from gnod.analysis.stemming import fold

FILE = "trigrams.xz"
STEPS = 4
LETTERS = 26
LANGUAGES = sorted(LATIN)


def scores(text: str, languages: Sequence[str]) -> dict[str, float]:
    """Return the logarithm of the text's likelihood in each language, up to a common summand; 0 if it has no
    trigram."""
    found = table()[list(_trigrams(fold(text.lower())))].sum(axis=0, dtype=np.int64) / -STEPS
    return {code: float(found[LANGUAGES.index(code)]) for code in languages}


@cache
def table() -> NDArray[np.uint8]:
    """Return the table: a row for each trigram, and a column for each of LANGUAGES."""
    packed = resources.files("gnod.analysis").joinpath(FILE).read_bytes()
    return np.frombuffer(lzma.decompress(packed), np.uint8).reshape(-1, LETTERS**3).T.copy()


def _trigrams(text: str) -> Iterator[int]:
    """Yield the table row of every sequence of three letters from a to z."""
    row = length = 0
    for code in text.encode("ascii", "replace"):
        letter = code - ord("a")
        if not 0 <= letter < LETTERS:
            length = 0
            continue
        row = (row * LETTERS + letter) % LETTERS**3
        length += 1
        if length > 2:
            yield row
