"""Detect the language of a text, with lingua in its low-accuracy mode (33 MB instead of 548 MB).

Converter workers detect the language of documents, the daemon that of queries. Only languages with a stemmer and
unspaced languages are distinguished.
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
# Longer samples are slower and not more accurate: with 1,500 characters, lingua took 40 % of the indexing time.
_SAMPLE_CHARACTERS = 500
_MIN_RELATIVE_DISTANCE = 0.1
# English: this share of function words, in a sample of this many words.
_ENGLISH_SHARE = 0.22
_ENGLISH_WORDS = 30
# The language of a shorter query is unclear.
_MIN_QUERY_CHARACTERS = 15
# Function words of both English and German; letters of neither.
_ENGLISH_AND_GERMAN = frozenset({"am", "an", "die", "hat", "in", "man", "so", "war", "was", "will"})
_FOREIGN_LETTER = re.compile("[^\x00-\x7fäöüßÄÖÜ\u2000-\u206f]")

_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"https?://\S+|`[^`\n]*`|<[^>\n]*>|\w+[_/.@]\w+\S*|[#*|=\-_>\[\](){}]+|\d+")


def detect(text: str) -> str | None:
    """Return the ISO 639-1 code of a Markdown text's language; None for short, mixed or unclear text."""
    sample = prose_sample(text)
    if sum(map(str.isalpha, sample)) < (_MIN_LETTERS if sample.isascii() else _MIN_LETTERS // 3):
        return None
    if _is_english(sample):
        return "en"
    return _detect(sample)


def detect_query(text: str) -> str | None:
    """Return the ISO 639-1 code of a query's language; None for a short or unclear one.

    Function words decide between English and German if they can, otherwise lingua decides: it takes 35 of 300 English
    queries such as `how to check for eof in python` for German. Call it in a thread: lingua's first call loads 28 MB in
    half a second.
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
    return _detect(sample)


def _detect(sample: str) -> str | None:
    language = _detector().detect_language_of(sample)
    return None if language is None else language.iso_code_639_1.name.lower()


def _is_english(sample: str) -> bool:
    """Recognise English without lingua, which saves two milliseconds per document, a third of the indexing time. A
    third of English prose are English function words, in other languages hardly a tenth."""
    words = sample.lower().split()
    count = sum(word in ENGLISH_FUNCTION_WORDS for word in words)
    return len(words) >= _ENGLISH_WORDS and count > _ENGLISH_SHARE * len(words)


def prose_sample(text: str) -> str:
    """Return the beginning of the text without code, addresses and markup."""
    head = text[: _SAMPLE_CHARACTERS * 6]
    return " ".join(_NOT_PROSE.sub(" ", _FENCED.sub(" ", head)).split())[:_SAMPLE_CHARACTERS]


@cache
def _load_in_slices() -> None:
    """Load lingua's models one language at a time; all detectors share them. Loading holds the GIL, and loading all at
    once would block the daemon for 0.7 s."""
    for other in _languages():
        if other is not IsoCode639_1.EN:
            pair = LanguageDetectorBuilder.from_iso_codes_639_1(IsoCode639_1.EN, other).with_low_accuracy_mode()
            pair.build().detect_language_of("any text")
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
    # lingua has no Nepali, no Yiddish, and Bokmål for Norwegian.
    codes = {code.upper() for code in (*SNOWBALL, *_UNSPACED_LANGUAGES)}
    return [member for name, member in sorted(vars(IsoCode639_1).items()) if name in codes]
