"""Read time expressions in queries ("last May", "in 2023"), and days in texts of memories ("8 May 2023", "gestern").

dateparser reads the expressions. This module finds them itself, with the language tables of dateparser, because
dateparser's own search takes words like "do" and "we" for dates. It is imported at the first use, in a thread
(docs/adr/0035).
"""

from __future__ import annotations

import importlib
import re
from calendar import monthrange
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gnod.analysis.stemming import SNOWBALL

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

# Expressions with these words are not read: in "two weeks before the move", the day of the move is unknown. The words
# of the event find the memory.
_RELATIONS = {"before", "after", "until", "avant", "après", "antes", "después", "prima", "dopo", "voor", "nach"}
_RELATIONS |= {"до", "после", "före", "efter"}


# The maximum number of days kept for a text, and the value for no day.
MAX_DAYS = 3
NO_DAY = -(2**31)
_EPOCH = date(1970, 1, 1)
# The maximum number of cached parsers. A parser is valid for one day.
_PARSERS = 8

_UNSPACED = {
    "zh": "[\u4e00-\u9fff]",
    "ja": "[\u3040-\u30ff\u4e00-\u9fff]",
    "ko": "[\uac00-\ud7ff]",
    "th": "[\u0e00-\u0e7f]",
}
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = ("year", "month", "week", "day")
# Finds relative days in the notation of dateparser's tables, such as "1 week ago", where `\S+` is the number.
_OTHER_DAY = re.compile(
    r"(?!0)\S+ (?:year|month|week|day) ago|in \S+ (?:year|month|week|day)|(?:last|next|this) \w+day"
)
_COUNT = r"(\d++[.,]?\d*+) "
# Abbreviations of months and days of up to this length may be ordinary words: "do", "so", "mar".
_MAX_ABBREVIATION = 3
# An expression has at most this many words.
_MAX_WORDS = 5
_WORD = re.compile(r"[^\W_]+(?:[-/.:][^\W_]+)*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMERIC = re.compile(r"(?:19|20)\d\d[-/.]\d{1,2}(?:[-/.]\d{1,2})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}")
_CJK = re.compile(
    r"(?:\d{4}年|[去今昨明前来本]年)?\s?(?:\d{1,2}月(?:\d{1,2}[日号號])?|\d{4}年)|昨[天日]|[上先]个?[周週月]|지난\s?[주달]|어제|\d{4}년(?:\s?\d{1,2}월)?"
)
# Finds days with a year in a text: 2023-05-08; 8 May, 2023; May 8, 2023; May 2023; 8. Mai 2023.
_DAY = re.compile(
    r"\b(?P<iso>(?:19|20)\d\d-\d\d(?:-\d\d)?)\b"
    r"|\b(?:(?P<day>\d{1,2})(?:st|nd|rd|th|\.)? (?:de )?)?(?P<month>[^\W\d_]{3,12})\.?"
    r"(?: (?P<late>\d{1,2})(?:st|nd|rd|th)?)?,?(?: de)? (?P<year>(?:19|20)\d\d)\b(?!-\d\d\b)"
    r"|(?P<cjk>(?:19|20)\d\d)年(?:(?P<cjk_month>\d{1,2})月(?:(?P<cjk_day>\d{1,2})日)?)?"
)
# Relative time expressions that dateparser's tables lack.
_RELATIVE = (
    r"tonight|weekend|anoche|(?:last|next|this|past) (?:\w+ )?"
    r"(?:night|week|month|year|morning|spring|summer|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|(?:letzte|nächste|vorige|kommende)[nrs]? (?:woche|monat|jahr|sommer|winter|\w+tag)"
    r"|(?:semaine|mois|année) (?:dernière?|prochaine?)|(?:semana|mes|año) (?:pasad[oa]|próxim[oa])"
    r"|(?:days?|weeks?|months?|years?) (?:ago|later)"
)
_RELATIVE_CJK = r"昨[天日]|明[天日]|[上下先来]个?[周週月]|어제|내일"


Prefers = Literal["past", "future"]


class Period(NamedTuple):
    """`start` and `end`: the first and the last day, in days since 1970. `text`: the words of the query."""

    start: int
    end: int
    text: str


def relative_words(text: str, language: str) -> list[str]:
    """Return the time expressions in a text that are relative to the day on which it was said.

    >>> relative_words("I saw her last Tuesday, not yesterday.", "en")
    ['last tuesday', 'yesterday']
    """
    return [match[0] for match in _relative(language).finditer(text.lower())]


def days_meant(words: Sequence[str], language: str, day: int) -> list[int]:
    """Return the days that relative words mean if they were said on `day`; for weeks, months and years, the middle. In
    days since 1970, in the order of the words. The first call imports dateparser, so call it in a thread.

    >>> days_meant(["last tuesday", "yesterday"], "en", 100)  # a Saturday
    [96, 99]
    """
    said = datetime.combine(_EPOCH + timedelta(day), time())
    found = (_as_of(word, (language,), said, "past") for word in words)
    return [(period.start + period.end) // 2 for period in found if period]


def days_in(text: str) -> list[int]:
    """Return the days in a text, in days since 1970, in their order; for months and years, the middle.

    >>> [str(_EPOCH + timedelta(day)) for day in days_in("On 8 May, 2023 and since March 2021")]
    ['2023-05-08', '2021-03-15']
    """
    found = []
    for match in _DAY.finditer(text):
        if iso := match["iso"]:
            numbers = [int(part) for part in iso.split("-")]
        elif match["cjk"]:
            numbers = [int(part) for part in match.group("cjk", "cjk_month", "cjk_day") if part]
        else:
            month = month_numbers().get(match["month"].lower())
            if month is None:
                continue
            day = match["day"] or match["late"]
            numbers = [int(match["year"]), month, *([int(day)] if day else [])]
        if (day_number := _day(numbers)) is not None:
            found.append(day_number)
    return found


def periods(
    query: str, languages: Sequence[str], now: datetime, latest: datetime | None = None, prefers: Prefers = "past"
) -> list[Period]:
    """Return the periods that a query names, relative to `now`. A period without a year that is after `latest`, the
    time of the latest memory, is read relative to `latest`. `prefers`: which May "May" is. The first call imports
    dateparser, so call it in a thread."""
    languages = [code for code in dict.fromkeys(("en", *languages, *_unspaced(query))) if _table(code)]
    words = list(_WORD.finditer(query))
    found: list[Period] = []
    at = 0
    while at < len(words):
        for count in range(min(_MAX_WORDS, len(words) - at), 0, -1):
            span = [word[0] for word in words[at : at + count]]
            around = {word[0].lower() for word in words[at : at + count + 1]}
            if around & _RELATIONS or not _may_name(span, languages):
                continue
            text = query[words[at].start() : words[at + count - 1].end()]
            if period := _parsed(text, languages, now, latest, prefers):
                found.append(period)
                at += count - 1
                break
        at += 1
    cjk = (_parsed(match[0].strip(), languages, now, latest, prefers) for match in _CJK.finditer(query))
    return [*found, *(period for period in cjk if period)]


def _may_name(words: Sequence[str], languages: Sequence[str]) -> bool:
    """Return whether words may be an expression: one of them is a year, a date, or in the tables of a language."""
    if any(_YEAR.fullmatch(word) or _NUMERIC.fullmatch(word) for word in words):
        return True
    if len(words) > 1:
        return any(word.lower() in _anchors(code) for word in words for code in languages)
    # "may" and "march" are also verbs.
    word = words[0]
    return word not in ("may", "march") and any(word.lower() in _names(code) for code in languages)


def _unspaced(query: str) -> list[str]:
    return [code for code, letters in _UNSPACED.items() if re.search(letters, query)]


def _parsed(
    text: str, languages: Sequence[str], now: datetime, latest: datetime | None, prefers: Prefers
) -> Period | None:
    period = _as_of(text, languages, now, prefers)
    if period and latest and not _YEAR.search(text) and period.start > (latest.date() - _EPOCH).days:
        return _as_of(text, languages, latest, prefers) or period
    return period


def _as_of(text: str, languages: Sequence[str], now: datetime, prefers: Prefers) -> Period | None:
    for candidate in dict.fromkeys((text, _without_last(text))):
        data = _parser(tuple(languages), now.date(), prefers).get_date_data(candidate)
        if data.date_obj is not None:
            return _period(data.date_obj.date(), data.period or "day", text)
    return None


def _without_last(text: str) -> str:
    """Drop "last" and similar words before the name of a month or day, because the name alone already means the latest
    one."""
    return re.sub(
        r"^(?:last|past|this|letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?|diese[nrsm]?)\s+", "", text, flags=re.I
    )


def _period(day: date, kind: str, text: str) -> Period:
    if kind == "year":
        start, end = date(day.year, 1, 1), date(day.year, 12, 31)
    elif kind == "month":
        start, end = day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1])
    elif kind == "week":
        start = day - timedelta(day.weekday())
        end = start + timedelta(6)
    else:
        start = end = day
    return Period((start - _EPOCH).days, (end - _EPOCH).days, text)


@lru_cache(_PARSERS)
def _parser(languages: tuple[str, ...], today: date, prefers: Prefers) -> DateDataParser:
    from dateparser.date import DateDataParser

    base = datetime(today.year, today.month, today.day, 12)
    return DateDataParser(
        languages=list(languages),
        settings={"RELATIVE_BASE": base, "PREFER_DATES_FROM": prefers, "RETURN_AS_TIMEZONE_AWARE": False},
    )


def _day(numbers: Sequence[int]) -> int | None:
    year, month, day = (*numbers, *(6, 15)[len(numbers) - 1 :])[:3]
    try:
        return (date(year, month, day) - _EPOCH).days
    except ValueError:
        return None


@cache
def month_numbers() -> Mapping[str, int]:
    """Return the number of each month by its name in lower case, in all languages that have a stemmer."""
    numbers: dict[str, int] = {}
    for code in SNOWBALL:
        for number, month in enumerate(_MONTHS, 1):
            for name in _table(code).get(month, ()):
                numbers.setdefault(str(name).lower(), number)
    return numbers


@cache
def _names(code: str) -> frozenset[str]:
    """Return the words of a language that name a time by themselves: months, days of the week, "yesterday"."""
    table = _table(code)
    names = [str(name).lower() for key in (*_MONTHS, *_WEEKDAYS) for name in table.get(key, ())]
    days = [texts for kind, texts in table.get("relative-type", {}).items() if "day" in kind]
    names += [text.lower() for texts in days for text in texts]
    return frozenset(name for name in names if len(name) > _MAX_ABBREVIATION and " " not in name) | {"may"}


@cache
def _anchors(code: str) -> frozenset[str]:
    """Return words of a language. An expression of several words must contain at least one of them."""
    table = _table(code)
    names = [str(name).lower() for key in (*_MONTHS, *_UNITS) for name in table.get(key, ())]
    return _names(code) | {name for name in names if len(name) >= _MAX_ABBREVIATION}


@cache
def _relative(code: str) -> re.Pattern[str]:
    """Return a pattern that finds the relative words of a language in lower case: "yesterday", "two weeks ago"."""
    names = [re.escape(name) for name in _of_other_days(_table(code).get("relative-type", {}))]
    forms = _of_other_days(_table(code).get("relative-type-regex", {}))
    if code in _UNSPACED:
        return re.compile("|".join([_RELATIVE_CJK, *forms, *names]))
    forms = [form.replace(_COUNT, r"\w+ ") for form in forms]
    return re.compile(rf"\b(?:{'|'.join([*forms, *names, _RELATIVE])})\b|{_RELATIVE_CJK}")


def _of_other_days(table: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the texts for a day, week, month or year other than the present one, the longest first."""
    kinds = [kind for kind in table if _OTHER_DAY.fullmatch(kind)]
    return sorted((str(text) for kind in kinds for text in table[kind]), key=len, reverse=True)


@cache
def _table(code: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = importlib.import_module(f"dateparser.data.date_translation_data.{code}").info
    except ImportError:
        return {}
    return found
