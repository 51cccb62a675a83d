"""Measures which languages and scripts an embedding model can read.

Each language has sample texts (language_samples.json): twelve statements, and for each a question in other words. If a
model reads the language, the vector of a question is nearer to its statement than to the others. `separation` is the
share of pairs for which that holds, both ways (the area under the ROC curve): 1 for a language of its training, about
one half for an unknown one. A model can read a script if it can read a language in it.

The result is stored beside the model's file.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.caches import Computed
from gnod.models.files import Installed

# Increase it when the samples or the measures change, so that models are measured again.
VERSION = 3
# Measured: 1.00 for English and at most .73 for other languages (all-MiniLM-L6-v2); above .8 for 75 of 86 languages and
# .45 for the two scripts that the model cannot read (multilingual-e5-small).
READS = 0.8
# If a model gives all texts the same vector, the deviation would be zero.
_LEAST_DEVIATION = 0.001
# With this many documents, the mean of an index has half the weight that it has with very many.
_FEW_DOCUMENTS = 50
# The script of a text is decided by this many of its letters.
_SAMPLE_CHARACTERS = 500

Vectors = NDArray[np.float32]


class LanguageSample(msgspec.Struct, frozen=True):
    """Parallel texts: question i asks about statement i, in all languages."""

    statements: list[str]
    questions: list[str]


class LanguageReading(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements for one language. `separation` in [0, 1]. `centre`: the mean vector of the statements, as
    float32. `deviation`: the standard deviation of the cosines between a question and the statements it does not ask
    about."""

    separation: float
    centre: bytes
    deviation: float


class Unrelated(NamedTuple):
    """The mean and standard deviation of the cosines between a query and unrelated texts."""

    mean: float
    deviation: float

    def within(self, mean: float, documents: int) -> Unrelated:
        """Return the values for an index whose documents have this mean. Texts of one field are nearer to every query
        of the field, even if they do not answer it. With many documents, the result is halfway to their mean. A few
        documents say little."""
        known = documents / (documents + _FEW_DOCUMENTS)
        return self._replace(mean=self.mean + known * max(mean - self.mean, 0.0) / 2)

    def nearness(self, cosine: float) -> float:
        """Return how much nearer a text is than unrelated ones, in standard deviations."""
        return (cosine - self.mean) / max(self.deviation, _LEAST_DEVIATION)


class Readability(msgspec.Struct, frozen=True, kw_only=True):
    """`languages`: by ISO 639-1 code. `scripts`: the best separation of any language in each script. `model`:
    identifies the measured file (`stamp`)."""

    version: int
    model: str
    languages: dict[str, LanguageReading]
    scripts: dict[str, float]

    def reads(self, language: str) -> bool:
        """Return whether the model was trained on a language; False if it was not measured."""
        return language in self.languages and self.languages[language].separation >= READS

    def can_read_language(self, language: str | None) -> bool:
        """Return whether the model can compare texts in a language at all, because it reads the script. True if
        unknown."""
        return language not in self.languages or self.can_read_script(script_of_language(language or ""))

    def can_read_script(self, script: str) -> bool:
        """Return whether the model can read a script; True if it was not measured."""
        return self.scripts.get(script, 1.0) >= READS

    def unrelated(self, query: Vectors, language: str | None) -> Unrelated | None:
        """Return how near a query is to unrelated texts in a language; None if the model was not trained on the
        language. A language that was not measured counts as English."""
        code = language if language in self.languages else "en"
        if not self.reads(code):
            return None
        reading = self.languages[code]
        return Unrelated(float(query @ np.frombuffer(reading.centre, np.float32)), reading.deviation)

    def can_read(self, text: str) -> bool:
        """Return whether the model can read the script of most letters of a text."""
        script = script_of(text)
        return script is None or self.can_read_script(script)


Embed = Callable[[LanguageSample], Awaitable[tuple[Vectors, Vectors]]]
"""Returns the vectors of the questions and those of the statements."""


def stamp(installed: Installed) -> str:
    """Return a string that changes with the model's file."""
    return f"{installed.bytes} {installed.fetched_at:.0f}"


def load(path: Path, installed: Installed) -> Readability | None:
    """Return the stored measurement of a model; None if it is missing or of another version of the file."""
    try:
        known = msgspec.json.decode(path.read_bytes(), type=Readability)
    except (OSError, msgspec.DecodeError):
        return None
    return known if (known.version, known.model) == (VERSION, stamp(installed)) else None


def save(path: Path, readability: Readability) -> None:
    """Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(readability), indent=1) + b"\n")
    new.replace(path)


async def measure(installed: Installed, embed: Embed) -> Readability:
    """Measure a model. Raises what `embed` raises."""
    found = {language: _reading(*await embed(sample)) for language, sample in samples().items()}
    scripts: dict[str, float] = {}
    for language, reading in found.items():
        script = script_of_language(language)
        scripts[script] = max(scripts.get(script, 0.0), reading.separation)
    return Readability(version=VERSION, model=stamp(installed), languages=found, scripts=scripts)


def script_of(text: str) -> str | None:
    """Return the Unicode name of the script of most letters; None without letters. Kana counts as Han, since Japanese
    uses both.

    >>> script_of("Москва 1980"), script_of("東京タワー"), script_of("42")
    ('CYRILLIC', 'HAN', None)
    """
    counts = Counter(_scripts[letter] for letter in text[:_SAMPLE_CHARACTERS] if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


@cache
def samples() -> dict[str, LanguageSample]:
    """Return the sample texts by language."""
    data = resources.files("gnod.models").joinpath("language_samples.json").read_bytes()
    return msgspec.json.decode(data, type=dict[str, LanguageSample])


@cache
def script_of_language(language: str) -> str:
    return script_of(" ".join(samples()[language].statements)) or ""


def _script_of_letter(letter: str) -> str:
    """Return the first word of the letter's name: "LATIN SMALL LETTER A"."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return "HAN" if script in ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH", "KATAKANA-HIRAGANA") else script


_scripts = Computed(_script_of_letter)


def _reading(questions: Vectors, statements: Vectors) -> LanguageReading:
    cosines = questions @ statements.T
    right, count = np.diag(cosines), len(cosines)
    wins = int(np.count_nonzero(cosines < right[:, None]) + np.count_nonzero(cosines < right[None, :]))
    return LanguageReading(
        separation=round(wins / (2 * count * (count - 1)), 3),
        centre=statements.mean(axis=0, dtype=np.float32).tobytes(),
        deviation=_deviation(cosines),
    )


def _deviation(cosines: Vectors) -> float:
    """Return the standard deviation of the cosines between a question and the other statements. Differences between
    questions in their mean cosine do not count."""
    count = len(cosines)
    others = cosines[~np.eye(count, dtype=bool)].reshape(count, count - 1)
    return round(float(np.sqrt(others.var(axis=1, ddof=1).mean())), 4)


def is_read_by_every_model(language: str | None, script: str | None) -> bool:
    """Return whether a text needs no measurement: English, or Latin letters in an unknown language."""
    return language in (None, "en") and script in (None, "LATIN")


def unread_scripts(readability: Readability) -> Sequence[str]:
    """Return the measured scripts that the model cannot read."""
    return sorted(script for script in readability.scripts if not readability.can_read_script(script))
