"""Detect the language of a short text, such as a query or a memory. Uses little RAM, so the daemon can use it.

The script and letters leave some candidates (`alphabets`); frequent words and sequences of three letters choose one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gnod.analysis import common_words, trigrams
from gnod.analysis.alphabets import LATIN, candidates
from gnod.analysis.prose import is_english, prose_sample
from gnod.analysis.stopwords import function_words

# If languages are equally likely, the first of these is chosen.
_COMMONEST = ("en", "es", "fr", "de", "pt", "it", "ru", "ar", "hi", "nl", "pl", "tr", "id")
# A word that only one language has counts this much, as a logarithm of likelihood.
_WORD = 4.0
# Another language must be this much likelier than English, because names and words of science look foreign.
_MARGIN = 3.0
# Fewer words may be names.
_MIN_WORDS = 3
# The language of a shorter query is unclear.
_MIN_QUERY_CHARACTERS = 15
# Function words of both English and German, and letters that neither language uses.
_ENGLISH_AND_GERMAN = frozenset({"am", "an", "die", "hat", "in", "man", "so", "war", "was", "will"})
_FOREIGN_LETTER = re.compile("[^\x00-\x7fäöüßÄÖÜ\u2000-\u206f]")


def detect_short(text: str) -> str | None:
    """Return the ISO 639-1 code of a text's language; None if it may be English but is unclear, or has only names.

    >>> detect_short("Spotkanie zespołu w poniedziałek"), detect_short("Ring the bell twice")
    ('pl', 'en')
    >>> detect_short("docker compose"), detect_short("Anna Kowalska, Małgorzata Zając")
    (None, None)
    """
    sample = prose_sample(text)
    if is_english(sample):
        return "en"
    language = _likeliest(sample, candidates(sample))
    return None if language and _is_names(sample, language) else language


def detect_query(text: str) -> str | None:
    """Return the ISO 639-1 code of a query's language; None for a short or unclear one. Function words decide between
    English and German if they can."""
    sample = prose_sample(text)
    if len(sample) < _MIN_QUERY_CHARACTERS:
        return None
    if not _FOREIGN_LETTER.search(sample):
        words = sample.lower().split()
        english, german = (len(function_words(words, [code]) - _ENGLISH_AND_GERMAN) for code in ("en", "de"))
        if english != german:
            return "en" if english > german else "de"
    return _likeliest(sample, candidates(sample))


def _likeliest(sample: str, possible: list[str]) -> str | None:
    if len(possible) < 2:
        return possible[0] if possible else None
    scores = _scores(sample, possible)
    best = max(scores, key=lambda code: scores[code])
    if "en" in scores and (len(sample.split()) < _MIN_WORDS or _ahead(scores, best) < _MARGIN):
        return None
    return common_words.told_apart(sample, best)


def _is_names(sample: str, language: str) -> bool:
    """Return whether all words are capitalised and none is common in the language. Exceptions: the first word may begin
    a sentence, and German capitalises all nouns."""
    words = common_words.words(sample)
    if len(words) < _MIN_WORDS or language == "de" or sample.isupper():
        return False
    return all(word[0].isupper() and not common_words.is_of(word.lower(), language) for word in words[1:])


def _ahead(scores: Mapping[str, float], best: str) -> float:
    """Return how much likelier the best language is than English, or English than any other."""
    return scores[best] - max(score for code, score in scores.items() if code != best and "en" in (code, best))


def _scores(sample: str, possible: list[str]) -> dict[str, float]:
    """Return the logarithm of each language's likelihood, with the commonest languages first."""
    ordered = sorted(possible, key=lambda code: _COMMONEST.index(code) if code in _COMMONEST else len(_COMMONEST))
    words = common_words.scores(sample, ordered)
    if not words.get("la"):  # lists of scientific words look like Latin
        ordered = [code for code in ordered if code != "la"]
    letters = trigrams.scores(sample, ordered) if LATIN.issuperset(ordered) else {}
    return {code: _WORD * words[code] + letters.get(code, 0.0) for code in ordered}
