"""Find what a sentence is about: the words before its verb, as far as they can be found without a parser. Pure.

"Bolt 3 needs 10 Nm" is about bolt 3, so a sentence about bolt 1 neither supports nor contradicts it. The subjects of
"In 2008 it opened" and "we keep 14 days" have no number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from gnod.analysis import stopwords
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS
from gnod.analysis.terms import Analyzer
from gnod.answers.claims import Claims, claims
from gnod.answers.numerals import Figure

# Forms of the verbs that most often follow a subject. Each language has only a few.
_AUXILIARIES = {
    "en": "is are was were isn't aren't wasn't weren't has have had can could will would shall should may might must "
    "cannot can't couldn't won't wouldn't shouldn't does do did doesn't don't didn't",
    "de": "ist sind war waren wird werden wurde wurden hat haben hatte hatten kann können konnte konnten muss müssen "
    "musste mussten soll sollen sollte darf dürfen durfte will wollen wollte",
    "fr": "est sont était étaient fut sera seront a ont avait avaient peut peuvent doit doivent n'est n'a n'était",
    "es": "es son era eran fue fueron está están será ha han había puede pueden debe deben tiene",
    "it": "è sono era erano fu furono sarà ha hanno aveva può possono deve devono",
    "pt": "é são era eram foi foram está estão será tem têm tinha pode podem deve devem",
    "nl": "is zijn was waren wordt worden werd werden heeft hebben had kan kunnen moet moeten zal zullen mag",
    "sv": "är var blir blev har hade kan kunde ska skulle måste får",
    "ru": "был была было были есть является может могут должен должна",
}
_DETERMINERS = (
    "the a an this that these those each every der die das ein eine dieser diese dieses jede jeder le la les un une l "
    "ce cette el los las una este esta il lo i gli o os as um uma de het een den det en ett"
)
# The function words that queries drop in English do not include prepositions.
_ENGLISH_PREPOSITIONS = (
    "in on at by with from for into over under before after since until between during through via within without "
    "about above below per if unless because while although not no as"
)
# The subject continues after these words: "The meeting of 12 October".
_LINKS = "of de du des d von vom der van di del della do da av"
_ARTICLES_AND_LINKS = frozenset(f"{_DETERMINERS} {_LINKS}".split())
_TOKEN = re.compile(r"`[^`]*`|\w+(?:[.'’/-]\w+)*")


def identifiers(sentence: str, analyzer: Analyzer, known_names: Collection[str]) -> Claims:
    """Return the dates, names, codes, and numbers after a word in the subject of a sentence. `known_names`: as in
    `claims`."""
    subject = _subject(sentence, analyzer.language)
    found = claims(subject, analyzer, known_names)
    return found._replace(figures=[figure for figure in found.figures if _is_label(figure, subject, analyzer.language)])


def lacks(missing_about: Claims, missing: Claims) -> bool:
    """Return whether an identifier of a claim's subject is missing. `missing`: without names that the document has
    elsewhere."""
    others = (missing_about.figures, missing_about.dates, missing_about.exact)
    return any(others) or not set(missing_about.names).isdisjoint(missing.names)


def _subject(sentence: str, language: str) -> str:
    """Return the beginning of a sentence up to its auxiliary verb, or else up to the first identifier; empty if it does
    not begin with its subject."""
    tokens = list(_TOKEN.finditer(sentence))
    words = [token[0].casefold() for token in tokens]
    if not words or words[0] in _particles(language):
        return ""
    verbs = _AUXILIARIES.get(language, "").split()
    verb = next((token for token, word in zip(tokens, words, strict=True) if word in verbs), None)
    return sentence[: verb.start() if verb else _end_of_identifier(tokens, words, language)]


def _end_of_identifier(tokens: Sequence[re.Match[str]], words: Sequence[str], language: str) -> int:
    """Return where the first identifier ends. Besides articles and "of", at most one word may come before it."""
    n = next((n for n, word in enumerate(words) if word not in _DETERMINERS.split()), 0)
    if not _is_identifier(tokens[n][0]):
        n += 1
    while n < len(words) and words[n] in _ARTICLES_AND_LINKS:
        n += 1
    end = 0
    while n < len(words) and _is_identifier(tokens[n][0]):
        end, n = tokens[n].end(), n + 1
    is_quantity = words[n - 1].isdigit() and not _has_object(words[n:], language)
    return 0 if is_quantity else end


def _is_identifier(token: str) -> bool:
    return token[0] == "`" or token[0].isupper() or any(map(str.isdigit, token))


def _has_object(words: Sequence[str], language: str) -> bool:
    """Distinguish "(bolt 3) needs 10 Nm" from "(wait 5) minutes before the start"."""
    return len(words) > 1 and words[1] not in _particles(language)


def _is_label(figure: Figure, subject: str, language: str) -> bool:
    counts_nothing = not figure.counts or figure.counts in _particles(language) | _ARTICLES_AND_LINKS
    return counts_nothing and bool(re.search(rf"[^\W\d_]\W{{1,2}}{re.escape(figure.written)}", subject))


def _particles(language: str) -> frozenset[str]:
    """Return the function words that, unlike articles, do not begin a subject."""
    return ENGLISH_FUNCTION_WORDS.union(_ENGLISH_PREPOSITIONS.split(), stopwords.of(language)).difference(
        _DETERMINERS.split()
    )
