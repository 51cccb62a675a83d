"""Formats numbers and dates as Excel shows them, from format codes (ECMA-376, part 1, 18.8.31).

The decimal separator depends on the reader's system and not on the file: here it is a point, and thousands are not
separated. Names of months and days are in the language of the code, if the table below has it.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache

Value = float | str
# Excel shows the formats with these numbers in the format of the reader's system; here they are ISO 8601.
LOCAL_DATES = {14: "yyyy-mm-dd", 22: "yyyy-mm-dd h:mm"}
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<space>_.)|\*.|\[\$(?P<symbol>[^\]-]*)(?:-(?P<language>[0-9A-Fa-f]+)[^\]]*)?\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<test>[<>=]+-?[\d.]+)\]|\[[^\]]*\]|(?P<general>General)"
    r"|(?P<noon>AM/PM|A/P|上午/下午)|(?P<exponent>E[+-]0+)|(?P<date>y+|m+|d+|h+|s+|e+(?![+-]))|(?P<fraction>(?:(?<=s)|(?<=s\]))\.0+)"
    r"|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_LANGUAGE = re.compile(r"\[\$[^\]-]*-([0-9A-F]+)", re.IGNORECASE)
_TEST = re.compile(r"([<>=]+)(.+)")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_FEW = 1e15
_LITERAL = ("quoted", "escaped", "symbol", "other", "date", "fraction")
_MONTHS = {
    0x07: "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    0x09: "January February March April May June July August September October November December",
    0x0A: "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    0x0C: "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    0x10: "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    0x13: "januari februari maart april mei juni juli augustus september oktober november december",
    0x16: "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    0x19: "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
}
_DAYS = {
    0x07: "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    0x09: "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    0x0A: "lunes martes miércoles jueves viernes sábado domingo",
    0x0C: "lundi mardi mercredi jeudi vendredi samedi dimanche",
    0x10: "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    0x13: "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    0x16: "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    0x19: "понедельник вторник среда четверг пятница суббота воскресенье",
}
_ENGLISH = 0x09
Token = tuple[str, str]
_TEXT = ("other", "@")


def number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def general(value: Value) -> str:
    """Return a value without a format. Excel keeps 15 digits."""
    if isinstance(value, str):
        return value
    if value.is_integer() and abs(value) < _FEW:
        return str(int(value))
    text = f"{value:.15g}"
    return f"{Decimal(text):f}" if "e-" in text and abs(value) > 1e-15 else text.replace("e", "E")


def date_of(serial: float, *, from_1904: bool = False) -> dt.datetime | None:
    """Return the date for a number of days, to the millisecond; None if Excel has no date for it."""
    if not from_1904 and 0 <= serial < 60:
        serial += 1  # Excel counts the 29th of February 1900, which did not exist
    base = dt.datetime(1904, 1, 1) if from_1904 else dt.datetime(1899, 12, 30)
    try:
        return base + dt.timedelta(milliseconds=round(serial * 86_400_000)) if serial >= 0 else None
    except OverflowError:
        return None


@lru_cache(maxsize=1024)
def number_format(code: str, from_1904: bool = False) -> NumberFormat:
    return NumberFormat(code, from_1904)


class NumberFormat:
    """A parsed format code. `is_date`: it shows a date or time; `is_day`: it shows a day, month or year."""

    def __init__(self, code: str, from_1904: bool) -> None:
        language = _LANGUAGE.search(code)
        number = int(language[1], 16) & 0xFF if language else _ENGLISH
        parts: list[list[Token]] = [[]]
        for token in map(_token, _TOKEN.finditer(code)):
            if token == ("other", ";"):
                parts.append([])
            else:
                parts[-1].append(token)
        self._sections = [_Section(part, from_1904, number) for part in parts[:4]]
        self.is_date = self._sections[0].is_date
        letters = {text[0].lower() for kind, text in parts[0] if kind == "date"}
        self.is_day = bool(letters & {"y", "d"}) or letters == {"m"}

    def shown(self, value: Value) -> str:
        sections = self._sections
        if isinstance(value, str):
            section = sections[3] if len(sections) == 4 else next((part for part in sections if part.is_text), None)
            return section.with_text(value) if section else value
        chosen, has_sign = self._chosen(value)
        text = chosen.shown(abs(value))
        return f"-{text}" if value < 0 and not has_sign and text.strip("0.") else text

    def _chosen(self, value: float) -> tuple[_Section, bool]:
        """Return the section for a number, and whether the sign is implied because the section is for negative
        numbers."""
        sections = self._sections
        for section in sections[:2]:
            if section.test and section.test(value):
                return section, False
        if sections[0].test:
            return sections[min(len(sections), 3) - 1], False
        if value < 0 and len(sections) > 1:
            return sections[1], True
        return sections[2 if value == 0 and len(sections) > 2 else 0], False


def _token(found: re.Match[str]) -> Token:
    if found["symbol"] is not None:
        return "symbol", found["symbol"]
    return found.lastgroup or "", found[found.lastgroup] if found.lastgroup else ""


class _Section:
    """One of the up to four parts of a format."""

    def __init__(self, tokens: list[Token], from_1904: bool, language: int) -> None:
        self._tokens = tokens
        self._from_1904 = from_1904
        self._language = language if language in _MONTHS else _ENGLISH
        kinds = {kind for kind, _ in tokens}
        self.is_date = bool(kinds & {"date", "elapsed"})
        self.is_text = _TEXT in tokens
        self._is_general = self.is_text or "general" in kinds
        self.test = next((_test(text) for kind, text in tokens if kind == "test"), None)

    def with_text(self, value: str) -> str:
        return "".join(value if token == _TEXT else _literal(token) for token in self._tokens)

    def shown(self, value: float) -> str:
        if self.is_date:
            return self._date(value)
        if self._is_general:
            shown = general(value)
            return "".join(shown if part[0] == "general" or part == _TEXT else _literal(part) for part in self._tokens)
        return _digits(self._tokens, value)

    def _date(self, value: float) -> str:
        when = date_of(value, from_1904=self._from_1904)
        if when is None:
            return general(value)
        if not any(kind == "fraction" for kind, _ in self._tokens):
            when = (when + dt.timedelta(milliseconds=500)).replace(microsecond=0)
        has_noon = any(kind == "noon" for kind, _ in self._tokens)
        shown = []
        for at, (kind, text) in enumerate(self._tokens):
            match kind:
                case "date":
                    is_minute = text[0] in "mM" and self._is_minute(at)
                    shown.append(self._field(when, "n" * len(text) if is_minute else text.lower(), has_noon))
                case "elapsed":
                    unit = {"h": 3600, "m": 60, "s": 1}[text[0].lower()]
                    shown.append(str(int(round(value * 86_400, 3) / unit)).zfill(len(text)))
                case "noon":
                    shown.append("PM" if when.hour >= 12 else "AM")
                case "fraction":
                    shown.append(f".{when.microsecond:06}"[: len(text)])
                case _:
                    shown.append(_literal((kind, text)))
        return "".join(shown)

    def _is_minute(self, at: int) -> bool:
        """Tell whether `m` is a minute: it follows an hour or precedes a second."""
        letters = [text[0].lower() if kind in ("date", "elapsed") else "" for kind, text in self._tokens]
        before = [letter for letter in letters[:at] if letter]
        after = [letter for letter in letters[at + 1 :] if letter]
        return before[-1:] == ["h"] or after[:1] == ["s"]

    def _field(self, when: dt.datetime, letters: str, has_noon: bool) -> str:
        match letters[0], len(letters):
            case ("y", 1 | 2):
                return f"{when.year % 100:02}"
            case ("y" | "e", _):
                return str(when.year)
            case ("m", 1 | 2 as width):
                return f"{when.month:0{width}}"
            case ("m", width):
                name = _MONTHS[self._language].split()[when.month - 1]
                return name[: {3: 3, 5: 1}.get(width, len(name))]
            case ("d", 1 | 2 as width):
                return f"{when.day:0{width}}"
            case ("d", width):
                name = _DAYS[self._language].split()[when.weekday()]
                return name if width > 3 else name[:3]
            case ("h", width):
                return f"{((when.hour + 11) % 12 + 1) if has_noon else when.hour:0{min(width, 2)}}"
            case ("n", width):
                return f"{when.minute:0{min(width, 2)}}"
        return f"{when.second:0{min(len(letters), 2)}}"


def _test(text: str) -> Callable[[float], bool] | None:
    found = _TEST.fullmatch(text)
    compare, limit = (_COMPARE.get(found[1]), number(found[2])) if found else (None, None)
    if compare is None or limit is None:
        return None
    return lambda value: compare(value, limit)


def _literal(token: Token) -> str:
    kind, text = token
    return text if kind in _LITERAL else " " if kind == "space" else ""


def _digits(tokens: Sequence[Token], value: float) -> str:
    """Write a number into the places (0, # and ?) of a section."""
    marks = "".join(text if kind == "other" else "\0" for kind, text in tokens)
    places = [at for at, mark in enumerate(marks) if mark in "0#?"]
    if not places:
        return "".join(_literal(token) for token in tokens)
    if "/" in marks[places[0] : places[-1] + 2]:
        return _fraction(marks, value)
    behind = marks[places[-1] + 1 :]
    value *= 100.0 ** marks.count("%")
    value /= 1000.0 ** (len(behind) - len(behind.lstrip(",")))
    return _placed(tokens, marks, places, value)


def _placed(tokens: Sequence[Token], marks: str, places: Sequence[int], value: float) -> str:
    exponent = next((at for at, (kind, _) in enumerate(tokens) if kind == "exponent"), len(tokens))
    point = next((at for at, mark in enumerate(marks) if mark == "." and at < exponent), exponent)
    decimals = [marks[at] for at in places if point < at < exponent]
    whole = [at for at in places if at < point]
    power = 0
    if exponent < len(tokens) and value:
        power = math.floor(math.log10(value))
        power -= power % max(1, len(whole))
        value /= 10.0**power
    number_ = _rounded(value, len(decimals))
    before, _, after = number_.partition(".")
    after = _without_zeros(after, decimals)
    written = _whole(marks, before.lstrip("0"), whole)
    out: list[str] = []
    for at, token in enumerate(tokens):
        if at in written:
            out.append(written[at])
        elif at == point and at < exponent:
            out.append("." + after if after or "0" in decimals else "")
            if not whole:
                out[-1] = before.lstrip("0") + out[-1]
        elif at == exponent:
            out.append(f"E{'-' if power < 0 else '+' if '+' in token[1] else ''}{abs(power):0{len(token[1]) - 2}}")
        elif marks[at] not in "0#?,":
            out.append(_literal(token))
    return "".join(out)


def _rounded(value: float, places: int) -> str:
    if abs(value) >= _FEW:
        return f"{value:.{places}f}"
    return f"{Decimal(f'{value:.15g}').quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"


def _without_zeros(digits: str, places: Sequence[str]) -> str:
    least = max((at + 1 for at, mark in enumerate(places) if mark == "0"), default=0)
    return digits[:least] + digits[least:].rstrip("0")


def _whole(marks: str, digits: str, places: Sequence[int]) -> dict[int, str]:
    """Return the digits at each place before the point. The first place takes all remaining digits."""
    if not places:
        return {}
    least = next((len(places) - at for at, place in enumerate(places) if marks[place] == "0"), 0)
    digits = digits.rjust(least, "0")
    left = len(digits) - (len(places) - 1)
    written = {places[0]: digits[: max(left, 0)]}
    for at, place in enumerate(places[1:], start=left):
        written[place] = digits[at : at + 1] if at >= 0 else ""
    return written


def _fraction(marks: str, value: float) -> str:
    over = marks.partition("/")[2].strip("\0 ")
    fixed = number(over.strip("?#")) if over.strip("?#0").isdigit() else None
    whole = int(value) if re.match(r"[^/]*[#0?][^/0#?]+[#0?]", marks) else 0
    rest = Fraction(value - whole)
    most = int(fixed or 10 ** max(1, min(len(over), 5)) - 1)
    part = rest.limit_denominator(most)
    top, bottom = (round(rest * most), most) if fixed else (part.numerator, part.denominator)
    if top == bottom:
        whole, top = whole + 1, 0
    if not top:
        return str(whole)
    return f"{whole} {top}/{bottom}" if whole else f"{top}/{bottom}"
