"""Detect the language of a text by its script, its letters, its frequent words, and sequences of three letters. Pure.

Script and letters leave some candidates (`alphabets`); words and trigrams choose among them (docs/adr/0037).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gnod.analysis import close_languages, common_words, trigrams
from gnod.analysis.alphabets import LATIN, candidates
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words

# Longer samples are slower and not more accurate.
SAMPLE_CHARACTERS = 500
# If languages are equally likely, the first of these is chosen.
_COMMONEST = ("en", "es", "fr", "de", "pt", "it", "ru", "ar", "hi", "nl", "pl", "tr", "id")
# A word that only one language has counts this much, as a logarithm of likelihood.
_WORD = 4.0
# Another language must be this much likelier than English, and more for each character, because names, source code and
# words of science look foreign.
_MARGIN, _MARGIN_OF_CHARACTER = 3.0, 0.02
# Lists of scientific words look like Latin, but have fewer of its function words.
_LATIN_WORDS = 0.2
# Fewer words may be names.
_MIN_WORDS = 3
# The language of a shorter query is unclear.
_MIN_QUERY_CHARACTERS = 15
# In ASCII, shorter texts give no clear answer, and source code with fewer letters has more names than words.
_MIN_LETTERS = 24
_MIN_LETTERS_IN_CODE = 120
_CODE = re.compile(r"[_=(){}\[\];<>]")
_CODE_SHARE = 0.03
# English has this share of common words, in a sample of this many words.
_ENGLISH_SHARE = 0.15
_ENGLISH_LENGTH = 10
# Function words of one letter are words of many languages.
_ENGLISH_WORDS = frozenset(word for word in ENGLISH_FUNCTION_WORDS if len(word) > 1) | {
    *("as", "at", "by", "for", "from", "if", "into", "not", "on", "with")
}
# Words that no other language in Latin letters has. A text of one or two lines has at most this many words.
_ENGLISH_ONLY = frozenset(
    {
        *("could", "does", "from", "how", "should", "that", "the", "their", "these", "they", "this", "those", "what"),
        *("when", "where", "which", "who", "why", "with", "would", "you", "your"),
    }
)
_ENGLISH_LINE = 30
# Function words that are both English and German, and letters of neither.
_ENGLISH_AND_GERMAN = frozenset({"am", "an", "die", "hat", "in", "man", "so", "war", "was", "will"})
_FOREIGN_LETTER = re.compile("[^\x00-\x7fäöüßÄÖÜ\u2000-\u206f]")
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
# A word also begins after an underscore, which may have been read as markup.
_IDENTIFIER = r"(?<![^\W_])(?:\w[^\W_]*+_\w|\w++[/.@]\w)\S*"
_NOT_PROSE = re.compile(rf"https?://\S+|`[^`\n]*`|<[^>\n]*>|{_IDENTIFIER}|[#*|=\-_>\[\](){{}}]+|\d+")


def detect(text: str) -> str | None:
    """Return the ISO 639-1 code of a Markdown text's language; None if it may be English and is not clear.

    >>> detect("Spotkanie zespołu w poniedziałek"), detect("Ring the bell twice")
    ('pl', 'en')
    >>> detect("docker compose") is None
    True
    """
    sample = prose_sample(text)
    possible = candidates(sample)
    if _is_english(sample, possible):
        return "en"
    head = text[:SAMPLE_CHARACTERS]
    least = _MIN_LETTERS_IN_CODE if len(_CODE.findall(head)) > _CODE_SHARE * len(head) else _MIN_LETTERS
    if sample.isascii() and sum(map(str.isalpha, sample)) < least:
        return None
    return _likeliest(sample, possible)


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


def prose_sample(text: str) -> str:
    """Return the beginning of the text without code, addresses and markup."""
    head = text[: SAMPLE_CHARACTERS * 3]
    return " ".join(_NOT_PROSE.sub(" ", _FENCED.sub(" ", head)).split())[:SAMPLE_CHARACTERS]


def _is_english(sample: str, possible: list[str]) -> bool:
    """Recognise English by its function words. A quarter of English prose, and two thirds of technical notes at least
    a sixth, are these words; in other languages hardly a tenth."""
    words = sample.lower().split()
    count = sum(map(_ENGLISH_WORDS.__contains__, words))
    if "en" in possible and len(words) >= _ENGLISH_LENGTH and count > _ENGLISH_SHARE * len(words):
        return True
    if len(words) >= _ENGLISH_LINE:
        return False
    # By its letters alone, a line looks Dutch or German. A name may have letters that English does not have.
    certain = sum(map(_ENGLISH_ONLY.__contains__, words))
    return certain > 1 or (certain == 1 and sample.isascii())


def _likeliest(sample: str, possible: list[str]) -> str | None:
    if len(possible) < 2:
        return possible[0] if possible else None
    scores = _scores(sample, possible)
    best = max(scores, key=lambda code: scores[code])
    margin = _MARGIN + (_MARGIN_OF_CHARACTER * len(sample) if best != "en" else 0.0)
    if "en" in scores and (len(sample.split()) < _MIN_WORDS or _ahead(scores, best) < margin):
        return None
    return close_languages.told_apart(sample, best)


def _ahead(scores: Mapping[str, float], best: str) -> float:
    """Return how much likelier the best language is than English, or English than any other."""
    return scores[best] - max(score for code, score in scores.items() if code != best and "en" in (code, best))


def _scores(sample: str, possible: list[str]) -> dict[str, float]:
    """Return the likelihood of each language as a logarithm, the commonest first."""
    ordered = sorted(possible, key=lambda code: _COMMONEST.index(code) if code in _COMMONEST else len(_COMMONEST))
    words = common_words.scores(sample, ordered)
    if words.get("la", 0.0) < _LATIN_WORDS:
        ordered = [code for code in ordered if code != "la"]
    letters = trigrams.scores(sample, ordered) if LATIN.issuperset(ordered) else {}
    return {code: _WORD * words[code] + letters.get(code, 0.0) for code in ordered}
