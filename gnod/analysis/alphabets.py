"""Find the languages that a text can be in from its script and letters. Pure: no models, no statistics.

The letters of each language come from its orthography (the exemplar characters of Unicode's CLDR). The list contains
only languages that lingua supports, so that both give the same codes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache

from gnod.caches import Computed

# Unicode names of the scripts that only one language uses.
_ONE_LANGUAGE = {
    "ARMENIAN": "hy",
    "BENGALI": "bn",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
}
# In a Japanese text, at least this share of the kana and Han characters is kana. A Chinese text may quote a few kana.
_KANA_SHARE = 0.1

_RUSSIAN = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
_SOUTH_SLAVIC = "абвгдежзиклмнопрстуфхцчш"
# Letters by script and language. Latin omits a to z. Devanagari lists only the letters that one language alone uses.
_LETTERS = {
    "LATIN": {
        "af": "áèéêëíîïóôöúûüý",
        "az": "çəğıöşü",
        "bs": "ćčđšž",
        "ca": "àçèéíïòóúü",
        "cs": "áčďéěíňóřšťúůýž",
        "cy": "àáâäèéêëìíîïòóôöùúûüŵŷ",
        "da": "åæéø",
        "de": "äöüß",
        "en": "",
        "eo": "ĉĝĥĵŝŭ",
        "es": "áéíñóúü",
        "et": "äõöüšž",
        "eu": "çñü",
        "fi": "åäöšž",
        "fr": "àâæçèéêëîïôœùûüÿ",
        "ga": "áéíóú",
        "hr": "ćčđšž",
        "hu": "áéíóöúüőű",
        "id": "",
        "is": "áæéíðóöúýþ",
        "it": "àèéìíîòóùú",
        "la": "āēīōū",
        "lg": "ŋ",
        "lt": "ąčęėįšųūž",
        "lv": "āčēģīķļņšūž",
        "mi": "āēīōū",
        "ms": "",
        "nb": "åæèéòóôø",
        "nl": "áäçèéêëíïóöúü",
        "nn": "åæèéòóôø",
        "pl": "ąćęłńóśźż",
        "pt": "àáâãçéêíóôõú",
        "ro": "âîășțşţ",
        "sk": "áäčďéíĺľňóôŕšťúýž",
        "sl": "čšž",
        "sn": "",
        "so": "",
        "sq": "çë",
        "st": "êôš",
        "sv": "åäéö",
        "sw": "",
        "tl": "ñ",
        "tn": "êôš",
        "tr": "âçğîıöşüû",
        "ts": "",
        "vi": "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
        "xh": "",
        "yo": "àáèéìíòóùúńǹẹọṣ\u0300\u0301\u0323",
        "zu": "",
    },
    "CYRILLIC": {
        "be": "абвгдежзйклмнопрстуфхцчшыьэюяёіў'’",
        "bg": "абвгдежзийклмнопрстуфхцчшщъьюя",
        "kk": _RUSSIAN + "іғқңүұһәө",
        "mk": _SOUTH_SLAVIC + "јљњџѓќѕ",
        "mn": _RUSSIAN + "үө",
        "ru": _RUSSIAN,
        "sr": _SOUTH_SLAVIC + "јљњџђћ",
        "uk": "абвгдежзийклмнопрстуфхцчшщьюяєіїґ",
    },
    "ARABIC": {
        "ar": "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي",
        "fa": "ءآأؤئابتثجحخدذرزسشصضطظعغفقلمنهوپچژکگی",
        "ur": "ءآأؤئابتثجحخدذرزسشصضطظعغفقلمنوٹپچڈڑژکگںھہۂۃیے",
    },
    "DEVANAGARI": {
        "hi": "\u093c",  # the dot below of borrowed sounds
        "mr": "ळॲऱ",
    },
}
LATIN = frozenset(_LETTERS["LATIN"])
LANGUAGES = sorted({"zh", *_ONE_LANGUAGE.values(), *(code for each in _LETTERS.values() for code in each)})
# Every sentence of these languages has some of these letters: at least _MARKED_SHARE of all its letters.
_MARKED = {
    "LATIN": {"vi": frozenset("ăđơưạảấầẩậắằặẹếềểệịọốồổộớờởợụủứừửựỷ"), "yo": frozenset("ẹọṣ\u0323")},
    "CYRILLIC": {"kk": frozenset("ғқңүұһәө"), "mn": frozenset("үө")},
}
_MARKED_SHARE = 0.02
# Foreign names and words use other letters, so a share of letters up to this one is not evidence.
_FOREIGN_SHARE = 0.01
_NOT_ASCII = re.compile("[^\x00-\x7f]")


def candidates(sample: str) -> list[str]:
    """Return the ISO 639-1 codes of the languages that the sample can be in; empty for an unknown script.

    >>> candidates("Γειά σου"), candidates("東京へ行く"), candidates("Přílišný řev"), candidates("Ще не вмерла")
    (['el'], ['ja'], ['cs'], ['bg', 'ru', 'uk'])
    """
    counts = {letter: count for letter, count in Counter(sample.lower()).items() if _scripts[letter]}
    scripts: Counter[str] = Counter()
    for letter, count in counts.items():
        scripts[_scripts[letter]] += count
    kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
    if kana > _KANA_SHARE * (kana + scripts["CJK"]):
        scripts["HIRAGANA"] += scripts.pop("CJK", 0) + scripts.pop("KATAKANA", 0)
    elif scripts["CJK"]:
        scripts["CJK"] += scripts.pop("HIRAGANA", 0) + scripts.pop("KATAKANA", 0)
    if not scripts:
        return []
    script = scripts.most_common(1)[0][0]
    if script == "CJK":
        return ["zh"]
    if script in _ONE_LANGUAGE:
        return [_ONE_LANGUAGE[script]]
    return _by_letters(script, counts, scripts[script]) if script in _LETTERS else []


def has_other_letters(sample: str) -> bool:
    """Return whether the sample has letters that English does not use. Much faster than `candidates`."""
    return not sample.isascii() and any(map(_script, _NOT_ASCII.findall(sample.lower())))


def _by_letters(script: str, counts: Mapping[str, int], total: int) -> list[str]:
    """Return the languages to which the fewest letters of the text are foreign."""
    languages = _LETTERS[script]
    telling = _telling(script)
    present = {letter: count for letter, count in counts.items() if letter in telling}
    foreign = {
        language: sum(count for letter, count in present.items() if letter not in letters)
        for language, letters in languages.items()
    }
    for language, marks in _MARKED.get(script, {}).items():
        if sum(count for letter, count in present.items() if letter in marks) < _MARKED_SHARE * total:
            del foreign[language]
    limit = min(foreign.values()) + _FOREIGN_SHARE * total
    return [language for language, count in foreign.items() if count <= limit]


@cache
def _telling(script: str) -> frozenset[str]:
    """Return the letters that only some languages of the script use."""
    sets = list(map(frozenset, _LETTERS[script].values()))
    return frozenset().union(*sets) - frozenset.intersection(*sets)


def _script(letter: str) -> str:
    """Return the first word of the letter's name (`LATIN SMALL LETTER A`); "" if it is not a letter."""
    if letter.isascii():
        return "LATIN" if letter.isalpha() else ""
    if unicodedata.category(letter)[0] not in "LM":
        return ""
    return unicodedata.name(letter, "").partition(" ")[0]


_scripts = Computed(_script)
