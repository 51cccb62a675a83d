"""Which language a text is written in, by lingua in its low-accuracy mode (33 MB instead of 548, measured).

Runs in the converter workers. Only languages that a stemmer or character pairs serve are told apart.
"""

from __future__ import annotations

import re
from functools import cache

from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder

from gnod.analysis.stemming import SNOWBALL
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS

_UNSPACED_LANGUAGES = ("zh", "ja", "ko", "th")
_MIN_LETTERS = 120
# Longer samples cost more and decide no more often: lingua took 40 % of all indexing with 1,500 characters.
_SAMPLE_CHARACTERS = 500
_MIN_RELATIVE_DISTANCE = 0.1
_PLAINLY = 0.22
_PLAINLY_WORDS = 30

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
def _detector() -> LanguageDetector:
    # lingua knows no Nepali and no Yiddish, and calls Norwegian Bokmål.
    codes = {code.upper() for code in (*SNOWBALL, *_UNSPACED_LANGUAGES)}
    wanted = [member for name, member in sorted(vars(IsoCode639_1).items()) if name in codes]
    return (
        LanguageDetectorBuilder.from_iso_codes_639_1(*wanted)
        .with_low_accuracy_mode()
        .with_minimum_relative_distance(_MIN_RELATIVE_DISTANCE)
        .build()
    )
