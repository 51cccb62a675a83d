"""Translates calendars and contacts (iCalendar, vCard). Events and persons become headings with their properties below.

Both formats consist of content lines (RFC 5545, RFC 6350) with a name, parameters and a value. A line that begins with
white space continues the line before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gnod.ingest.formats.markups.line_by_line import Translation, markup

_LINE = re.compile(r"(?:[\w-]+\.)?([A-Za-z][\w-]*)((?:;[^:;\"]*(?:\"[^\"]*\"[^:;\"]*)*)*):(.*)")
_PARTS = frozenset({"VEVENT", "VTODO", "VJOURNAL", "VCARD"})
_HIDDEN = frozenset({"VTIMEZONE", "VALARM", "VFREEBUSY"})
_TITLES = ("SUMMARY", "FN", "N", "ORG")
_LABELS = {
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "LOCATION": "Place", "DESCRIPTION": "", "COMMENT": "", "NOTE": "",
    "ORGANIZER": "Organizer", "ATTENDEE": "Attendee", "CONTACT": "Contact", "CATEGORIES": "Categories",
    "STATUS": "Status", "URL": "Address", "RRULE": "Repeats", "TEL": "Phone", "EMAIL": "Mail", "ORG": "Organization",
    "TITLE": "Position", "ADR": "Postal address", "BDAY": "Birthday", "NICKNAME": "Nickname", "ROLE": "Role",
}  # fmt: skip
_TIME = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})(?:T(\d{2}):?(\d{2})\d{0,2}(Z?))?\Z")
_NAME = re.compile(r";CN=(?:\"([^\"]*)\"|([^;:\"]*))", re.I)
_ESCAPED = re.compile(r"\\(.)")


class _Property(NamedTuple):
    at: int
    name: str
    parameters: str
    value: str


def _translate(to: Translation) -> None:
    """Write the heading of a part to the line where the part begins, even if its title comes later."""
    began: list[int] = []
    hidden = 0
    for found in _properties(to.source):
        kind = found.value.strip().upper()
        if found.name == "BEGIN":
            hidden += kind in _HIDDEN
            if kind in _PARTS:
                began.append(found.at)
        elif found.name == "END":
            hidden -= kind in _HIDDEN and hidden > 0
            if kind in _PARTS and began:
                began.pop()
        elif not hidden:
            _translate_property(to, found, began[-1] if began else None)


def _translate_property(to: Translation, found: _Property, began: int | None) -> None:
    value = _shown(found)
    if began is not None and value and found.name in _TITLES and not to.lines[began]:
        to.lines[began] = f"## {value}"
    elif found.name == "X-WR-CALNAME":
        to.lines[found.at] = f"# {value}"
    elif found.name in _LABELS and value:
        label = _LABELS[found.name]
        to.lines[found.at] = f"{label}: {value}" if label else value


def _properties(lines: list[str]) -> Iterator[_Property]:
    at = 0
    while at < len(lines):
        end = at + 1
        while end < len(lines) and lines[end][:1] in (" ", "\t") and lines[end].strip():
            end += 1
        line = lines[at] + "".join(continuation[1:] for continuation in lines[at + 1 : end])
        if found := _LINE.match(line):
            yield _Property(at, found[1].upper(), found[2], found[3])
        at = end


def _shown(found: _Property) -> str:
    """Return the value in readable form: dates with dashes, names instead of addresses, escapes resolved."""
    name = _NAME.search(found.parameters)
    if name and (name[1] or name[2]):
        return f"{name[1] or name[2]} ({found.value.removeprefix('mailto:').removeprefix('MAILTO:')})"
    if time := _TIME.match(found.value.strip()):
        clock = f" {time[4]}:{time[5]}{' UTC' if time[6] else ''}" if time[4] else ""
        return f"{time[1]}-{time[2]}-{time[3]}{clock}"
    value = found.value.replace(";", " ") if found.name in ("N", "ORG", "ADR") else found.value
    value = _ESCAPED.sub(lambda escape: " " if escape[1] in "nN" else escape[1], value)
    return " ".join(value.split())


FORMATS = (
    markup("a calendar", "text/calendar", "ics ifb", "calendar/1", _translate),
    markup("contacts", "text/vcard", "vcf", "contacts/1", _translate),
)
