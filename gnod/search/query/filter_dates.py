"""Parse the dates of filters."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta

from gnod.errors import InvalidParams

_AGE = re.compile(r"(\d{1,5})\s*([hdwmy])\Z", re.IGNORECASE)
_UNIT_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
_YEAR_OR_MONTH = re.compile(r"([1-9]\d{3})(?:-(0[1-9]|1[0-2]))?\Z", re.ASCII)
_DAY_ONLY = re.compile(r"(?:\d{4}-\d{2}-\d{2}|\d{8})\Z")
_SHOWN_CHARS = 60


def moment(text: str, *, end_of_day: bool = False, now: datetime | None = None) -> float:
    """Return seconds since 1970 for an ISO 8601 date (time optional, local by default), an age (`12h`, `7d`, `3w`,
    `6m`, `1y`), `today` or `yesterday`. A day without a time means its start, or with `end_of_day` its end. Raises
    InvalidParams."""
    try:
        return _moment(text.strip().lower(), end_of_day, now or datetime.now().astimezone())
    except (ValueError, OverflowError):  # before the year 1, or after 9999
        shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
        raise InvalidParams(
            f"{shown!r} is not a date: use 2026-11-21, 2026-11-21T14:30, an age like 7d, 12h, 3w or 1y, or today"
        ) from None


def period(text: str, now: datetime | None = None) -> tuple[float, float]:
    """Return the first and the last moment of a year (`2024`), a month (`2024-06`) or a day, in seconds since 1970. For
    a time or an age, both are the same. Raises InvalidParams."""
    if match := _YEAR_OR_MONTH.match(text):
        first, last = (match[2] or 1, match[2] or 12)
        begin = moment(f"{match[1]}-{int(first):02}-01", now=now)
        days = monthrange(int(match[1]), int(last))[1]
        return begin, moment(f"{match[1]}-{int(last):02}-{days:02}", end_of_day=True, now=now)
    return moment(text, now=now), moment(text, end_of_day=True, now=now)


def _moment(text: str, end_of_day: bool, now: datetime) -> float:
    if match := _AGE.match(text):
        return (now - timedelta(days=int(match[1]) * _UNIT_DAYS[match[2].lower()])).timestamp()
    if text in ("today", "yesterday"):
        text = (now - timedelta(days=text == "yesterday")).date().isoformat()
    parsed = datetime.fromisoformat(text.upper())  # lower-case "z" is not valid
    if _DAY_ONLY.match(text) and end_of_day:
        parsed += timedelta(days=1, microseconds=-1)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=now.tzinfo or UTC)).timestamp()
