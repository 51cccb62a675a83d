"""Read the numbers and dates of a text in one form, however they are written. Pure.

"2,350", "2.350" and "2 350" may be the same number; "12.10.2026", "12 October 2026" and "2026年10月12日" are the
same day. A form with several readings keeps all of them: texts agree if they have one in common.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple


class Figure(NamedTuple):
    """`readings`: the numbers that it may be, in plain form. `parts`: its groups of digits, if spaces separate them so
    that they may be several numbers. `written`: as in the text. `counts`: the word or sign after it, in lower case."""

    readings: frozenset[str]
    parts: tuple[str, ...] = ()
    written: str = ""
    counts: str = ""


class Date(NamedTuple):
    """0 means unknown."""

    year: int
    month: int
    day: int


class Numerals(NamedTuple):
    """`dates`: each date with all its readings. `weekdays`: 0 is Monday. `text`: the text without dates and
    weekdays."""

    figures: list[Figure]
    dates: list[tuple[Date, ...]]
    weekdays: frozenset[int]
    text: str


_MONTHS = {
    "en": "january february march april may june july august september october november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "short": "jan feb mar apr may jun jul aug sep oct nov dec",
    "kurz": "jan feb mär apr mai jun jul aug sep okt nov dez",
}
_WEEKDAYS = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "pt": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    "nl": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "ja": "月曜 火曜 水曜 木曜 金曜 土曜 日曜",
    "zh": "星期一 星期二 星期三 星期四 星期五 星期六 星期日",
}
# The words start with two, because "one" is often not a number.
_WORDS = {
    "en": "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn"
    " achtzehn neunzehn zwanzig",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit"
    " dix-neuf vingt",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete"
    " dieciocho diecinueve veinte",
}
_TENS = {
    "en": "thirty forty fifty sixty seventy eighty ninety hundred",
    "de": "dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert",
    "es": "treinta cuarenta cincuenta sesenta setenta ochenta noventa cien",
}


def _numbered(lists: dict[str, str], first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * n for words in lists.values() for n, word in enumerate(words.split())}


_MONTH_NUMBERS = _numbered(_MONTHS, 1)
_WEEKDAY_NUMBERS = _numbered(_WEEKDAYS, 0) | {"sonnabend": 5}
# A word counts only in its own language: "once" is eleven in Spanish.
_WORD_NUMBERS = {
    language: _numbered({language: words}, 2) | _numbered({language: _TENS.get(language, "")}, 30, 10)
    for language, words in _WORDS.items()
}
# These are also ordinary words, so they are months only beside a day or a year.
_AMBIGUOUS = frozenset(["may", "march", "mars", "mai", "marzo", "mar", "jan", "dec", "sep", "mei", "maj", "mär"])


def _any(words: dict[str, int]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_MONTH = rf"(?P<month>{_any(_MONTH_NUMBERS)})\b\.?"
_DAY = r"(?P<day>\d{1,2})"
_YEAR = r"(?P<year>\d{4})"
_AFTER = r"(?:st|nd|rd|th|er|º|\.)?"
_DATES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?<!\d){_YEAR}([-/.])(?P<month>\d{{1,2}})\2{_DAY}(?!\d)",
        rf"(?:{_YEAR}[年년]\s*)?(?P<month>\d{{1,2}})[月월](?:\s*{_DAY}[日일])?",
        rf"(?<![\d.]){_DAY}\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}(?!\d)",
        rf"(?<![\d/-])(?P<either>\d{{1,2}})(?P<sign>[/-])(?P<other>\d{{1,2}})(?P=sign){_YEAR}(?!\d)",
        rf"(?<![\d.,:]){_DAY}{_AFTER}[ \u00a0](?:of |de |the )?{_MONTH}(?:,?[ \u00a0](?:de )?{_YEAR}(?!\d))?",
        rf"\b{_MONTH}[ \u00a0](?:the )?{_DAY}(?!\d|[.,:]\d){_AFTER}(?:,?[ \u00a0]{_YEAR}(?!\d))?",
        rf"\b{_MONTH}[ \u00a0](?:of |de )?{_YEAR}(?!\d)",
    )
)
_BARE_MONTH = re.compile(rf"\b{_MONTH}(?!\w)", re.I)
_WEEKDAY = re.compile(rf"\b({_any(_WEEKDAY_NUMBERS)})s?\b|([月火水木金土日]曜|星期[一二三四五六日])", re.I)

# A space separates thousands, or two numbers. The other characters separate thousands or decimals.
_FIGURE = re.compile(r"\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,:]\d+)*")
_BLANK = re.compile(r"[ \u00a0\u2009\u202f'’]")
_COUNTED = re.compile(r"[\s*`]{0,4}([%€$£¥°]|[^\W\d_]+)")
_LETTERS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")

_CJK_DIGITS = {sign: n for n, sign in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_CJK_UNITS = {"十": 10, "百": 100, "千": 1000}
_CJK_LARGE = {"万": 10_000, "萬": 10_000, "億": 100_000_000, "亿": 100_000_000}
_COUNTERS = "年月日時时分秒人個个本回度歳岁倍割種种円元台匹冊天次週周点點"
_CJK_NUMBER = re.compile(
    rf"[〇零一二三四五六七八九十百千万萬億亿两兩]+(?=[{_COUNTERS}])|[一二三四五六七八九]?[十百千][一二三四五六七八九十百千万億]+"
)


def read(text: str, language: str | None) -> Numerals:
    """Return the numbers and dates of a text. `language`: the language of number words."""
    text = _CJK_NUMBER.sub(lambda match: str(_cjk_number(match[0])), _with_ascii_digits(text))
    weekdays = frozenset(_WEEKDAY_NUMBERS[(match[1] or match[2]).lower()] for match in _WEEKDAY.finditer(text))
    text = _WEEKDAY.sub(" ", text)
    dates: list[tuple[Date, ...]] = []

    def take(match: re.Match[str]) -> str:
        readings = _dates(match)
        dates.extend([readings] if readings else [])
        return " ; " if readings else match[0]

    for pattern in _DATES:
        text = pattern.sub(take, text)
    text = _BARE_MONTH.sub(lambda match: match[0] if match["month"].lower() in _AMBIGUOUS else take(match), text)
    return Numerals(list(_figures(text, language or "en")), dates, weekdays, text)


def _with_ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    text = re.sub(r"\d", lambda match: str(unicodedata.decimal(match[0])), text)
    return text.translate(str.maketrans("．，٫٬：", ".,.,:"))


def _dates(match: re.Match[str]) -> tuple[Date, ...]:
    """Return the possible dates; empty for an impossible one, such as the version 2026.40.1."""
    found = match.groupdict()
    year, day = int(found.get("year") or 0), int(found.get("day") or 0)
    if "either" in found:
        first, second = int(found["either"]), int(found["other"])
        pairs = dict.fromkeys([(second, first), (first, second)])
        return tuple(Date(year, month, day) for month, day in pairs if 0 < month <= 12 and 0 < day <= 31)
    month = int(found["month"]) if found["month"].isdigit() else _MONTH_NUMBERS[found["month"].lower()]
    return (Date(year, month, day),) if 0 < month <= 12 and day <= 31 else ()


def _figures(text: str, language: str) -> Iterator[Figure]:
    for match in _FIGURE.finditer(text):
        groups = _BLANK.split(match[0])
        parts = tuple(map(_plain, groups)) if len(groups) > 1 and " " in match[0] else ()
        yield Figure(_readings("".join(groups)), parts, match[0], _counts(text, match.end()))
    numbers = _WORD_NUMBERS.get(language, {})
    for match in _LETTERS.finditer(text):
        if (number := numbers.get(match[0].lower())) is not None:
            yield Figure(frozenset({str(number)}), (), match[0], _counts(text, match.end()))


def _counts(text: str, at: int) -> str:
    match = _COUNTED.match(text, at)
    return match[1].lower() if match else ""


def _readings(figure: str) -> frozenset[str]:
    """Return the numbers that a figure may be.

    >>> sorted(_readings("2,350")), sorted(_readings("1.234,50")), sorted(_readings("09:00"))
    (['2.35', '2350'], ['1234.5'], ['9', '9:00'])
    """
    if ":" in figure:
        hours, _, rest = figure.partition(":")
        return frozenset({f"{_plain(hours)}:{rest}", *([_plain(hours)] if rest == "00" else [])})
    parts = re.split("[.,]", figure)
    if len(parts) == 1:
        return frozenset({_plain(figure)})
    signs = re.sub(r"\d", "", figure)
    has_groups = all(len(part) in (2, 3) for part in parts[1:]) and len(parts[0]) <= 3
    readings = set()
    if len(set(signs)) == 1 and has_groups and len(parts[-1]) == 3:
        readings.add(_plain("".join(parts)))
    if len(signs) == 1 or (len(set(signs)) == 2 and signs.count(signs[-1]) == 1):
        readings.add(_plain("".join(parts[:-1]), parts[-1]))
    return frozenset(readings or {figure})  # a version, such as 1.2.3, has no readings


def _plain(digits: str, decimals: str = "") -> str:
    decimals = decimals.rstrip("0")
    return (digits.lstrip("0") or "0") + (f".{decimals}" if decimals else "")


def _cjk_number(run: str) -> int:
    """Return the number that is written in kanji.

    >>> _cjk_number("十七"), _cjk_number("二〇二六"), _cjk_number("三万五千")
    (17, 2026, 35000)
    """
    if all(sign in _CJK_DIGITS for sign in run):
        return int("".join(str(_CJK_DIGITS[sign]) for sign in run))
    total = section = digit = 0
    for sign in run:
        if sign in _CJK_DIGITS:
            digit = _CJK_DIGITS[sign]
        elif sign in _CJK_UNITS:
            section += (digit or 1) * _CJK_UNITS[sign]
            digit = 0
        else:
            total += (section + digit or 1) * _CJK_LARGE[sign]
            section = digit = 0
    return total + section + digit
