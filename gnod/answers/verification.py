"""For each claim of a text, find the sentence that supports or contradicts it. This needs no generative model.

A claim is searched like a question, and compared with the sentences that would be quoted. A sentence is near enough if
it has the words of the claim and nearly the same meaning. It supports the claim if it has all of its figures, dates,
names and identifiers. It contradicts the claim if it has different ones, or says the opposite (`contradiction`). A
sentence about something else (`subjects`) does neither. The nearest of these sentences decides.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Literal, NamedTuple

from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer, compounds, visible
from gnod.answers import contradiction, numerals, subjects
from gnod.answers.claims import Claims, SourceTerms, claims, names_within
from gnod.answers.contradiction import Statement
from gnod.answers.quotes import ReadText, ScoredUnit
from gnod.answers.quoting import ScoredUnits
from gnod.answers.words import WeighedWords
from gnod.search.passages import sentences
from gnod.store.connection import Connection

Stance = Literal["supported", "contradicted", "not_found"]

# The number of sentences that are compared with a claim, best first.
COMPARED = 16
# The time to embed them. It is long, because the verdict on a claim must not depend on the load of the machine.
LIMIT_S = 5.0
# The minimum scores of a sentence that supports or contradicts a claim. The score is the mean of the share of the
# claim's words and the similarity of meaning (docs/BENCHMARKS.md).
SUPPORTS = 0.6
CONTRADICTS = 0.65
# The share of the claim's words that must be in the sentence itself, not above it.
_OWN_SHARE = 0.4

# Characters that a search reads as a field, a saved query, an operator or a wildcard.
_PATH_PART = re.compile(r"\d{4}-\d{2}-\d{2}|[^\W\d_]+")
_SYNTAX = re.compile(r"[\":@*]|(?<!\w)[-+]")


class Judgement(NamedTuple):
    """`unit`: the sentence; None if there is none. `differs`: how it differs from the claim, such as `14 ≠ 15`."""

    stance: Stance
    unit: ScoredUnit | None = None
    score: float = 0.0
    differs: tuple[str, ...] = ()


NOT_FOUND = Judgement("not_found")


def claims_of(text: str, language: str | None) -> list[str]:
    """Return the sentences, list items and table rows of a text. Headings, questions and code are left out.

    >>> claims_of("# Costs\\n\\nIt costs 5 €. Why?\\n\\n- It is red.\\n", "en")
    ['It costs 5 €.', 'It is red.']
    """
    found = (text[unit.start : unit.end] for unit in sentences.units(text, language) if unit.kind != "line")
    return [" ".join(unit.split()) for unit in found if not unit.rstrip().endswith(("?", "？", "؟"))]


def searched(claim: str) -> str:
    """Return a claim as a query of words only."""
    return _SYNTAX.sub(" ", claim)


def judge(connection: Connection, claim: str, scored: ScoredUnits, language: str | None) -> Judgement:
    """Of the sentences that support or contradict the claim, return the nearest, apart from the differences."""
    judged = _Judge(connection, claim, scored, language).all()
    return max(judged, key=lambda judgement: (judgement.score, judgement.stance == "supported"), default=NOT_FOUND)


class _Claim(NamedTuple):
    """A claim, read in one language. `about`: the identifiers of its subject."""

    analyzer: Analyzer
    statement: Statement
    about: Claims
    terms: SourceTerms


class _Judge:
    def __init__(self, connection: Connection, claim: str, scored: ScoredUnits, language: str | None) -> None:
        self._claim = claim
        self._units = scored.units
        self._texts = scored.collected.texts
        self._language = stemming_language(language)
        self._words = WeighedWords(connection, claim)
        self._names = names_within("\n".join(map(self._read, self._units))) | self._words.unknown
        self._in_language: dict[str, _Claim] = {}

    def all(self) -> Iterable[Judgement]:
        return map(self._compared, self._units)

    def _compared(self, unit: ScoredUnit) -> Judgement:
        claim, language = self._claim_for(unit), unit.candidate.document.language
        said = self._said(unit.candidate.text, claim.analyzer)
        about_said = subjects.identifiers(said.text, claim.analyzer, self._names)
        read = self._read(unit, alone=any(about_said))
        source = SourceTerms(read, language, claim.analyzer)
        missing = self._without_known(source.missing(claim.statement.claims), said, unit)
        if _is_about_another(claim, said, about_said, language) or subjects.lacks(source.missing(claim.about), missing):
            return NOT_FOUND
        differs = contradiction.differences(claim.statement, said, missing, claim.analyzer, {self._language})
        return NOT_FOUND if differs is None else self._judged(unit, read, missing, tuple(differs))

    def _claim_for(self, unit: ScoredUnit) -> _Claim:
        """Return the claim, read in the language of a document. A claim is short, so the detection of its own language
        may be wrong."""
        language = stemming_language(unit.candidate.document.language or self._language)
        if language not in self._in_language:
            analyzer, text = Analyzer(language), self._claim
            statement = Statement(text, claims(text, analyzer, self._names))
            about = subjects.identifiers(text, analyzer, self._names)
            self._in_language[language] = _Claim(analyzer, statement, about, SourceTerms(text, language, analyzer))
        return self._in_language[language]

    def _said(self, text: str, analyzer: Analyzer) -> Statement:
        """Return a sentence whose code spans count both as code and as words, because a claim may have either."""
        bare = text.replace("`", "")
        words, code = (claims(each, analyzer, self._names) for each in (bare, text))
        return Statement(bare, words._replace(exact=[*words.exact, *code.exact]))

    def _without_known(self, missing: Claims, said: Statement, unit: ScoredUnit) -> Claims:
        """Leave out names that the document has elsewhere, if the sentence has no other names: it need not repeat what
        the document is about."""
        if not missing.names or contradiction.other_names(self._claim, said, self._claim_for(unit).analyzer):
            return missing
        words = set(compounds(visible(self._texts[unit.candidate.document.id].text.casefold())))
        return missing._replace(names=[name for name in missing.names if name.casefold() not in words])

    def _judged(self, unit: ScoredUnit, read: str, missing: Claims, differs: tuple[str, ...]) -> Judgement:
        document, text = unit.candidate.document, unit.candidate.text
        language = self._claim_for(unit).analyzer.language
        besides = self._differing(missing, language)
        if differs:
            besides |= contradiction.negations_of({language, self._language})
        own, share = (self._words.share(each, document.language, besides) for each in (text, read))
        score = (share + max(unit.components["sentence"], 0.0)) / 2
        if own < _OWN_SHARE or score < (CONTRADICTS if differs else SUPPORTS):
            return NOT_FOUND
        return Judgement("contradicted" if differs else "supported", unit, score, differs)

    def _differing(self, missing: Claims, language: str) -> frozenset[str]:
        """Return the words of the claim that the sentence need not have, because it has different ones instead."""
        if not any(missing):
            return frozenset()
        rest = numerals.read(self._claim, language)
        written = [each.written for each in rest.figures] + list(missing.names) + list(missing.exact)
        kept = set(compounds(visible(rest.text.casefold())))
        gone = set(compounds(visible(self._claim.casefold()))) - kept
        return frozenset(gone | {word for each in written for word in compounds(visible(each.casefold()))})

    def _read(self, unit: ScoredUnit, *, alone: bool = False) -> str:
        """Return a sentence with its context above it: title, headings, the header of the table or the line above the
        list, and the sentence before, unless the sentence itself names its subject (`alone`)."""
        read, place = self._texts[unit.candidate.document.id], unit.candidate.unit
        lead = read.text[slice(*place.lead)][: sentences.MAX_CHARACTERS]
        before = "" if alone else _before(read, unit)
        path = _words_of(unit.candidate.document.path)
        return "\n".join(filter(None, (path, unit.candidate.context, lead, before, unit.candidate.text)))


def _is_about_another(claim: _Claim, said: Statement, about_said: Claims, language: str | None) -> bool:
    """Return whether the subjects of a claim and of a sentence have identifiers of one kind that the other lacks."""
    if not (any(claim.about) and any(about_said)):
        return False
    mine = SourceTerms(said.text, language, claim.analyzer).missing(claim.about)
    return any(map(all, zip(mine, claim.terms.missing(about_said), strict=True)))


def _words_of(path: str) -> str:
    """Return the words and dates of a path. Other figures in it are ignored."""
    return " ".join(_PATH_PART.findall(path))


def _before(read: ReadText, unit: ScoredUnit) -> str:
    """Return the previous sentence of the same paragraph."""
    place = unit.candidate.unit
    at = bisect_left(read.units, place.start, key=lambda unit: unit.start)
    if place.kind != "sentence" or at == 0 or read.units[at - 1].block != place.block:
        return ""
    return read.text[read.units[at - 1].start : read.units[at - 1].end]
