"""Reduce a word to its index form: compatibility forms, case, Snowball stem, diacritics.

Source: Snowball (https://snowballstem.org), through PyStemmer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import Stemmer

# ISO 639-1 code to Snowball algorithm.
SNOWBALL = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

# Languages whose stemmers remove prefixes: a stem may begin inside the word.
PREFIX_STRIPPING = frozenset({"ar", "ga", "id", "nl", "ta", "yi"})

# Stemmers that do not change Latin letters. These are stemmed before.
_OTHER_SCRIPTS = frozenset({"ar", "el", "hi", "hy", "ne", "ru", "ta", "yi"})
_AFTER_LATIN = "\u0250"

# The language for unknown ones: short notes and source code are mostly English. Queries are always also analysed in
# this language, so they find everything that is indexed with it.
DEFAULT_LANGUAGE = "en"

# Stands for the stemmer in other languages, whose words are only folded. Tags of two letters name languages.
UNSTEMMED = "none"
# Their words are pairs of characters. Words in Latin letters among them are mostly English.
_UNSPACED = frozenset({"ja", "km", "ko", "lo", "my", "th", "zh"})

_NUMBERS = {code: number for number, code in enumerate((UNSTEMMED, *sorted(SNOWBALL)))}
MOST_STEMMERS = len(_NUMBERS)

_COMBINING_DIACRITICS = re.compile("[\u0300-\u036f]+")
_LETTERS_THAT_DO_NOT_DECOMPOSE = str.maketrans(
    {"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i"}
)


def stemming_language(language: str | None) -> str:
    """Return the code of the stemmer for a BCP-47 tag: its primary subtag, UNSTEMMED, or the default.

    >>> stemming_language("pt-BR"), stemming_language("cs"), stemming_language("zh"), stemming_language(None)
    ('pt', 'none', 'en', 'en')
    """
    primary = (language or "").partition("-")[0].lower()
    if primary in SNOWBALL and SNOWBALL[primary] in _available():
        return primary
    is_known = primary == UNSTEMMED or (len(primary) == 2 and primary not in _UNSPACED)
    return UNSTEMMED if is_known else DEFAULT_LANGUAGE


def stemmer_number(language: str | None) -> int:
    """Return the number of the stemmer for a BCP-47 tag, below MOST_STEMMERS. The index has these numbers."""
    return _NUMBERS[stemming_language(language)]


class Folds(dict[str, str]):
    """Words without diacritics. Stemmers of many languages return the same stems."""

    def __missing__(self, word: str) -> str:
        self[word] = folded = fold(word).strip()
        return folded


class Stem:
    """The stemmer of one language. Not safe for several threads at once (Snowball keeps state)."""

    def __init__(self, language: str | None) -> None:
        # Cache size 0, because the analyser caches whole compounds.
        code = stemming_language(language)
        self._snowball = None if code == UNSTEMMED else Stemmer.Stemmer(SNOWBALL[code], 0)
        self._is_english = code == "en"
        self._keeps_latin = code in _OTHER_SCRIPTS

    def __call__(self, word: str) -> str:
        """Return the index form of a word without joiners. It is empty in all languages or in none: queries combine
        the forms that several languages give a word.

        >>> Stem("en")("Deployments"), Stem("de")("Häuser"), Stem("en")("RÉSUMÉ"), Stem("cs")("Domů")
        ('deploy', 'haus', 'resum', 'domu')
        """
        if word.isascii():
            lower = word.lower()
            return self._stemmed(lower) or lower if lower.isalpha() else lower
        lower = unicodedata.normalize("NFC", normalise(word))
        # Accents in English words are often left out; stemmers of other languages need them.
        stem = fold(self._stemmed(fold(lower) if self._is_english else lower)).strip()
        # The Greek and Nepali stemmers remove some function words completely (όταν, का).
        return stem or fold(lower).strip()

    def of_each(self, words: Sequence[str], folds: Folds) -> list[str]:
        """Do as calls with each word, up to twenty times as fast. The words are normalised, and letters if in ASCII."""
        if self._snowball is None or (self._keeps_latin and max("".join(words), default="") < _AFTER_LATIN):
            return [folds[word] for word in words]
        stems = self._snowball.stemWords([folds[word] for word in words] if self._is_english else words)
        pairs = zip(words, stems, strict=True)
        return [(stem if word.isascii() else folds[stem]) or folds[word] for word, stem in pairs]

    def _stemmed(self, word: str) -> str:
        return word if self._snowball is None else str(self._snowball.stemWord(word))


def normalise(word: str) -> str:
    """Normalise compatibility forms and case: full-width `ＡＢＣ` and `abc` are one word."""
    return unicodedata.normalize("NFKC", word).lower()


def fold(word: str) -> str:
    """Remove the diacritics of Latin, Greek and Cyrillic. Marks of other scripts are letters and stay.

    >>> fold("žluťoučký"), fold("हिन्दी") == "हिन्दी"
    ('zlutoucky', True)
    """
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word.translate(_LETTERS_THAT_DO_NOT_DECOMPOSE))
    return unicodedata.normalize("NFC", _COMBINING_DIACRITICS.sub("", decomposed))


@cache
def _available() -> frozenset[str]:
    return frozenset(Stemmer.algorithms())
