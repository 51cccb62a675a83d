"""Read from when and until when a text is true, if it says so plainly: "until March 2026", "seit Mai". Pure.

The times apply to the whole memory, so only texts of one sentence are read. Ambiguous times are ignored: an end in a
negated sentence ("not until March"), or before another statement ("until March, then Postgres 16").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gnod.analysis.negations import negating_words
from gnod.memory.recalling.speaker_turns import turn
from gnod.memory.recalling.time_expressions import Period, Prefers, month_numbers, periods
from gnod.memory.records import NO_TIMES, Times
from gnod.memory.update_words import CHANGED, form
from gnod.memory.validity import DAY_MS

_MAX_CHARACTERS = 600
_MAX_DATE_WORDS = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _ValidityWords(NamedTuple):
    """The words of a language, as regular expressions. After `since`, a day is the last such day; after `starting`, the
    next one. `first` comes before a period, and `last` is within it. `past`: marks sentences about the past. `now`:
    marks sentences that are true from the time they were written."""

    since: str
    starting: str
    until: str
    first: str
    last: str
    past: str
    now: str


_LANGUAGES = {
    "en": _ValidityWords(
        since="since",
        starting="as of|(?:starting|effective)(?: from| in| on)?",
        until="(?:until|till|through)(?: the end of)?",
        first="from|between|since",
        last="to|until|till|through|and",
        past=r"(?!.*\b(?:is|are|be|been|has|have|will|can|must|may) )(?=.*\b(?:was|were|had|did|ran|\w{2,}ed)\b)",
        now="no longer(?! than)|not (?:\\w+ )+anymore|from now on|now(?! that)",
    ),
    "de": _ValidityWords(
        since="seit(?: dem)?",
        starting="ab(?: dem)?",
        until="bis(?: zum| ende| einschließlich)?",
        first="von|vom|zwischen|seit",
        last="bis(?: zum)?|und",
        past=r".*\b(?:war|waren|hatten?|wurden?|galt|lief(?:en)?|(?!letzt)\w+(?:tz|ier|ohn|eb|ühr|ost|eit|ag)e?ten?)\b"
        r"|.*\b(?:habe|haben|hat)\b.*\w(?:t|en)\b",
        now="nicht mehr|kein\\w* \\w+ mehr|ab sofort|jetzt|inzwischen",
    ),
    "fr": _ValidityWords(
        since="depuis(?: le)?",
        starting="à partir d[eu]|dès(?: le)?",
        until="jusqu['’](?:en|au|à)(?: la fin de)?",
        first="de|du|entre|depuis",
        last="à|au|et|jusqu['’](?:en|au|à)",
        past=r".*\b(?:\w{2,}(?:ait|aient)|(?:a|avons|ont|ai) \w+[éiu]e?s?|furent)\b",
        now="n[e'’] ?\\w+ plus|désormais|maintenant",
    ),
    "es": _ValidityWords(
        since="desde(?: el)?",
        starting="a partir del?",
        until="hasta(?: el| finales de)?",
        first="de|del|desde|entre",
        last="a|al|hasta|y",
        past=r".*\b(?:era|eran|fue|fueron|tenía|había|\w{2,}(?:aba|aban|ábamos|íamos|ían|aron|ieron|ó))\b",
        now="ya no|ahora|en adelante",
    ),
    "it": _ValidityWords(
        since="dal?",
        starting="a partire dal?",
        until="fino al?",
        first="dal?|tra|fra",
        last="al?|fino al?|e",
        past=r".*\b(?:era|erano|furono|\w{3,}(?:ava|eva|avamo|avano|evamo|evano))\b",
        now="non \\w+ più|adesso|d['’]ora in poi",
    ),
    "pt": _ValidityWords(
        since="desde(?: o)?",
        starting="a partir de",
        until="até(?: ao?| o fim de)?",
        first="de|desde|entre",
        last="a|até|e",
        past=r".*\b(?:era|eram|foi|foram|tinha|tinham|\w{3,}(?:ava|avam|ávamos|aram|eram|iram|ou))\b",
        now="já não|não \\w+ mais|agora",
    ),
    "nl": _ValidityWords(
        since="sinds",
        starting="vanaf",
        until="tot(?: en met| eind)?",
        first="van|tussen|sinds",
        last="tot(?: en met)?|en",
        past=r".*\b(?:was|waren|had|hadden|werd|werden|\w+(?:kten?|oonden?|ostten?))\b|.*\b(?:heb|heeft|hebben)\b.*\bge\w+",
        now="niet meer|geen \\w+ meer|voortaan",
    ),
    "ru": _ValidityWords(
        since="со?",
        starting="начиная со?",
        until="до|по",
        first="со?",
        last="до|по",
        past=r".*\w(?:л|ла|ли|ло)(?:сь|ся)?\b",
        now="больше не|теперь|сейчас",
    ),
}
_CJK_DATE = r"((?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号號])?|\d{4}年)"
_CJK_SINCE = re.compile(rf"{_CJK_DATE}(?:から|以来|以降|起|开始|開始)")
_CJK_UNTIL = re.compile(rf"{_CJK_DATE}(?:まで|为止|為止)")
_SEVERAL_SENTENCES = re.compile(r"(?<!\b\d)(?<!\b\d\d)[.!?]\s+\S|[。！？]\s*\S|\n")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# The text after such a word is another statement.
_NEXT_CLAUSE = re.compile(r".*(?:[,;:–—]|\b(?:and|then|but|und|dann|aber|et|puis|mais|y|luego|pero|poi|ma|maar|и)\b)")


def times_in(text: str, at_ms: int) -> Times:
    """Return from when and until when a text is true. `at_ms`: when it was written.

    >>> def shown(text):
    ...     times = times_in(text, 1_795_000_000_000)  # 2026-11-18
    ...     return [ms and str((_EPOCH + timedelta(milliseconds=ms)).date()) for ms in times[1:]]
    >>> shown("We used Postgres 14 until March"), shown("The office is closed until March")
    ([None, '2026-03-31'], [None, '2027-03-31'])
    """
    if len(text) > _MAX_CHARACTERS or _SEVERAL_SENTENCES.search(text.strip()) or turn(text):
        return NO_TIMES
    at = _EPOCH + timedelta(milliseconds=at_ms)
    begins, ends = set(_begins(text, at)), set(_ends(text, at))
    if not (begins or ends) and any(_found(words.now, text) for words in _LANGUAGES.values()):
        return Times(valid_from_ms=at_ms)
    first_ms = min(begins) * DAY_MS if len(begins) == 1 else None
    last_ms = (min(ends) + 1) * DAY_MS - 1 if len(ends) == 1 else None
    if first_ms is not None and last_ms is not None and first_ms > last_ms:
        return NO_TIMES
    return Times(None, first_ms, last_ms)


def _begins(text: str, at: datetime) -> Iterator[int]:
    """Yield the first day of each period from which the text is true."""
    for code, words in _LANGUAGES.items():
        dates = [_date(text[match.end() :], code, at, "past") for match in _found(words.since, text)]
        dates += [_date(text[match.end() :], code, at, "future") for match in _found(words.starting, text)]
        yield from (date.start for date in dates if date)
        for first, _ in _ranges(words, text, code, at):
            yield first.start
    for match in _CJK_SINCE.finditer(text):
        yield from (period.start for period in periods(match[1], (), at))


def _ends(text: str, at: datetime) -> Iterator[int]:
    """Yield the last day of each period until which the text is true. A text about the past yields no day after it was
    written."""
    is_negated = any(form(word) in _NEGATING for word in re.findall(r"\w+", text))
    for code, words in () if is_negated else _LANGUAGES.items():
        ends = [_date(text[match.end() :], code, at, _prefers(words, text)) for match in _found(words.until, text)]
        ends += [last for _, last in _ranges(words, text, code, at)]
        for last in ends:
            if last and not _NEXT_CLAUSE.match(text[text.find(last.text) + len(last.text) :].lstrip(" ,")):
                is_past = _prefers(words, text) == "past"
                yield min(last.end, (at - _EPOCH).days) if is_past else last.end
    for match in _CJK_UNTIL.finditer(text):
        yield from (period.end for period in periods(match[1], (), at))


def _ranges(words: _ValidityWords, text: str, code: str, at: datetime) -> Iterator[tuple[Period, Period]]:
    if any(form(word) in CHANGED for word in text.split()):  # "moved from Monday to Tuesday"
        return
    for match in _found(rf"(?:{words.first})\s+(\S+(?:\s+\S+){{0,3}}?)\s+(?:{words.last})", text):
        last = _date(text[match.end() :], code, at, _prefers(words, text))
        year = _YEAR.search(last.text) if last else None
        if year is None and _prefers(words, text) == "future":  # "open from May to September" may mean every year
            continue
        start = match[1] if year is None or _YEAR.search(match[1]) else f"{match[1]} {year[0]}"
        first = _date(start, code, at, _prefers(words, text))
        if first and last and first.text.endswith(start.split()[-1]):
            yield first, last


def _prefers(words: _ValidityWords, text: str) -> Prefers:
    return "past" if re.match(words.past, text, re.I | re.S) else "future"


def _found(pattern: str, text: str) -> list[re.Match[str]]:
    return list(re.finditer(rf"(?<!\w)(?:{pattern})(?!\w)", text, re.I))


def _date(text: str, code: str, at: datetime, prefers: Prefers) -> Period | None:
    """Return the date at the beginning of a text."""
    found = text.split()[:_MAX_DATE_WORDS]
    month = month_numbers().get(found[0].strip(".,;:").lower()) if found else None
    if month and not any(map(str.isdecimal, "".join(found[1:3]))):  # without a number, May and Mar may be other words
        return _month(found[0].strip(".,;:"), month, at, prefers)
    start = " ".join(found)
    dates = periods(start, (code,), at, prefers=prefers)
    return dates[0] if dates and start.startswith(dates[0].text) else None


def _month(name: str, month: int, at: datetime, prefers: Prefers) -> Period:
    """Return the last month with this name, or the next one."""
    is_other = month > at.month if prefers == "past" else month < at.month
    year = at.year + is_other * (-1 if prefers == "past" else 1)
    first, after = datetime(year, month, 1, tzinfo=UTC), datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    return Period((first - _EPOCH).days, (after - _EPOCH).days - 1, name)


_NEGATING = negating_words()
