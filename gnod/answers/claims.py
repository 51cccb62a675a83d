"""Find what can be checked word for word in a sentence (figures, dates, names, identifiers), and check it in a source.
Pure; only one thread may use an Analyzer.

In languages that capitalise only names, a name is a capitalised word within a sentence. In German, which
capitalises all nouns, it is two such words in a row. In Japanese, it is a word in katakana, or kanji before a
word such as 氏 or 駅.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words
from gnod.analysis.terms import Analyzer, compounds, visible
from gnod.answers import numerals
from gnod.answers.numerals import Date, Figure
from gnod.answers.words import terms_of


class Claims(NamedTuple):
    """`names`: as written. `exact`: identifiers, code, and names in scripts without capital letters."""

    figures: list[Figure]
    dates: list[tuple[Date, ...]]
    weekdays: frozenset[int]
    names: list[str]
    exact: list[str]


# These languages capitalise all nouns.
_WITH_CAPITAL_NOUNS = frozenset({"de", "lb"})

_CODE = re.compile(r"`([^`\n]+)`")
# Identifiers such as F28, v1.2.3, DEC-0057; snake_case, foo::bar, camelCase; net.core.rmem_max; ada@example.org,
# https://example.org/a; 0x7f; /var/log/gnod
_IDENTIFIER = re.compile(
    r"(?<![\w/])(?:"
    r"[a-z][a-z+.-]*://[^\s<>\"”)\]]+[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|\w*(?:_|::)[\w:.]*\w|[a-z]+[A-Z]\w*|[a-z]\w+(?:\.[a-z]\w+)+"
    r"|[A-Za-z]+(?:-?\d[\d.]*)+\w*(?<!\.)|0x[0-9a-fA-F]+|~?/[\w.-]+(?:/[\w.-]*\w)+"
    r")"
)
_WORD = re.compile(r"[^\W\d_](?:[\w'’]|-(?=\w))*(?:\+\+|#(?!\w))?")
# Places where a new sentence or phrase begins, so a capital letter does not mark a name: after a colon, a dash or a
# bracket, in a quotation, in a list.
_BEGINS = re.compile(r"(?:^|[.!?:…–—|(\[\"“„«‘*>\n]|\s-)\W*\Z")
_KATAKANA = re.compile(r"[ァ-ヶー・]{3,}")
_TITLED = re.compile(
    r"[一-龥々]{2,6}(?=さん|氏|様|先生|君|教授|社長)|[一-龥々]{2,6}[市県駅寺町村区省州](?![一-龥々])"
    r"|[가-힣]{2,4}(?= ?(?:씨|님)(?:\W|\Z))|《[^》\n]+》|『[^』\n]+』"
)


def claims(sentence: str, analyzer: Analyzer, known_names: Collection[str] = ()) -> Claims:
    """Return what can be checked in a sentence. `analyzer`: for its language. `known_names`: in lower case; they count
    even at the beginning of a sentence."""
    exact = [match[1] for match in _CODE.finditer(sentence)]
    rest = _CODE.sub(" ; ", sentence)
    exact += [match[0] for match in _IDENTIFIER.finditer(rest)]
    rest = _IDENTIFIER.sub(" ; ", rest)
    found = numerals.read(rest, analyzer.language)
    exact += [match[0] for pattern in (_KATAKANA, _TITLED) for match in pattern.finditer(found.text)]
    return Claims(found.figures, found.dates, found.weekdays, _names(found.text, analyzer, known_names), exact)


def names_within(text: str) -> frozenset[str]:
    """Return the words, in lower case, that always have a capital letter in a text, and do so at least once within a
    sentence."""
    words = list(_WORD.finditer(text))
    within = (word for word in words if not _BEGINS.search(text, max(word.start() - 8, 0), word.start()))
    return frozenset(word[0].lower() for word in within if word[0][0].isupper()) - {word[0] for word in words}


class SourceTerms:
    """The text of a source, prepared for the comparison with claims. `terms`: from the analyzer of the answer's
    language. `capitalised`: words, in lower case, that always begin with a capital letter."""

    def __init__(self, text: str, language: str | None, analyzer: Analyzer) -> None:
        self.is_foreign = language is not None and language != analyzer.language
        self.terms = frozenset(terms_of(compounds(visible(text)), analyzer))
        words = _WORD.findall(text)
        self.capitalised = frozenset(word.lower() for word in words if word[0].isupper()) - frozenset(words)
        self._analyzer = analyzer
        self._text = _plain(text)
        self._words = frozenset(_without_possessive(word).casefold() for word in words)
        self._has_capitals = any(map(str.isupper, text))
        self._dates: list[Date] = []
        self._weekdays: frozenset[int] = frozenset()
        self._figures: set[str] = set()
        for each in dict.fromkeys((language, analyzer.language)):
            found = numerals.read(text, each)
            self._dates += [date for readings in found.dates for date in readings]
            self._weekdays |= found.weekdays
            for figure in (*found.figures, *_digits(text)):
                self._figures |= figure.readings | set(figure.parts)
        self._figures |= {str(number) for date in self._dates for number in (date.year, date.day) if number}

    def missing(self, claimed: Claims) -> Claims:
        """Return the claims that the source does not have."""
        return Claims(
            [figure for figure in claimed.figures if not self._has_figure(figure)],
            [date for date in claimed.dates if not any(map(self._has_date, date))],
            claimed.weekdays - self._weekdays,
            [name for name in claimed.names if not self._has_name(name)],
            [each for each in claimed.exact if _plain(each) not in self._text],
        )

    def _has_figure(self, figure: Figure) -> bool:
        is_one = bool(figure.readings & self._figures)
        return is_one or (bool(figure.parts) and self._figures.issuperset(figure.parts))

    def _has_date(self, date: Date) -> bool:
        """Return whether the source has a date that agrees in all parts that both know. A part that it leaves open must
        be a figure of the source."""
        return any(
            all(mine in (0, theirs) or (theirs == 0 and str(mine) in self._figures) for mine, theirs in pairs)
            for pairs in (tuple(zip(date, other, strict=True)) for other in self._dates)
        )

    def _has_name(self, name: str) -> bool:
        if self.is_foreign and (not self._has_capitals or self._analyzer.language in _WITH_CAPITAL_NOUNS):
            return True  # the word is in another script, or a noun of another language
        return name.casefold() in self._words or self.terms.issuperset(
            terms_of(compounds(visible(name)), self._analyzer)
        )


def _digits(text: str) -> list[Figure]:
    """Return the figures of a text as written, including those within dates and identifiers."""
    return [Figure(frozenset({match.lstrip("0") or "0"})) for match in re.findall(r"\d+", text)]


def _plain(text: str) -> str:
    """Return a text for the comparison of exact parts: without spaces, hyphens and case."""
    return re.sub(r"[\s\-‐‑]+", "", text).casefold()


def _names(text: str, analyzer: Analyzer, known_names: Collection[str]) -> list[str]:
    words = list(_WORD.finditer(text))
    dropped = ENGLISH_FUNCTION_WORDS | function_words([word[0] for word in words], [analyzer.language])
    is_name = [
        word[0][0].isupper()
        and word[0].lower() not in dropped
        and re.split("['’]", word[0])[0].lower() not in dropped
        and (word[0].lower() in known_names or not _BEGINS.search(text, max(word.start() - 8, 0), word.start()))
        for word in words
    ]
    if analyzer.language in _WITH_CAPITAL_NOUNS:
        pairs = [False, *(words[n - 1].end() + 1 == words[n].start() for n in range(1, len(words)))]
        before = [is_name[n] and n > 0 and pairs[n] and is_name[n - 1] for n in range(len(words))]
        after = [n + 1 < len(words) and before[n + 1] for n in range(len(words))]
        is_name = [
            before[n] or after[n] or (is_name[n] and word[0].isupper() and len(word[0]) > 1)
            for n, word in enumerate(words)
        ]
    return [_without_possessive(word[0]) for word, counts in zip(words, is_name, strict=True) if counts]


def _without_possessive(word: str) -> str:
    return re.sub(r"['’]s?\Z", "", word)
