"""Find how a sentence contradicts a claim: another figure, date or name, or the opposite. Pure.

The rules are cautious. Two sentences differ in a figure only if it counts the same thing ("14 days", "15 days"), in a
name only if the names can mean nothing else, and by a negation only if the other sentence states what is negated.
Negations and opposites are known for the languages below. Only one thread may use an Analyzer.
"""

from __future__ import annotations

import re
from calendar import day_name
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from gnod.analysis import stopwords
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS
from gnod.analysis.terms import Analyzer, compounds, visible
from gnod.answers.claims import Claims
from gnod.answers.numerals import Date, Figure
from gnod.answers.words import terms_of

_NEGATIONS = {
    "en": "not no never without neither nor cannot none nothing unable lack lacks lacked lacking",
    "de": "nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts",
    "fr": "ne n pas jamais aucun aucune sans ni",
    "es": "no nunca jamás sin ningún ninguna ni tampoco",
    "it": "non mai senza nessun nessuna né",
    "pt": "não nunca jamais sem nenhum nenhuma nem",
    "nl": "niet geen nooit zonder",
    "sv": "inte ej ingen inget inga aldrig utan",
    "ru": "не нет никогда без ни",
}
# In these languages, the negation may follow what it negates: "unterstützt Python nicht".
_NEGATED_BEFORE = frozenset({"de", "nl", "sv"})
# "not only" and "no more than" negate nothing.
_NOT_NEGATED = frozenset(
    {"only", "just", "merely", "more", "less", "fewer", "later", "nur", "mehr", "seulement", "solo"}
)
# Japanese and Chinese have no spaces, so a sentence as a whole either has a negation or not.
_HAN, _KANA = re.compile("[一-龥]"), re.compile("[ぁ-ヿ]")
_CHINESE_NEGATION = re.compile("不(?![仅但同过])|没|未|无(?!论)")
_JAPANESE_NEGATION = re.compile("ません|ない|なかっ|ずに")
_OPPOSITES = {
    "en": "before/after more/less most/least maximum/minimum always/never first/last on/off true/false "
    "enabled/disabled enable/disable enables/disables allowed/forbidden allow/forbid required/optional "
    "open/closed opens/closes above/below ascending/descending increase/decrease increases/decreases "
    "increased/decreased larger/smaller longer/shorter higher/lower faster/slower earlier/later accepts/rejects "
    "accepted/rejected public/private public/secret local/remote synchronous/asynchronous inside/outside "
    "start/end starts/ends begins/ends succeeds/fails won/lost north/south east/west left/right add/remove "
    "adds/removes",
    "de": "vor/nach mehr/weniger mindestens/höchstens maximal/minimal immer/nie erste/letzte ein/aus wahr/falsch "
    "erlaubt/verboten offen/geschlossen öffnet/schließt steigt/sinkt größer/kleiner länger/kürzer höher/niedriger "
    "schneller/langsamer früher/später nord/süd links/rechts öffentlich/geheim gewann/verlor",
}
_ASIDE = re.compile(r"\([^()]*\)")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:['’-]\w+)*|[,;:.!?—–]")
_DIGITS = re.compile(r"\d+")
_MOST_NAME_WORDS = 2


class Statement(NamedTuple):
    """A sentence, and what can be checked in it."""

    text: str
    claims: Claims


def differences(
    claim: Statement, other: Statement, missing: Claims, analyzer: Analyzer, languages: Collection[str] = ()
) -> list[str] | None:
    """Return how another sentence differs from a claim, such as `14 ≠ 15`; None if it lacks something without
    contradicting it. `missing`: what the claim has and neither the other sentence nor the text above it has.
    `languages`: languages of the sentences besides the analyzer's."""
    above = [each for each in claim.claims.figures if not _is_in(each, other.claims) and each not in missing.figures]
    known_above = [_figure(each, claim.claims, other.claims, analyzer) for each in above]
    found: list[str | None] = [
        *filter(None, known_above),
        *(_figure(each, claim.claims, other.claims, analyzer) for each in missing.figures),
        *(_date(each[0], claim.claims, other.claims) for each in missing.dates),
        *(_exact(each, claim.claims, other.claims) for each in missing.exact),
        *([_name(missing.names, claim, other, analyzer)] if missing.names else []),
        *([_weekday(missing.weekdays, other.claims)] if missing.weekdays else []),
    ]
    known = [each for each in found if each]
    opposed = _opposed(claim.text, other.text, analyzer, {analyzer.language, *languages})
    return [*known, *opposed] if opposed is not None and len(known) == len(found) else None


def _unequal(mine: str, other: str) -> str:
    return f"{mine} ≠ {other}"


def _figure(figure: Figure, claimed: Claims, other: Claims, analyzer: Analyzer) -> str | None:
    counted = _counted(figure, analyzer)
    mine = {reading for each in claimed.figures if _counted(each, analyzer) == counted for reading in each.readings}
    alike = [each for each in other.figures if _counted(each, analyzer) == counted]
    rivals = [each.written for each in alike if not mine & each.readings]
    rivals += [] if counted else [str(date.year) for date, *_ in other.dates if date.year]
    rivals = [each for each in dict.fromkeys(rivals) if _is_year(each) == _is_year(figure.written)]
    return _unequal(figure.written, rivals[0]) if len(rivals) == 1 or (rivals and counted) else None


def _is_in(figure: Figure, other: Claims) -> bool:
    return any(figure.readings & each.readings for each in other.figures)


def _is_year(written: str) -> bool:
    return len(written) == 4 and written.isdigit() and written[0] in "12"


def _counted(figure: Figure, analyzer: Analyzer) -> tuple[str, ...]:
    """Return the terms of what a figure counts; empty if no content word follows."""
    if not figure.counts or figure.counts in _function_words(analyzer):
        return ()
    return tuple(terms_of([figure.counts], analyzer)) or (figure.counts,)


def _date(date: Date, claimed: Claims, other: Claims) -> str | None:
    mine = {reading for readings in claimed.dates for reading in readings}
    rivals = [
        readings[0]
        for readings in other.dates
        if not mine & set(readings) and all(bool(a) == bool(b) for a, b in zip(date, readings[0], strict=True))
    ]
    return _unequal(_shown(date), _shown(rivals[0])) if rivals else None


def _shown(date: Date) -> str:
    return "-".join(f"{part:02}" for part in date if part)


def _exact(written: str, claimed: Claims, other: Claims) -> str | None:
    """Compare identifiers: two differ if only their numbers differ (F28, F29), or if they are the only ones of their
    kind."""
    rivals = [each for each in other.exact if each not in claimed.exact]
    alike = [each for each in rivals if _DIGITS.search(written) and _shape(each) == _shape(written)]
    if not alike and len(rivals) == 1 and _signs(rivals[0]) == _signs(written):
        alike = rivals
    return _unequal(written, alike[0]) if alike else None


def _shape(written: str) -> str:
    return _DIGITS.sub("0", written.casefold())


def _signs(written: str) -> frozenset[str]:
    return frozenset(sign for sign in written if not sign.isalnum())


def other_names(claim: str, other: Statement, analyzer: Analyzer) -> list[str]:
    """Return the names in a sentence that a claim does not have in any inflection: a word such as "Stop" may only begin
    the sentence."""
    terms = set(terms_of(compounds(visible(claim)), analyzer))
    names = dict.fromkeys(name for name in other.claims.names if len(name) > 1)
    return [name for name in names if not terms.issuperset(terms_of(compounds(visible(name)), analyzer))]


def _name(missing: Sequence[str], claim: Statement, other: Statement, analyzer: Analyzer) -> str | None:
    rivals = other_names(claim.text, other, analyzer)
    if len(rivals) > _MOST_NAME_WORDS:
        before = _word_before(claim.text, missing[0])
        rivals = [each for each in rivals if before and _word_before(other.text, each) == before]
    if rivals and max(len(missing), len(rivals)) <= _MOST_NAME_WORDS:
        return _unequal(" ".join(missing), " ".join(rivals))
    return None


def _word_before(text: str, name: str) -> str:
    """Return the word before a name in lower case; empty for a function word."""
    match = re.search(rf"(\w+)\W+{re.escape(name)}", text)
    return match[1].lower() if match and match[1].lower() not in ENGLISH_FUNCTION_WORDS else ""


def _weekday(missing: Iterable[int], other: Claims) -> str | None:
    return _unequal(_days(missing), _days(other.weekdays)) if other.weekdays else None


def _days(weekdays: Iterable[int]) -> str:
    return ", ".join(day_name[each] for each in sorted(weekdays))


def _opposed(claim: str, other: str, analyzer: Analyzer, languages: Collection[str]) -> list[str] | None:
    """Return what only one of the two sentences negates, or states as an opposite; None if the claim negates something
    that the other sentence does not have."""
    if _HAN.search(claim + other):
        negation = _JAPANESE_NEGATION if _KANA.search(claim + other) else _CHINESE_NEGATION
        is_negated = [bool(negation.search(text)) for text in (claim, other)]
        return ["one of them is negated"] if is_negated[0] != is_negated[1] else []
    mine, theirs = (_negated(text, analyzer, languages) for text in (claim, other))
    pairs = [pair for language in languages for pair in _opposites(claim, other, language)]
    agreed = {word for pair in pairs for word in pair} & {*mine.values(), *theirs.values()}
    found = [_unequal(*pair) for pair in pairs if agreed.isdisjoint(pair)]
    found += _negations(mine, theirs, claim, other, analyzer)
    return None if mine and not theirs and not found and not agreed else found


def _opposites(claim: str, other: str, language: str) -> Iterator[tuple[str, str]]:
    mine, others = (set(map(str.casefold, _TOKEN.findall(text))) for text in (claim, other))
    for pair in _OPPOSITES.get(language, "").split():
        for one, opposite in (pair.split("/"), pair.split("/")[::-1]):
            if one in mine - others and opposite in others - mine:
                yield one, opposite


def _negations(
    mine: dict[str, str], theirs: dict[str, str], claim: str, other: str, analyzer: Analyzer
) -> Iterator[str]:
    for words, against, text in ((mine, theirs, other), (theirs, mine, claim)):
        if len(words) <= len(against):
            continue
        terms = set(terms_of(compounds(visible(text)), analyzer)) - against.keys()
        for term, written in words.items():
            if term in terms:
                yield _unequal(f"not {written}", written) if words is mine else _unequal(written, f"not {written}")


def _negated(text: str, analyzer: Analyzer, languages: Collection[str]) -> dict[str, str]:
    """Return the negated words by their term. The negated word is the next content word; in some languages, the one
    before if none follows in the clause."""
    negations = negations_of(languages)
    tokens = [token.casefold().replace("’", "'") for token in _TOKEN.findall(_ASIDE.sub(" ", text))]
    dropped = _function_words(analyzer) | negations
    found: dict[str, str] = {}
    for n, token in enumerate(tokens):
        is_negation = token in negations or ("en" in languages and token.endswith("n't"))
        if not is_negation or (n + 1 < len(tokens) and tokens[n + 1] in _NOT_NEGATED):
            continue
        word = _first(tokens[n + 1 :], dropped)
        if word is None and not _NEGATED_BEFORE.isdisjoint(languages):
            word = _first(reversed(tokens[:n]), dropped)
        for term in terms_of([word], analyzer)[:1] if word else []:
            if found.pop(term, None) is None:  # "does not lack" negates twice
                found[term] = word or ""
    return found


def negations_of(languages: Iterable[str]) -> set[str]:
    """Return the negating words of languages."""
    return {word for language in languages for word in _NEGATIONS.get(language, "").split()}


def _first(tokens: Iterable[str], dropped: Iterable[str]) -> str | None:
    """Return the first content word of the clause, or its first figure."""
    figure = None
    for token in tokens:
        if not token[0].isalnum():
            break
        if token not in dropped and not token[0].isdigit():
            return token
        figure = figure or (token if token[0].isdigit() else None)
    return figure


def _function_words(analyzer: Analyzer) -> frozenset[str]:
    return ENGLISH_FUNCTION_WORDS | stopwords.of(analyzer.language)
