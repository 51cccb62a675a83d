"""Numbers and dates as Excel shows them, from the codes of their formats (ECMA-376, part 1, 18.8.31).

Separators are English, because they depend on who reads the file and not on the file. Names of months and days are in
the language that a code asks for, if it is in the table below.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cache

Value = float | str
Shown = Callable[[Value], str]
# Formats that files name by their numbers. Excel shows 14 and 22 as the reader's system does; here they are ISO 8601.
BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    5: '"$"#,##0;("$"#,##0)',
    6: '"$"#,##0;("$"#,##0)',
    7: '"$"#,##0.00;("$"#,##0.00)',
    8: '"$"#,##0.00;("$"#,##0.00)',
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: "yyyy-mm-dd",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm",
    37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)",
    39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)",
    41: "#,##0;(#,##0);-",
    42: '"$"#,##0;("$"#,##0);-',
    43: "#,##0.00;(#,##0.00);-",
    44: '"$"#,##0.00;("$"#,##0.00);-',
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    49: "@",
}
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|(?P<space>_.)|\*.|\[\$(?P<symbol>[^\]-]*)(?:-(?P<language>[0-9A-Fa-f]+)[^\]]*)?\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<test>[<>=]+-?[\d.]+)\]|\[[^\]]*\]|(?P<general>General)"
    r"|(?P<noon>AM/PM|A/P|上午/下午)|(?P<exponent>E[+-]0+)|(?P<date>y+|m+|d+|h+|s+|e+(?![+-]))|(?P<fraction>(?:(?<=s)|(?<=s\]))\.0+)"
    r"|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"?|\\.|\[[^\]]*\]|[^;])*', re.DOTALL)
_TEST = re.compile(r"([<>=]+)(.+)")
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
    "=": lambda value, limit: value == limit,
    "<>": lambda value, limit: value != limit,
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


def number(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def general(value: Value) -> str:
    """Return a value without a format: up to 15 digits, which is what Excel keeps."""
    if isinstance(value, str):
        return value
    if value.is_integer() and abs(value) < _FEW:
        return str(int(value))
    text = f"{value:.15g}"
    return f"{Decimal(text):f}" if "e-" in text and abs(value) > 1e-15 else text.replace("e", "E")


def date_of(serial: float, *, from_1904: bool = False) -> dt.datetime | None:
    """Return the date that Excel stores as a number of days, to the millisecond; None where it has none."""
    if not from_1904 and 0 <= serial < 60:
        serial += 1  # Excel counts the 29th of February 1900, which did not exist
    base = dt.datetime(1904, 1, 1) if from_1904 else dt.datetime(1899, 12, 30)
    try:
        return base + dt.timedelta(milliseconds=round(serial * 86_400_000)) if serial >= 0 else None
    except OverflowError:
        return None


@cache
def shown_as(code: str, from_1904: bool = False) -> Shown:
    """Return the function that shows values as a format says."""
    sections = [_Section(part, from_1904) for part in _parts(code)]
    return lambda value: _text(sections, value) if isinstance(value, str) else _number(sections, value)


@cache
def is_date(code: str) -> bool:
    return any(kind in ("date", "elapsed") for kind, _ in _tokens(_parts(code)[0]))


@cache
def is_day(code: str) -> bool:
    """Tell whether a format of dates shows a day, month or year, and not only a time."""
    letters = {text[0].lower() for kind, text in _tokens(_parts(code)[0]) if kind == "date"}
    return bool(letters & {"y", "d"}) or letters == {"m"}


def _parts(code: str) -> list[str]:
    parts: list[str] = []
    at = 0
    while at <= len(code) and len(parts) < 4:
        found = _SECTION.match(code, at)
        assert found
        parts.append(found[0])
        at = found.end() + 1
    return parts


def _tokens(section: str) -> list[Token]:
    return [_token(found) for found in _TOKEN.finditer(section)]


def _token(found: re.Match[str]) -> Token:
    if found["symbol"] is not None:
        return "symbol", found["symbol"]
    return found.lastgroup or "", found[found.lastgroup] if found.lastgroup else ""


def _text(sections: Sequence[_Section], value: str) -> str:
    section = sections[3] if len(sections) == 4 else next((each for each in sections if each.is_text), None)
    return section.with_text(value) if section else value


def _number(sections: Sequence[_Section], value: float) -> str:
    chosen, has_sign = _chosen(sections, value)
    text = chosen.shown(abs(value))
    return f"-{text}" if value < 0 and not has_sign and text.strip("0.,") else text


def _chosen(sections: Sequence[_Section], value: float) -> tuple[_Section, bool]:
    """Return the section for a number, and whether it stands for negative ones alone, so that it writes their sign."""
    for section in sections[:2]:
        if section.test and section.test(value):
            return section, False
    if sections[0].test:
        return sections[min(len(sections), 3) - 1], False
    if value < 0 and len(sections) > 1:
        return sections[1], True
    return sections[2 if value == 0 and len(sections) > 2 else 0], False


class _Section:
    """One of the up to four parts of a format."""

    def __init__(self, code: str, from_1904: bool) -> None:
        self._tokens = [(kind, text) for kind, text in _tokens(code)]
        self._from_1904 = from_1904
        kinds = {kind for kind, _ in self._tokens}
        self._is_general = "general" in kinds
        self._is_date = bool(kinds & {"date", "elapsed"})
        self.is_text = ("other", "@") in self._tokens
        tests = [found for kind, text in self._tokens if kind == "test" and (found := _TEST.fullmatch(text))]
        self.test = _test(tests[0]) if tests else None
        language = next((int(found["language"], 16) & 0xFF for found in _TOKEN.finditer(code) if found["language"]), 0)
        self._language = language if language in _MONTHS else _ENGLISH

    def with_text(self, value: str) -> str:
        return "".join(value if token == ("other", "@") else _literal(token) for token in self._tokens)

    def shown(self, value: float) -> str:
        if self._is_date:
            return self._date(value)
        if self._is_general or self.is_text:
            return "".join(
                general(value) if kind == "general" or text == "@" else _literal((kind, text))
                for kind, text in self._tokens
            )
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
        """Tell whether `m` is a minute: it stands behind an hour or before a second."""
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


def _test(found: re.Match[str]) -> Callable[[float], bool] | None:
    compare, limit = _TESTS.get(found[1]), number(found[2])
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
    value *= 100.0 ** marks.count("%")
    trailing = re.match(r",*", marks[places[-1] + 1 :])
    assert trailing
    value /= 1000.0 ** len(trailing[0])
    return _placed(tokens, marks, value)


def _placed(tokens: Sequence[Token], marks: str, value: float) -> str:
    places = [at for at, mark in enumerate(marks) if mark in "0#?"]
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
    """Return what is written at each place before the point. The first one takes all digits that are left."""
    if not places:
        return {}
    least = next((len(places) - at for at, place in enumerate(places) if marks[place] == "0"), 0)
    digits = digits.rjust(least, "0")
    if "," in marks[places[0] : places[-1]]:
        return {places[0]: _grouped(digits)}
    left = len(digits) - (len(places) - 1)
    written = {places[0]: digits[: max(left, 0)]}
    for at, place in enumerate(places[1:], start=left):
        written[place] = digits[at : at + 1] if at >= 0 else ""
    return written


def _grouped(digits: str) -> str:
    first = len(digits) % 3
    groups = [digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3))]
    return ",".join(filter(None, groups))


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
