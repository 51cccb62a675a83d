"""Find negations with short lists of closed word classes, without affixes (`un-` also begins `under`).

Chinese, Japanese, Korean and Thai are not supported: their negations are parts of other words.
"""

from __future__ import annotations

import re

from gnod.analysis.stemming import fold, normalise
from gnod.analysis.terms import compounds

_NEGATING = {
    "en": "not no never without none nor neither nothing nobody cannot except excluding dont doesnt didnt cant couldnt "
    "wont wouldnt isnt arent wasnt werent hasnt havent",
    "de": "nicht kein keine keinen keinem keiner keines ohne nie niemals nirgends niemand nichts weder außer",
    "fr": "pas sans jamais aucun aucune ni rien personne sauf",
    "es": "no sin nunca jamás ningún ninguna ninguno ni nada tampoco excepto",
    "it": "non senza mai nessun nessuno nessuna né niente nulla tranne",
    "pt": "não sem nunca jamais nenhum nenhuma nem nada exceto",
    "nl": "niet geen zonder nooit niemand niets behalve",
    "sv": "inte utan aldrig ingen inget inga ej",
    "da": "ikke uden aldrig ingen intet ej",
    "nb": "ikke uten aldri ingen intet ei",
    "pl": "nie bez nigdy ani żaden żadna żadne nikt nic",
    "ru": "не нет без никогда ни никто ничего нельзя кроме",
    "tr": "değil yok hiç olmadan hariç",
    "hi": "नहीं बिना मत",
}
# Words that imply a negation: `fails to start` keeps the `not` of `does not start`.
_IMPLYING = {
    "en": "fail fails failed failing failure unable impossible missing lacks lacking avoid avoiding prevent prevents "
    "exclude excludes free non",
    "de": "fehlt fehlen fehlend fehlende fehlenden scheitert unmöglich vermeiden verhindern frei freie",
}
# For unknown languages. Negations of other languages may have another meaning (Portuguese `no` is "in the").
_USUAL = ("en", "de")
_JOINERS = re.compile(r"[-_.:/\\@&'’]+")
_GERMAN_FREE = re.compile(r"\w{3,}frei(?:e[nmrs]?)?\Z")


def negation(text: str, language: str | None) -> str | None:
    """Return the first word that negates.

    >>> negation("why doesn't it start", "en"), negation("Kuchen ohne Mehl", "de"), negation("under way", "en")
    ("doesn't", 'ohne', None)
    """
    negating = _words_of(_NEGATING, language)
    for compound in compounds(text):
        if compound.lower().endswith(("n't", "n’t")) and "en" in _languages(language):
            return compound
        for word in _JOINERS.split(compound):
            if _form(word) in negating:
                return word
    return None


def is_negated(text: str, language: str | None) -> bool:
    """Return whether the text contains or implies a negation."""
    if negation(text, language):
        return True
    implying = _words_of(_IMPLYING, language)
    words = [_form(word) for compound in compounds(text) for word in _JOINERS.split(compound)]
    return not implying.isdisjoint(words) or ("de" in _languages(language) and any(map(_GERMAN_FREE.match, words)))


def negating_words() -> frozenset[str]:
    """Return the folded negating words of all languages. Use it only for words by which two similar texts differ."""
    return frozenset(_form(word) for words in _NEGATING.values() for word in words.split())


def _languages(language: str | None) -> tuple[str, ...]:
    return (language,) if language in _NEGATING else _USUAL


def _words_of(table: dict[str, str], language: str | None) -> frozenset[str]:
    return frozenset(_form(word) for code in _languages(language) for word in table.get(code, "").split())


def _form(word: str) -> str:
    return fold(normalise(word))
