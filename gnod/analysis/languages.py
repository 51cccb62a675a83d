"""Detect the language of a text: its script and letters leave some candidates, of which lingua chooses.

lingua runs in its low-accuracy mode (at most 60 MB instead of 548 MB) and loads only the models of the candidates. All
of its 75 languages are told apart. Converter workers detect the language of documents, the daemon that of queries.
"""

from __future__ import annotations

import re
import time
from functools import cache, lru_cache

from lingua import IsoCode639_1, LanguageDetector, LanguageDetectorBuilder

from gnod.analysis import alphabets, close_languages
from gnod.analysis.alphabets import candidates
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words

# In ASCII, shorter texts give no clear answer, and source code with fewer letters has more names than words. Other
# letters tell more.
_MIN_LETTERS = 24
_MIN_LETTERS_IN_CODE = 120
_CODE = re.compile(r"[_=(){}\[\];<>]")
_CODE_SHARE = 0.03
# Longer samples are slower and not more accurate: with 1,500 characters, lingua took 40 % of the indexing time.
_SAMPLE_CHARACTERS = 500
# How much likelier than the next a language must be if the text may be English: lingua takes names and source code for
# other languages.
_MIN_RELATIVE_DISTANCE = 0.5
# How many detectors, each for one set of candidates, are kept: 0.03 MB each, since all share lingua's models.
_DETECTORS = 64
# English: this share of common words, in a sample of this many words.
_ENGLISH_SHARE = 0.15
_ENGLISH_LENGTH = 10
# Function words of one letter are words of many languages.
_ENGLISH_WORDS = frozenset(word for word in ENGLISH_FUNCTION_WORDS if len(word) > 1) | {
    *("as", "at", "by", "for", "from", "if", "into", "not", "on", "with")
}
# Words that no other language in Latin letters has, and how many words a text of one or two lines has at most.
_ENGLISH_ONLY = frozenset(
    {
        *("could", "does", "from", "how", "should", "that", "the", "their", "these", "they", "this", "those", "what"),
        *("when", "where", "which", "who", "why", "with", "would", "you", "your"),
    }
)
_ENGLISH_LINE = 30
# Lists of English or scientific words look like Latin to lingua, but have none of these.
_LATIN = re.compile(r"\b(?:ad|cum|esse|est|et|non|quae|quam|qui|quod|sed|sit|sunt|ut)\b", re.IGNORECASE)
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
    if _is_english(sample):
        return "en"
    head = text[:_SAMPLE_CHARACTERS]
    least = _MIN_LETTERS_IN_CODE if len(_CODE.findall(head)) > _CODE_SHARE * len(head) else _MIN_LETTERS
    if sum(map(str.isalpha, sample)) < (least if sample.isascii() else _MIN_LETTERS // 3):
        return None
    return _detect(sample, candidates(sample))


def detect_query(text: str) -> str | None:
    """Return the ISO 639-1 code of a query's language; None for a short or unclear one.

    Function words decide between English and German if they can, otherwise lingua decides: it takes 35 of 300 English
    queries such as `how to check for eof in python` for German. Call it in a thread: the first call loads up to 50
    MB in half a second.
    """
    sample = prose_sample(text)
    if len(sample) < _MIN_QUERY_CHARACTERS:
        return None
    if not _FOREIGN_LETTER.search(sample):
        words = sample.lower().split()
        english, german = (len(function_words(words, [code]) - _ENGLISH_AND_GERMAN) for code in ("en", "de"))
        if english != german:
            return "en" if english > german else "de"
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


def _is_english(sample: str) -> bool:
    """Recognise English without lingua, which takes a millisecond per document. A quarter of English prose, and two
    thirds of technical notes at least a sixth, are these words; in other languages hardly a tenth."""
    words = sample.lower().split()
    count = sum(word in _ENGLISH_WORDS for word in words)
    is_likely = len(words) >= _ENGLISH_LENGTH and count > _ENGLISH_SHARE * len(words)
    if is_likely and (sample.isascii() or "en" in candidates(sample)):
        return True
    # In a note of one line lingua finds Dutch or German. A name may have letters that English has not.
    certain = sum(word in _ENGLISH_ONLY for word in words)
    return len(words) < _ENGLISH_LINE and (certain > 1 or (certain == 1 and sample.isascii()))


def prose_sample(text: str) -> str:
    """Return the beginning of the text without code, addresses and markup."""
    head = text[: _SAMPLE_CHARACTERS * 6]
    return " ".join(_NOT_PROSE.sub(" ", _FENCED.sub(" ", head)).split())[:_SAMPLE_CHARACTERS]


@cache
def _load(code: str) -> None:
    """Load lingua's model of a language in Latin letters; all detectors share it. Loading holds the GIL, and loading
    fifty at once would block the daemon for 0.7 s and take 10 MB more. The models of other scripts load in 0.05 s."""
    if code in alphabets.LATIN and code != "en":
        _detector(("en", code)).detect_language_of("any text")
        time.sleep(0)


@lru_cache(_DETECTORS)
def _detector(codes: tuple[str, ...], distance: float = 0.0) -> LanguageDetector:
    members = [getattr(IsoCode639_1, code.upper()) for code in codes]
    return (
        LanguageDetectorBuilder.from_iso_codes_639_1(*members)
        .with_low_accuracy_mode()
        .with_minimum_relative_distance(distance)
        .build()
    )
