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

# The stemmer for Serbian handles both alphabets and both standards of Serbian vowels.
_STEMMED_LIKE = {"bs": "sr", "hr": "sr"}

# Languages whose stemmers remove prefixes: a stem may begin inside the word.
PREFIX_STRIPPING = frozenset({"ar", "ga", "id", "nl", "ta", "yi"})

# Stemmers that do not change Latin letters, which all precede _AFTER_LATIN.
_OTHER_SCRIPTS = frozenset({"ar", "el", "hi", "hy", "ne", "ru", "ta", "yi"})
_AFTER_LATIN = "\u0250"

# The language of texts with an unknown language: short notes and source code are mostly English. Every query is also
# analysed in this language, so it finds everything that is indexed in it.
DEFAULT_LANGUAGE = "en"

# Replaces the stemmer for languages that have none; their words are only folded. Not two letters long, because tags of
# two letters name languages.
UNSTEMMED = "none"
# The terms of these languages are pairs of characters. Words in Latin letters between them are mostly English.
_UNSPACED = frozenset({"ja", "km", "ko", "lo", "my", "th", "zh"})

_NUMBERS = {code: number for number, code in enumerate((UNSTEMMED, *sorted(SNOWBALL)))}
# The number for texts of an unknown language. They are stemmed in the default language, but may be in any.
UNKNOWN_NUMBER = len(_NUMBERS)
MOST_STEMMERS = UNKNOWN_NUMBER + 1


def _replacing(letters: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that replaces letters. On a text with few of them, it is ten times as fast as
    `str.translate`."""
    pattern = re.compile(f"[{''.join(letters)}]")
    return lambda text: pattern.sub(lambda found: letters[found[0]], text)


# Other ways to write the letters of a language: two letters for one that is missing on a keyboard, and the Cyrillic
# script. The stemmers for German and Serbian handle them; the marking of words in a text also needs them.
_DANISH = {"aa": "å", "ae": "æ", "oe": "ø"}
_SERBIAN = dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True))
_SERBIAN |= {"љ": "lj", "њ": "nj", "џ": "dž"}
RESPELLED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("da", "nb", "no"), _DANISH),
    "de": {"ae": "ä", "oe": "ö", "ue": "ü"},
    "sr": _SERBIAN,
}
# Snowball's English stemmer gives these words the stem of another word, such as `author`, `import`, `custom`, `engine`
# or `experiment`. The beginnings listed here are used as their stems instead.
_ENGLISH_EXCEPTIONS = re.compile(
    "authori[tz]|consisten|conversation|customer|designat|engineer|executiv|experienc|factorial|importan|informal"
    "|internal|internation|locale|numerous|objectiv|positiv|productivit|publication|relativ|respectiv|responsib|several"
    "|successive|terminal|universal|universit|vertical"
)
# English texts spell letters in foreign names this way.
_TYPED_IN_ENGLISH = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_DIGRAPH = re.compile("|".join(_DANISH))
# Steps that the stemmers of these languages lack. The Arabic one removes a ta marbuta, but not a ha in its place.
_FOR_STEMMERS: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("da", "nb", "no"), lambda word: _DIGRAPH.sub(lambda found: _DANISH[found[0]], word)),
    "ar": lambda word: f"{word[:-1]}ة" if word.endswith("ه") else word,
}
# In these languages, a word without its diacritics usually has a different stem.
_WRITTEN_WITH_MARKS = _OTHER_SCRIPTS
# Arabic letters that look the same or are used for each other, as in Lucene's normalizers for Arabic and Persian.
_ARABIC = {"أإآٱ": "ا", "ىیئې": "ي", "ؤ": "و", "کڪ": "ك", "ةہۃۂۀە": "ه"}
_same_letters = _replacing({letter: one for letters, one in _ARABIC.items() for letter in letters})
# Python lowers the Turkish İ to an i with a combining dot. In capitals, the Armenian և is written with two letters.
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
    """Return the number of the stemmer for a BCP-47 tag, below MOST_STEMMERS. The index stores these numbers."""
    return _NUMBERS[stemming_language(language)] if language else UNKNOWN_NUMBER


def of_all(function: Callable[[str], str], words: Sequence[str]) -> list[str]:
    """Apply a function that works letter by letter to all words in one call. The words must not have line breaks.

    >>> of_all(fold, ["žluťoučký", "kůň"])
    ['zlutoucky', 'kun']
    """
    return function("\n".join(words)).split("\n") if words else []


class Folds(dict[str, str]):
    """Cache of words without diacritics. Stemmers of many languages return the same stems."""

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
        """Return the index form of a word without joiners. The form is empty in all languages or in none, because
        queries combine the forms of a word in several languages.

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
        """Return the stem of the word typed without diacritics; None if it is the same stem.

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
        """Stem many words, up to twenty times as fast as single calls. They must be normalised; ASCII ones must consist
        of letters."""
        if self._snowball is None or (self._keeps_latin and max("".join(words), default="") < _AFTER_LATIN):
            return folds.of(words)
        prepared: Sequence[str] = folds.of(words) if self._is_english else words
        stems = self._snowball.stemWords(list(map(self._respell, prepared)) if self._respell else prepared)
        if self._is_english:
            stems = [_exception(word) or stem for word, stem in zip(prepared, stems, strict=True)]
        return [stem or fold(word).strip() for word, stem in zip(words, folds.of(stems), strict=True)]

    def _folded_stem(self, lower: str) -> str:
        # Accents in English words are often omitted; stemmers of other languages need them.
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
    """Normalise compatibility forms, case, and interchangeable letters: full-width `ＡＢＣ` and `abc` are one word."""
    if word.isascii():
        return word.lower()
    return _same_letters(unicodedata.normalize("NFKC", _capitals(word)).lower())


def fold(word: str) -> str:
    """Remove Latin, Greek and Cyrillic diacritics. Marks of other scripts count as letters and are kept.

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
