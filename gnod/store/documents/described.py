"""Read other titles, type, author and date from the metadata of a document. Pure.

Only the letters of names are compared, ignoring case: `Date Created` is `date_created`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, time

from gnod.store.tables.records import FileStat

# The names of a date. The first one in a document counts. Names that programs add automatically come last.
_DATE_NAMES = """
    date datetime day
    published publishedat publishedon publisheddate publishedtime publishdate publicationdate pubdate datepublished
    articlepublishedtime issued
    created createdat createdon createddate createdtime creationdate creationtime datecreated ctime
    updated updatedat updatedon updateddate updatedtime lastupdated dateupdated
    modified modifiedat modifiedon modifieddate modifiedtime lastmodified lastmodifiedat lastmod datemodified mtime
"""
_DATES = _DATE_NAMES.split()
_ALIASES = ("aliases", "alias")
_LONGEST_ALIAS = 300
_MOST_ALIASES = 1000
_AUTHORS = ("author", "authors")
_NOT_LETTERS = re.compile(r"[\W_]+")

_MONTH_NAMES = "January February March April May June July August September October November December"
_MONTHS = {name[:3].lower(): number for number, name in enumerate(_MONTH_NAMES.split(), 1)}
_SHORT_OR_LONG = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTH_NAMES.split())
_NAMED_MONTH = rf"(?P<month>{_SHORT_OR_LONG}|sept)\.?"
_DAY = r"(?P<day>\d{1,2})"
_TIME = r"(?:[T\s]\s*(?P<time>\d{1,2}:\d\d(?::\d\d)?)(?:[.,]\d{1,9})?\s*(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?"
# Org writes a day of the week after the date, and brackets around it.
_FORMS = tuple(
    re.compile(rf"[\s<\[(]*{form}", re.ASCII | re.IGNORECASE)
    for form in (
        rf"(?P<year>\d{{4}})(?P<sign>[-/.])(?P<month>\d{{1,2}})(?P=sign){_DAY}(?!\d)(?:\s+[a-z]{{2,4}}\b)?{_TIME}",
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?!\d)(?:T(?P<time>\d{4}(?:\d\d)?)(?P<zone>Z)?)?",
        r"(?P<year>\d{4})(?:-(?P<month>\d\d))?\s*\Z",
        rf"{_DAY}\.\s?(?P<month>\d{{1,2}})\.\s?(?P<year>\d{{4}})(?!\d){_TIME}",
        rf"(?:[a-z]{{3,9}}\.?,?\s+)?{_DAY}(?:st|nd|rd|th|\.)?[\s-]+{_NAMED_MONTH},?[\s-]+(?P<year>\d{{4}})(?!\d){_TIME}",
        rf"(?:[a-z]{{3,9}},\s+)?{_NAMED_MONTH}\s+{_DAY}(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})(?!\d){_TIME}",
    )
)
_LONGEST = 100


def columns(metadata: Mapping[str, object], stat: FileStat) -> dict[str, str | float | None]:
    """Return the columns of a document that come from its metadata."""
    known = {_NOT_LETTERS.sub("", name).lower(): name for name in reversed(list(metadata))}
    authors = (metadata[known[name]] for name in _AUTHORS if name in known)
    return {
        "doc_type": _text(metadata[known["type"]]) if "type" in known else None,
        "author": next(filter(None, map(_text, authors)), None),
        "other_titles": "\n".join(aliases(metadata)) or None,
        **_date(metadata, known, stat),
    }


def aliases(metadata: Mapping[str, object]) -> list[str]:
    """Return the other titles of a note, each once. A string is split at commas."""
    found: list[str] = []
    for name, value in metadata.items():
        if name.lower() in _ALIASES:
            each = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
            found += [" ".join(str(alias).split()) for alias in each if isinstance(alias, str | int | float)]
    return list(dict.fromkeys(alias for alias in found if 0 < len(alias) <= _LONGEST_ALIAS))[:_MOST_ALIASES]


def titles(title: str, metadata: Mapping[str, object]) -> str:
    """Return the titles by which keyword search finds a document, one per line."""
    return "\n".join((title, *aliases(metadata)))


def moment_of(value: object) -> float | None:
    """Return a date in seconds since 1970, or None if the value is not a date. A time without a zone is local. A month
    or year means its first day.

    >>> moment_of("2026-05-04T10:00Z"), moment_of("soon")
    (1777888800.0, None)
    """
    text = str(value)[:_LONGEST]
    for form in _FORMS:
        if (match := form.match(text)) and (found := _moment(match.groupdict())) is not None:
            return found
    return None


def _date(metadata: Mapping[str, object], known: Mapping[str, str], stat: FileStat) -> dict[str, str | float | None]:
    for name in (known[each] for each in _DATES if each in known):
        if (moment := moment_of(metadata[name])) is not None:
            return {"dated": moment, "dated_by": name}
    return {"dated": stat.mtime_ns / 1e9, "dated_by": None}


def _moment(parts: Mapping[str, str | None]) -> float | None:
    month = (parts["month"] or "1").lower()[:3]
    try:
        day = date(int(parts["year"] or 0), _MONTHS.get(month) or int(month), int(parts.get("day") or 1))
        return datetime.combine(day, _time(parts)).timestamp()
    except (ValueError, OverflowError):  # such as 2026-02-30, or a year that the system's clock does not have
        return None


def _time(parts: Mapping[str, str | None]) -> time:
    written = parts.get("time") or "00:00"
    try:
        return time.fromisoformat(("0" if written[1] == ":" else "") + written + (parts.get("zone") or ""))
    except ValueError:
        return time()  # use the date without the invalid time


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    return str(value) if value not in (None, "") else None
