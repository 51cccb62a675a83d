"""Detect the language of a text: its script and letters leave some candidates, of which lingua chooses.

lingua runs in its low-accuracy mode (at most 60 MB instead of 548 MB) and loads only the models of the candidates. All
of its 75 languages are told apart. This is for the converter workers; the daemon has `short_texts`, which needs less
memory.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder

from gnod.analysis import alphabets, close_languages
from gnod.analysis.alphabets import candidates
from gnod.analysis.prose import SAMPLE_CHARACTERS, is_english, is_plainly_english, prose_sample

# In ASCII, shorter texts give no clear answer, and source code with fewer letters has more names than words. Other
# letters tell more.
_MIN_LETTERS = 24
_MIN_LETTERS_IN_CODE = 120
_CODE = re.compile(r"[_=(){}\[\];<>]")
_CODE_SHARE = 0.03
# How much likelier than the next a language must be if the text may be English: lingua takes names and source code for
# other languages.
_MIN_RELATIVE_DISTANCE = 0.5
# Keep this many detectors, each for one set of candidates: 0.03 MB each, since all share lingua's models.
_DETECTORS = 64
# Lists of English or scientific words look like Latin to lingua, but have none of these.
_LATIN = re.compile(r"\b(?:ad|cum|esse|est|et|non|quae|quam|qui|quod|sed|sit|sunt|ut)\b", re.IGNORECASE)


def detect(text: str) -> str | None:
    """Return the ISO 639-1 code of a Markdown text's language; None for short, mixed or unclear text."""
    if is_plainly_english(text):
        return "en"
    sample = prose_sample(text)
    if is_english(sample):
        return "en"
    head = text[:SAMPLE_CHARACTERS]
    least = _MIN_LETTERS_IN_CODE if len(_CODE.findall(head)) > _CODE_SHARE * len(head) else _MIN_LETTERS
    if sum(map(str.isalpha, sample)) < (least if sample.isascii() else _MIN_LETTERS // 3):
        return None
    return _detect(sample, candidates(sample))


def _detect(sample: str, possible: list[str]) -> str | None:
    distance = _MIN_RELATIVE_DISTANCE if "en" in possible else 0.0
    if "la" in possible and not _LATIN.search(sample):
        possible.remove("la")
    if len(possible) < 2:
        return possible[0] if possible else None
    for code in possible:
        _load(code)
    language = _detector(tuple(possible), distance).detect_language_of(sample)
    return None if language is None else close_languages.told_apart(sample, language.iso_code_639_1.name.lower())


@cache
def _load(code: str) -> None:
    """Load lingua's model of a language in Latin letters; all detectors share it. To load fifty at once would take 10
    MB more."""
    if code in alphabets.LATIN and code != "en":
        _detector(("en", code)).detect_language_of("any text")


@lru_cache(_DETECTORS)
def _detector(codes: tuple[str, ...], distance: float = 0.0) -> LanguageDetector:
    members = [getattr(IsoCode639_1, code.upper()) for code in codes]
    return (
        LanguageDetectorBuilder.from_iso_codes_639_1(*members)
        .with_low_accuracy_mode()
        .with_minimum_relative_distance(distance)
        .build()
    )
