"""Find numbers and dates in a text, and the form that all their spellings share. Pure; must not depend on an index.

`1,234,567` and `1 234 567` are 1234567, `4 May 2026` and `04.05.2026` are 2026-05-04, and the digits of a telephone
number, an IBAN or an ISBN are one number, however they are grouped. An ambiguous figure has both forms: `1,234` is a
thousand or a decimal, `04/05/2026` is in April or in May.

months.txt lists the names of the twelve months in all languages of `alphabets`, one month per line. The names come from
dateparser, which takes them from Unicode's CLDR.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import NamedTuple

from gnod.analysis.stemming import fold, normalise

# Digits with at most two characters between them. The pattern begins with a digit, which makes it several times as
# fast; the lookbehind that excludes a character before that digit therefore follows it. It does not exclude letters of
# scripts without spaces, because a number may follow them directly.
_LETTER = r"0-9A-Za-z_\u00c0-\u0dff\u1200-\u1fff"
_RUN = re.compile(
    rf"[0-9](?<![{_LETTER}][0-9])(?:[0-9]{{3,}}|[0-9]*(?=[^0-9]{{1,2}}[0-9]))"
    rf"(?:(?:[ .,'/年月-]|[년월] ?|\)[ -]?|[ /]\(|\. )[0-9]+)*(?:-?[xX](?!\w)|[日일]|(?![{_LETTER}]))"
)
_SHORTEST, _YEAR_DIGITS = 3, 4
_BEFORE = rf"(?<![{_LETTER}.,/-])"
_YEAR = re.compile(rf"{_BEFORE}[12][0-9]{{3}}(?![\d/-])")
_YEAR_FIRST = re.compile(
    rf"{_BEFORE}([12][0-9]{{3}})([-/.年]|년 ?)([0-9]{{1,2}})(?:\2|월 ?|月)([0-9]{{1,2}})[日일]?(?![\d/-])"
)
_YEAR_LAST = re.compile(rf"{_BEFORE}([0-9]{{1,2}})([-/.]) ?([0-9]{{1,2}})\2 ?([12][0-9]{{3}})(?![\d/-])")
_TOKEN = re.compile(r"[0-9]+|[^\W\d_][^\s\d.,;:!?()/]*")
_REACH = 32  # characters from a year to its day and month
# Words that may be between a day, a month and a year. They are skipped.
_FILLERS = frozenset(
    {"st", "nd", "rd", "th", "er", "o", "º", "ª", "de", "of", "del", "d", "the", "m", "gada", "г", "р"}
)

_GROUPED = re.compile(r"([1-9]\d{0,2}(?:([,.' ])\d{3})(?:\2\d{3})*|[1-9]\d?(?:,\d\d)+,\d{3})(?:[.,](\d+))?")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")
# Lists of numbers and IP addresses are not codes.
_NO_CODE = re.compile(r"[,']|\A[0-9]{1,3}(?:\.[0-9]{1,3}){3}\Z")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}[0-9]{2}(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?(?!\w)")
_IBAN_HEAD = len("NL91 ABNA ")
# The number of digits of a code, such as a telephone number. A run of fewer digits is several numbers, and a longer one
# is a row of a table.
_LEAST, _MOST = 7, 20
# Country codes have two digits, except these: https://www.itu.int/pub/T-SP-E.164D
_COUNTRY = re.compile("[17]|(?:2[1-69]|3[578]|42|5[09]|6[789]|8[0578]|9[679])[0-9]|[0-9]{2}")


class WrittenFigure(NamedTuple):
    """`form`: an ISO date, or digits without grouping, with a point before decimals."""

    start: int
    end: int
    form: str

    def is_written(self, text: str) -> bool:
        """Return whether the text contains the form itself. The parts of the form are then terms anyway."""
        return text[self.start : self.end] == self.form


def figures(text: str) -> Iterator[WrittenFigure]:
    """Yield the numbers and dates that have other spellings."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        if end - start < _SHORTEST:
            continue
        digits = run[0]
        if digits.isdigit():
            yield from _of_digits(text, start, end, digits)
        elif iban := _IBAN.search(text, max(start - _IBAN_HEAD, 0), end + _IBAN_HEAD):
            yield WrittenFigure(iban.start(), iban.end(), iban[0].replace(" ", "").lower())
        elif dates := list(_dates(text, start, end)):
            yield from dates
        else:
            for form in _forms(digits, _is_international(text, start)):
                yield WrittenFigure(start, end, form)


def _of_digits(text: str, start: int, end: int, digits: str) -> Iterator[WrittenFigure]:
    """Yield the date around a year, or other forms of a telephone number, for digits without separators."""
    if len(digits) == _YEAR_DIGITS:
        for year in _YEAR.finditer(text, start, end):
            yield from _with_name(text, year)
    elif _LEAST <= len(digits) <= _MOST and (digits[0] == "0" or _is_international(text, start)):
        for form in _codes(digits, _is_international(text, start)):
            yield WrittenFigure(start, end, form)


def _is_international(text: str, start: int) -> bool:
    return text[max(start - 3, 0) : start].rstrip(" (").endswith("+")


def _dates(text: str, low: int, high: int) -> Iterator[WrittenFigure]:
    """Yield the dates in a run of digits, and dates with the name of a month if the run contains their year."""
    for found in _YEAR_FIRST.finditer(text, low, high):
        yield from _figures_of(found, found[1], found[3], found[4])
    for found in _YEAR_LAST.finditer(text, low, high):
        yield from _figures_of(found, found[4], found[3], found[1])
        if found[2] != "." and found[1] != found[3]:
            yield from _figures_of(found, found[4], found[1], found[3])
    for year in _YEAR.finditer(text, low, high):
        yield from _with_name(text, year)


def _figures_of(found: re.Match[str], year: str, month: str, day: str) -> Iterator[WrittenFigure]:
    if 1 <= int(month) <= 12 and 1 <= int(day) <= 31:
        yield WrittenFigure(found.start(), found.end(), f"{year}-{int(month):02}-{int(day):02}")


def _with_name(text: str, year: re.Match[str]) -> Iterator[WrittenFigure]:
    """Yield the date of a year that has a day and the name of a month just before it, or otherwise just after it."""
    start, end = year.span()
    before = _tokens(text, max(start - _REACH, 0), start)[::-1]
    after = _tokens(text, end, end + _REACH)
    for tokens in (before[:2], after[:2]):
        days = [token[0] for token in tokens if token[0].isdigit() and 1 <= int(token[0]) <= 31]
        names = [token[0] for token in tokens if not token[0].isdigit()]
        if len(days) == len(names) == 1 and (months := _months().get(fold(normalise(names[0])))):
            low, high = min(start, tokens[0].start(), tokens[1].start()), max(end, tokens[0].end(), tokens[1].end())
            for month in months:
                yield WrittenFigure(low, high, f"{year[0]}-{month:02}-{int(days[0]):02}")
            return


def _tokens(text: str, start: int, end: int) -> list[re.Match[str]]:
    """Return the words and numbers in a range that are not fillers."""
    return [token for token in _TOKEN.finditer(text, start, end) if token[0].lower() not in _FILLERS]


@cache
def _months() -> dict[str, list[int]]:
    months: dict[str, list[int]] = {}
    lines = (resources.files("gnod.analysis") / "months.txt").read_text(encoding="utf-8").splitlines()
    for number, names in enumerate(lines, 1):
        for name in names.split():
            months.setdefault(name, []).append(number)
    return months


def _forms(run: str, is_international: bool) -> Iterator[str]:
    """Yield the forms of a run of digits."""
    digits = re.sub("[^0-9xX]", "", run).lower()
    grouped, decimal = _GROUPED.fullmatch(run), _DECIMAL.fullmatch(run)
    if grouped:
        whole = re.sub(r"\D", "", grouped[1])
        yield f"{whole}.{grouped[3]}" if grouped[3] else whole
    if decimal:
        yield f"{decimal[1]}.{decimal[2]}"
    elif not grouped and _LEAST <= len(digits) <= _MOST and not _NO_CODE.search(run):
        yield from _codes(digits, is_international)


def _codes(digits: str, is_international: bool) -> Iterator[str]:
    """Yield the digits of a code; for a telephone number, also without the prefixes for calls from elsewhere."""
    yield digits
    stripped = digits.lstrip("0")
    if stripped and stripped != digits:
        yield stripped
    if is_international or digits.startswith("00"):
        yield _COUNTRY.sub("", stripped, count=1).lstrip("0") or digits
