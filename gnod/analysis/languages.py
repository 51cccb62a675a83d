"""Which language a text is written in, by lingua in its low-accuracy mode (33 MB instead of 548, measured).

Documents are looked at in the converter workers, queries in the daemon. Only languages that a stemmer or character
pairs serve are told apart.
"""

from __future__ import annotations

import re
import time
from functools import cache

from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder

from gnod.analysis.stemming import SNOWBALL
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words

_UNSPACED_LANGUAGES = ("zh", "ja", "ko", "th")
_MIN_LETTERS = 120
# Longer samples cost more and decide no more often: lingua took 40 % of all indexing with 1,500 characters.
_SAMPLE_CHARACTERS = 500
_MIN_RELATIVE_DISTANCE = 0.1
_PLAINLY = 0.22
_PLAINLY_WORDS = 30
# Below, a query's language is anybody's guess.
_MIN_QUERY_CHARACTERS = 15
# Function words of English and German alike; and letters of neither.
_ENGLISH_AND_GERMAN = frozenset({"am", "an", "die", "hat", "in", "man", "so", "war", "was", "will"})
_FOREIGN_LETTER = re.compile("[^\x00-\x7fäöüßÄÖÜ\u2000-\u206f]")

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"https?://\S+|`[^`\n]*`|<[^>\n]*>|\w+[_/.@]\w+\S*|[#*|=\-_>\[\](){}]+|\d+")


def detect(text: str) -> str | None:
    """Return the ISO 639-1 code of a Markdown text's language; None for short, mixed or unclear text."""
    sample = prose_sample(text)
    if sum(map(str.isalpha, sample)) < (_MIN_LETTERS if sample.isascii() else _MIN_LETTERS // 3):
        return None
    if _is_plainly_english(sample):
        return "en"
    found = _detector().detect_language_of(sample)
    return None if found is None else found.iso_code_639_1.name.lower()


def detect_query(text: str) -> str | None:
    """Return the ISO 639-1 code of a query's language; None for a short or unclear one.

    Function words decide between English and German where they can, lingua the rest: it calls `how to check for eof in
    python` German, and 35 of 300 such queries. To be called in a thread: the first call that asks lingua loads 28 MB
    in half a second.
    """
    sample = prose_sample(text)
    if len(sample) < _MIN_QUERY_CHARACTERS:
        return None
    if not _FOREIGN_LETTER.search(sample):
        words = sample.lower().split()
        english, german = (len(function_words(words, [code]) - _ENGLISH_AND_GERMAN) for code in ("en", "de"))
        if english != german:
            return "en" if english > german else "de"
    _load_in_slices()
    found = _detector().detect_language_of(sample)
    return None if found is None else found.iso_code_639_1.name.lower()


def _is_plainly_english(sample: str) -> bool:
    """Save most documents two milliseconds, a third of all indexing: a third of English prose are its function words,
    and hardly a tenth of any other language are."""
    words = sample.lower().split()
    return len(words) >= _PLAINLY_WORDS and sum(word in ENGLISH_FUNCTION_WORDS for word in words) > _PLAINLY * len(
        words
    )


def prose_sample(text: str) -> str:
    """Return the first part of the text without code, addresses and markup."""
    head = text[: _SAMPLE_CHARACTERS * 6]
    return " ".join(_NOT_PROSE.sub(" ", _FENCED.sub(" ", head)).split())[:_SAMPLE_CHARACTERS]


@cache
def _load_in_slices() -> None:
    """Load lingua's models one language at a time, all detectors share them: a call holds Python's lock as long as it
    loads, which would be 0.7 s for all at once (measured), in which a daemon could do nothing else."""
    for other in _languages():
        if other is not IsoCode639_1.EN:
            pair = LanguageDetectorBuilder.from_iso_codes_639_1(IsoCode639_1.EN, other).with_low_accuracy_mode()
            pair.build().detect_language_of("what is said here")
            time.sleep(0)


@cache
def _detector() -> LanguageDetector:
    return (
        LanguageDetectorBuilder.from_iso_codes_639_1(*_languages())
        .with_low_accuracy_mode()
        .with_minimum_relative_distance(_MIN_RELATIVE_DISTANCE)
        .build()
    )


def _languages() -> list[IsoCode639_1]:
    # lingua knows no Nepali and no Yiddish, and calls Norwegian Bokmål.
    codes = {code.upper() for code in (*SNOWBALL, *_UNSPACED_LANGUAGES)}
    return [member for name, member in sorted(vars(IsoCode639_1).items()) if name in codes]
