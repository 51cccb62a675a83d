"""Reduce a word to its index form: compatibility forms, case, Snowball stem, diacritics.

Source: Snowball (https://snowballstem.org), through PyStemmer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
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

# The stemmer for Serbian reads both alphabets and both standards of its vowels.
_STEMMED_LIKE = {"bs": "sr", "hr": "sr"}

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
# Texts of which the language is unknown. They may be in any, although they are stemmed in the default language.
UNKNOWN_NUMBER = len(_NUMBERS)
MOST_STEMMERS = UNKNOWN_NUMBER + 1


def _replacing(letters: Mapping[str, str]) -> Callable[[str], str]:
    """Return what replaces letters: where a text has few of them, ten times as fast as `str.translate`."""
    pattern = re.compile(f"[{''.join(letters)}]")
    return lambda text: pattern.sub(lambda found: letters[found[0]], text)


# Other ways to write the letters of a language: two letters where a keyboard does not have one, and the Cyrillic
# script. The stemmers for German and Serbian know them; marking words in a text needs them too.
_DANISH = {"aa": "å", "ae": "æ", "oe": "ø"}
_SERBIAN = dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True))
_SERBIAN |= {"љ": "lj", "њ": "nj", "џ": "dž"}
RESPELLED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("da", "nb", "no"), _DANISH),
    "de": {"ae": "ä", "oe": "ö", "ue": "ü"},
    "sr": _SERBIAN,
}
# Snowball's English stemmer gives these words the stem of another word: that of `author`, `import`, `custom`,
# `engine`, `experiment` and so on. Their stem is what is here of them.
_ENGLISH_EXCEPTIONS = re.compile(
    "authori[tz]|consisten|conversation|customer|designat|engineer|executiv|experienc|factorial|importan|informal"
    "|internal|internation|locale|numerous|objectiv|positiv|productivit|publication|relativ|respectiv|responsib|several"
    "|successive|terminal|universal|universit|vertical"
)
# How names from other languages are typed in English.
_TYPED_IN_ENGLISH = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_DIGRAPH = re.compile("|".join(_DANISH))
# What the stemmers of these languages do not do themselves. The one for Arabic removes a ta marbuta, but not a ha in
# its place.
_FOR_STEMMERS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("da", "nb", "no"), lambda word: _DIGRAPH.sub(lambda found: _DANISH[found[0]], word)),
    "ar": lambda word: f"{word[:-1]}ة" if word.endswith("ه") else word,
}
# In these languages, a word without its diacritics usually has another stem.
_WRITTEN_WITH_MARKS = _OTHER_SCRIPTS
# Letters that look the same or are used for each other, by script. Arabic: as in Lucene's normalizers for Arabic and
# Persian.
_ARABIC = {"أإآٱ": "ا", "ىیئې": "ي", "ؤ": "و", "کڪ": "ك", "ةہۃۂۀە": "ه"}
_same_letters = _replacing({letter: one for letters, one in _ARABIC.items() for letter in letters})
# The lower case of the Turkish İ would be an i with a combining dot; capitals have two letters for the Armenian և.
_capitals = _replacing({"İ": "i", "և": "եվ"})
_COMBINING_DIACRITICS = re.compile("[\u0300-\u036f]+")
_decomposed_letters = _replacing(
    {"ß": "ss", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i", "ə": "e", "ħ": "h", "ð": "d", "þ": "th"}
)


def stemming_language(language: str | None) -> str:
    """Return the code of the stemmer for a BCP-47 tag: its primary subtag, UNSTEMMED, or the default.

    >>> stemming_language("pt-BR"), stemming_language("cs"), stemming_language("zh"), stemming_language(None)
    ('pt', 'none', 'en', 'en')
    """
    primary = (language or "").partition("-")[0].lower()
    primary = _STEMMED_LIKE.get(primary, primary)
    if primary in SNOWBALL and SNOWBALL[primary] in _available():
        return primary
    is_known = primary == UNSTEMMED or (len(primary) == 2 and primary not in _UNSPACED)
    return UNSTEMMED if is_known else DEFAULT_LANGUAGE


def stemmer_number(language: str | None) -> int:
    """Return the number of the stemmer for a BCP-47 tag, below MOST_STEMMERS. The index has these numbers."""
    return _NUMBERS[stemming_language(language)] if language else UNKNOWN_NUMBER


def of_all(function: Callable[[str], str], words: Sequence[str]) -> list[str]:
    """Return what a function of single letters makes of each word, all in one call. They have no line breaks.

    >>> of_all(fold, ["žluťoučký", "kůň"])
    ['zlutoucky', 'kun']
    """
    return function("\n".join(words)).split("\n") if words else []


class Folds(dict[str, str]):
    """Words without diacritics. Stemmers of many languages return the same stems."""

    def of(self, words: Sequence[str]) -> list[str]:
        new = list({word for word in words if word not in self})
        self.update(zip(new, map(str.strip, of_all(fold, new)), strict=True))
        return [self[word] for word in words]


class Stem:
    """The stemmer of one language. Not safe for several threads at once (Snowball keeps state)."""

    def __init__(self, language: str | None) -> None:
        # Cache size 0, because the analyser caches whole compounds.
        code = stemming_language(language)
        self._snowball = None if code == UNSTEMMED else Stemmer.Stemmer(SNOWBALL[code], 0)
        self._is_english = code == "en"
        self._keeps_latin = code in _OTHER_SCRIPTS
        self._is_written_with_marks = code in _WRITTEN_WITH_MARKS
        self._respell = _FOR_STEMMERS.get(code)

    def __call__(self, word: str) -> str:
        """Return the index form of a word without joiners. It is empty in all languages or in none: queries combine
        the forms that several languages give a word.

        >>> Stem("en")("Deployments"), Stem("de")("Häuser"), Stem("en")("RÉSUMÉ"), Stem("cs")("Domů")
        ('deploy', 'haus', 'resum', 'domu')
        """
        if word.isascii():
            lower = word.lower()
            return fold(self._stemmed(lower)) or lower if lower.isalpha() else lower
        lower = unicodedata.normalize("NFC", normalise(word))
        # The Greek and Nepali stemmers remove some function words completely (όταν, का).
        return self._folded_stem(lower) or fold(lower).strip()

    def typed(self, word: str) -> str | None:
        """Return the stem of a word as it is typed without diacritics, where that is another one.

        >>> Stem("ro")("orașe"), Stem("ro").typed("orașe"), Stem("en").typed("Müller")
        ('oras', 'ora', 'mueller')
        """
        if word.isascii() or self._is_written_with_marks:
            return None
        lower = unicodedata.normalize("NFC", normalise(word))
        plain = fold(lower.translate(_TYPED_IN_ENGLISH) if self._is_english else lower)
        stem = self._stemmed(plain) if plain.isascii() else ""
        return stem if stem != self._folded_stem(lower) else None

    def of_each(self, words: Sequence[str], folds: Folds) -> list[str]:
        """Do as calls with each word, up to twenty times as fast. The words are normalised, and letters if in ASCII."""
        if self._snowball is None or (self._keeps_latin and max("".join(words), default="") < _AFTER_LATIN):
            return folds.of(words)
        prepared: Sequence[str] = folds.of(words) if self._is_english else words
        stems = self._snowball.stemWords(list(map(self._respell, prepared)) if self._respell else prepared)
        if self._is_english:
            stems = [_exception(word) or stem for word, stem in zip(prepared, stems, strict=True)]
        return [stem or fold(word).strip() for word, stem in zip(words, folds.of(stems), strict=True)]

    def _folded_stem(self, lower: str) -> str:
        # Accents in English words are often left out; stemmers of other languages need them.
        return fold(self._stemmed(fold(lower) if self._is_english else lower)).strip()

    def _stemmed(self, word: str) -> str:
        if self._respell:
            word = self._respell(word)
        exception = _exception(word) if self._is_english else None
        return exception or (word if self._snowball is None else str(self._snowball.stemWord(word)))


def _exception(word: str) -> str | None:
    found = _ENGLISH_EXCEPTIONS.match(word)
    return found[0] if found else None


def normalise(word: str) -> str:
    """Normalise compatibility forms, case, and letters that are used for each other: full-width `ＡＢＣ` and `abc` are
    one word."""
    if word.isascii():
        return word.lower()
    return _same_letters(unicodedata.normalize("NFKC", _capitals(word)).lower())


def fold(word: str) -> str:
    """Remove the diacritics of Latin, Greek and Cyrillic. Marks of other scripts are letters and stay.

    >>> fold("žluťoučký"), fold("हिन्दी") == "हिन्दी"
    ('zlutoucky', True)
    """
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", _decomposed_letters(word))
    return unicodedata.normalize("NFC", _COMBINING_DIACRITICS.sub("", decomposed))


@cache
def _available() -> frozenset[str]:
    return frozenset(Stemmer.algorithms())
