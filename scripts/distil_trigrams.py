"""Write gnod/analysis/trigrams.xz: how likely each language is given three letters, computed with lingua.

    python scripts/distil_trigrams.py

It takes a few seconds and 100 MB. The file changes with lingua's models and with the languages of `alphabets`.
"""

from __future__ import annotations

import itertools
import lzma
import string
import sys
from pathlib import Path

import numpy as np
from lingua import IsoCode639_1, LanguageDetectorBuilder
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gnod.analysis import trigrams

TARGET = Path(trigrams.__file__).with_name(trigrams.FILE)
_LEAST = 1e-7


def main() -> None:
    TARGET.write_bytes(lzma.compress(distilled(all_trigrams()).T.tobytes(), preset=9))


def all_trigrams() -> list[str]:
    return list(map("".join, itertools.product(string.ascii_lowercase, repeat=3)))


def distilled(rows: list[str]) -> NDArray[np.uint8]:
    """Return rows of the table. In its low-accuracy mode, lingua uses only trigrams, so a single trigram can be its
    text."""
    members = [getattr(IsoCode639_1, code.upper()) for code in trigrams.LANGUAGES]
    detector = LanguageDetectorBuilder.from_iso_codes_639_1(*members).with_low_accuracy_mode().build()
    shares = np.zeros((len(rows), len(trigrams.LANGUAGES)))
    for row, text in zip(shares, rows, strict=True):
        for each in detector.compute_language_confidence_values(text):
            row[trigrams.LANGUAGES.index(each.language.iso_code_639_1.name.lower())] = each.value
    return np.clip(np.round(-np.log(np.maximum(shares, _LEAST)) * trigrams.STEPS), 0, 255).astype(np.uint8)


if __name__ == "__main__":
    main()
