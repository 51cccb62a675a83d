"""Detect the language of a text: its script and letters leave some candidates, and lingua chooses one.

lingua runs in its low-accuracy mode (at most 60 MB instead of 548 MB) and loads only the models of the candidates. It
distinguishes all of its 75 languages. Because it always returns a language, even for a list of names, the words of the
text must confirm the result. The converter workers use this module; the daemon uses `short_texts`, which needs less
memory.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder

from gnod.analysis import alphabets, common_words
from gnod.analysis.alphabets import candidates
from gnod.analysis.prose import ENGLISH_WORDS, SAMPLE_CHARACTERS, is_english, is_plainly_english, prose_sample
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS

# Shorter texts give no clear answer. Letters beyond ASCII say more, and source code contains more names.
_MIN_LETTERS, _MIN_LETTERS_IN_ASCII, _MIN_LETTERS_IN_CODE = 8, 16, 120
_CODE = re.compile(r"[_=(){}\[\];<>]")
_CODE_SHARE = 0.05
# In a text in a language, more than this share of the words are common words of that language. Messages of programs
# have few of them.
_COMMON_SHARE = 0.03
_ALSO_ENGLISH = ENGLISH_FUNCTION_WORDS | ENGLISH_WORDS
# Otherwise, more than this share of the words, without the shortest, must be in lower case and not English: names are
# capitalised, and keywords are mostly English.
_FOREIGN_SHARE = 0.6
_MIN_WORD = 3
# If a text has letters that English does not use, it is enough that at most this share of its words is capitalised.
_NAMES_SHARE = 0.85
# Keep this many detectors, each for one set of candidates: 0.03 MB each, since all share lingua's models.
_DETECTORS = 64
# lingua takes lists of English or scientific words for Latin, but they contain none of these words.
_LATIN = re.compile(r"\b(?:ad|cum|esse|est|et|non|quae|quam|qui|quod|sed|sit|sunt|ut)\b", re.IGNORECASE)


def detect(text: str) -> str | None:
    """Return the ISO 639-1 code of a Markdown text's language; None for short, mixed or unclear text, and for lists of
    names."""
    if is_plainly_english(text):
        return "en"
    sample = prose_sample(text)
    if is_english(sample):
        return "en"
    head = text[:SAMPLE_CHARACTERS]
    least = _MIN_LETTERS_IN_CODE if len(_CODE.findall(head)) > _CODE_SHARE * len(head) else _MIN_LETTERS_IN_ASCII
    if sum(map(str.isalpha, sample)) < (least if sample.isascii() else _MIN_LETTERS):
        return None
    possible = candidates(sample)
    language = _likeliest(sample, possible)
    return language if language and _shows(sample, language, possible) else None


def _likeliest(sample: str, possible: list[str]) -> str | None:
    if "la" in possible and not _LATIN.search(sample):
        possible.remove("la")
    if len(possible) < 2:
        return possible[0] if possible else None
    for code in possible:
        _load(code)
    language = _detector(tuple(possible)).detect_language_of(sample)
    return None if language is None else common_words.told_apart(sample, language.iso_code_639_1.name.lower())


def _shows(sample: str, language: str, possible: list[str]) -> bool:
    """Return whether the words of a sample show that it is in a language and is not a list of names."""
    words = common_words.words(sample)
    common = sum(common_words.is_of(word, language) and word not in _ALSO_ENGLISH for word in words)
    if language == "en" or common > _COMMON_SHARE * len(words):
        return True
    if "en" not in possible:
        return sum(word[0].isupper() for word in words) < _NAMES_SHARE * len(words)
    from gnod.analysis.dictionaries import has_word  # needs numpy: 12 MB and 0.1 s, which most texts do not need

    longer = [word for word in words if len(word) >= _MIN_WORD]
    return sum(word.islower() and not has_word(word, ["en"]) for word in longer) > _FOREIGN_SHARE * len(longer)


@cache
def _load(code: str) -> None:
    """Load lingua's model of a language in Latin letters; all detectors share it. Loading fifty at once would take 10
    MB more."""
    if code in alphabets.LATIN and code != "en":
        _detector(("en", code)).detect_language_of("any text")


@lru_cache(_DETECTORS)
def _detector(codes: tuple[str, ...]) -> LanguageDetector:
    members = [getattr(IsoCode639_1, code.upper()) for code in codes]
    return LanguageDetectorBuilder.from_iso_codes_639_1(*members).with_low_accuracy_mode().build()
