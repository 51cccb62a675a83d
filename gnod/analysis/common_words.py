"""Recognise the language of a short text by its words. Pure.

Common words are the function words of `stopwords` or, for languages without such a list, the most frequent words: each
line of common_words.txt begins with the code of its language. Bosnian and Croatian, and Indonesian and Malay, share
most of their words, and Hindi and Marathi share their letters, so the statistics of their letters are nearly the same.
Words that only one of them uses distinguish these close languages: names of months, words of science and function
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from gnod.analysis import stopwords

# Beginnings of words by language. An underscore marks the end of a whole word.
_BEGINNINGS_OF_CLOSE = {
    "bs": """april august avgust decembar evrop fabri fajl februar hemij hiljad histori hljeb
        izvještaj januar juni juli kahv ko_ lahk maj_ mart_ muzi nauk neko_ niko_ novembar odbran oktobar opšt
        ostrv porodi privred računar saradn sedmic septembar šta_ svako_ tačk tačn takođe_ tokom učestv univerzit
        uprkos vazduh voz_ vozov""",
    "hr": """europ glazb gospodar izvješć juče kolovoz kruh lipanj lipnj listopad netko_ nitko_ obitelj ožuj otok
        povijes pogrešk pošalj prosin računal rujan rujn siječ srpanj srpnj što_ studen surad sustav svatko_ sveučil
        svibanj svibnj tisuć tjed tijekom tko_ točk točn travanj travnj tvornic tvrtk unatoč veljač vlak zaslon znanost
        zrak""",
    "id": """agustus aktivitas bahwa bisa butuh coba desember inggris italia jepang juli_ juni_ kamu_
        kantor karena kemarin mobil_ musim nomor prancis rabu_ saat_ senin spanyol tipe uang""",
    "ms": """ahad_ bahawa boleh cuba disember itali_ inggeris isnin jepun julai jun_ kerana kereta
        nombor ogos pejabat perancis sahaja semalam sepanyol wang""",
    "hi": """का_ की_ के_ को_ से_ में_ है_ हैं_ था_ थी_ थे_ और_ पर_ यह_ वह_ नहीं_ क्या_ कौन_ कब_ क्यों_ कैसे_ किस करना करने लिए_""",
    "mr": """आहे आणि मध्ये_ होत नाही नाहीत_ काय_ कोण कधी_ कसे_ कसा_ कशी_ किंवा_ हा_ हे_ ते_ ती_ केले करण्या साठी_""",
}
_OTHER = {"bs": "hr", "hr": "bs", "id": "ms", "ms": "id", "hi": "mr", "mr": "hi"}
_BEGINNINGS = {language: tuple(words.split()) for language, words in _BEGINNINGS_OF_CLOSE.items()}
# Characters that may precede or follow a word.
_PUNCTUATION = ".,;:!?()[]\"'“”„‘’«»–—…।"
_WORD = re.compile(r"[^\W\d_]+")
# A language clearly has more words if it leads by half of a word that only it has.
_CLEAR = 0.5


def words(text: str) -> list[str]:
    return _WORD.findall(text)


def is_of(word: str, language: str) -> bool:
    """Return whether a word, in lower case, is one of the commonest words of a language."""
    return language in _languages_by_word().get(word, ())


def scores(text: str, languages: Sequence[str]) -> dict[str, float]:
    """Return how many distinct words of the text each language has. A word counts less if more of the
    languages have it."""
    found = dict.fromkeys(languages, 0.0)
    known = _languages_by_word()
    for word in set(words(text.lower())):
        having = [code for code in known.get(word, ()) if code in found]
        for code in having:
            found[code] += 1 / len(having)
    return found


def language_of(words: Iterable[str]) -> str | None:
    """Return the language that clearly has more of these words, in lower case, than any other.

    >>> language_of("what is a canvas".split()), language_of(["mermaid", "diagram"]), language_of(["so", "in"])
    ('en', None, None)
    """
    known = _languages_by_word()
    found: dict[str, float] = {}
    for having in filter(None, map(known.get, words)):
        for code in having:
            found[code] = found.get(code, 0.0) + 1 / len(having)
    best = max(found, key=lambda code: found[code], default=None)
    second = max((score for code, score in found.items() if code != best), default=0.0)
    return best if best and found[best] - second >= _CLEAR else None


def is_common(word: str) -> bool:
    """Return whether a word, in lower case, is one of the commonest words of any language."""
    return word in _languages_by_word()


def told_apart(sample: str, language: str) -> str:
    """Return the close language if the sample has more of its words, otherwise the language itself.

    >>> told_apart("Ko je bio na univerzitetu u januaru?", "hr")
    'bs'
    """
    other = _OTHER.get(language)
    if other is None:
        return language
    words = [word.strip(_PUNCTUATION) + "_" for word in sample.lower().split()]
    here, there = (sum(word.startswith(_BEGINNINGS[each]) for word in words) for each in (language, other))
    return other if there > here else language


@cache
def _languages_by_word() -> dict[str, list[str]]:
    lines = Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").splitlines()
    common = {code: set(words) for code, *words in map(str.split, lines)}
    found: dict[str, list[str]] = {}
    for code in sorted({*common, *stopwords.LANGUAGES}):
        for word in stopwords.of(code) | common.get(code, set()):
            found.setdefault(word, []).append(code)
    return found
