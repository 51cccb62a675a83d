"""Reads Gemini's `My Activity` from Google Takeout, as JSON or as a web page. The export does not group questions into
conversations, so each day is a document."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import PurePosixPath
from typing import NamedTuple

from msgspec.structs import replace

from gnod.ingest.formats.conversations.chat_text import hour_of
from gnod.ingest.formats.conversations.conversation import ASSISTANT, USER, ChatMessage, converter_of
from gnod.ingest.formats.conversations.exports import Conversation, container, export_converter
from gnod.ingest.formats.conversations.rendering import minute
from gnod.ingest.formats.visible_html import page_text
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.decode import decode
from gnod.ingest.reading.json_values import listed, mapping, string
from gnod.ingest.reading.result import CONVERSATION, Converted

_SOURCE = "Gemini"
_NAMES = (_SOURCE, "Bard")
_PROMPTED = "Prompted "
_SAMPLE_BYTES = 1_000_000  # the page begins with a long style sheet
_CELL = re.compile(r'<div class="outer-cell\b')
_HEADER = re.compile(rf'mdl-typography--title">[^<]{{0,80}}(?:{"|".join(_NAMES)})')
_BODY = re.compile(r'mdl-typography--body-1">(?P<body>.*?)(?:<div class="content-cell\b|\Z)', re.DOTALL)
_LINE_END = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,2000}>")
# The format of a time depends on the language of the account; it has a zone: `Mar 4, 2026, 10:22:31 AM CET`.
_TIME = re.compile(
    r"(?=.{0,30}\d{4})(?P<date>[^:]{6,40}?)[, ]+"
    r"(?P<before>[^\W\d]{1,8}\.? )?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)[:.]\d\d"
    r"(?: ?(?P<after>[AaPp]\.? ?[Mm])\b\.?)?(?: (?P<zone>[A-Z][\w:+-]{1,9}))?"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class _Activity(NamedTuple):
    """A question and its answer. `day` is the day of `time`, or the text of the date if it cannot be read."""

    day: str
    time: str
    asked: str
    said: str
    zone: str = "UTC"


def _conversations(objects: list[dict[str, object]], _: PurePosixPath) -> Iterator[Conversation]:
    entries = [entry for entry in objects if any(name in string(entry.get("header")) for name in _NAMES)]
    yield from _days(sorted(map(_of_entry, entries), key=lambda each: each.time))


def _of_entry(entry: dict[str, object]) -> _Activity:
    time = minute(entry.get("time"))
    pages = [string(mapping(part).get("html")) for part in listed(entry.get("safeHtmlItem"))]
    asked = string(entry.get("title")).removeprefix(_PROMPTED)
    return _Activity(time[:10], time, asked, "\n\n".join(map(page_text, pages)))


def _days(activities: Iterable[_Activity]) -> Iterator[Conversation]:
    for day, found in groupby(activities, key=lambda each: each.day):
        entries = list(found)
        name = ", ".join(filter(None, ("Gemini", day)))
        messages = partial(_messages, entries)
        yield Conversation(title=name, began=entries[0].time, zone=entries[0].zone, messages=messages)


def _messages(activities: Sequence[_Activity]) -> Iterator[ChatMessage]:
    for activity in activities:
        if activity.asked.strip():
            yield ChatMessage(speaker=USER, role=USER, time=activity.time, text=activity.asked)
        if activity.said:
            yield ChatMessage(speaker=ASSISTANT, role=ASSISTANT, time=activity.time, text=activity.said)


def _is_page(content: FileContent) -> bool:
    if content.extension not in ("html", "htm") or b"outer-cell" not in (sample := content.data[:_SAMPLE_BYTES]):
        return False
    return bool(_cells(sample.decode("utf-8", "replace")))


def _cells(page: str) -> list[str]:
    """Return the entries of Gemini. The page may also have entries of other programs."""
    return [cell for cell in _CELL.split(page)[1:] if _HEADER.search(cell)]


def _read_page(content: FileContent) -> Converted:
    text = decode(content.data)
    found = [_of_cell(body["body"]) for body in map(_BODY.search, _cells(text)) if body]
    if not found:  # the page is cut off in its first entry
        return Converted(markdown=page_text(text), converter=converter_of(_SOURCE), mime="text/html")
    is_whole = "</html>" in text[-1000:].lower()
    left_out = {} if is_whole else {"corrupt": "everything after the place where the file is cut off"}
    found.reverse()  # the page has the newest first, even if times cannot be read
    found.sort(key=lambda each: each.time)
    return replace(container(_SOURCE, content, list(_days(found))), left_out=left_out)


def _of_cell(body: str) -> _Activity:
    """Read an entry, which has the question, a line with its time, and the answer."""
    lines = _LINE_END.split(body)
    times = [_TIME.fullmatch(" ".join(html.unescape(line).split())) for line in lines]
    place = next((number for number, time in enumerate(times) if time and number), len(lines))
    asked = "\n".join(html.unescape(_TAG.sub("", line)) for line in lines[:place]).replace("\xa0", " ")
    said = page_text("<br>".join(lines[place + 1 :]))
    written = times[place] if place < len(lines) else None
    day, time = _moment(written) if written else ("", "")
    return _Activity(day, time, asked.strip().removeprefix(_PROMPTED), said, (written and written["zone"]) or "")


def _moment(written: re.Match[str]) -> tuple[str, str]:
    """Return the day and the minute of a time; if it cannot be read, the text of the date and ""."""
    numbers = re.findall(r"\d+", written["date"])
    words = re.findall(r"[^\W\d]+", written["date"].lower())
    month = next((_MONTHS.index(word) + 1 for word in words if word in _MONTHS), 0)
    if month and len(numbers) == 2:
        numbers.insert(1, str(month))
        numbers = numbers if len(numbers[0]) == 4 else numbers[::-1]
    elif len(numbers) == 3 and len(numbers[2]) == 4 and "." in written["date"]:
        numbers.reverse()
    if len(numbers) != 3 or len(numbers[0]) != 4 or int(numbers[1]) > 12:
        return written["date"].strip(), ""
    day = f"{numbers[0]}-{int(numbers[1]):02}-{int(numbers[2]):02}"
    return day, f"{day} {hour_of(written):02}:{written['minute']}"


GEMINI = export_converter(
    _SOURCE,
    "a Gemini export",
    _conversations,
    rb'"header"\s*:\s*"[^"]*(?:Gemini|Bard)',
    rb'"title"\s*:',
    rb'"time"\s*:\s*"\d{4}-',
)
GEMINI_PAGE = Converter(
    label="a Gemini export as a web page",
    mime=CONVERSATION,
    is_text=True,
    signature=_is_page,
    read=_read_page,
    headings=True,
    location="message",
    remark="each day is a document",
)
