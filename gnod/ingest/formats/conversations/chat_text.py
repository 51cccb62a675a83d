"""Reads chats as text, `time speaker: message`: exports of WhatsApp, and exports of Signal by signal-export.

Each phone writes times in the format of its country. All dates of a file decide which number is the day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.conversation import ChatMessage, LineFormat, State, line_converter
from gnod.ingest.reading.converter import Converter, FileContent

_MARK = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"  # marks for the direction of text
_SIGN = rf"[{_MARK}]*(?P<sign>[./\-년年])[{_MARK}]*\ ?"
_SAME = rf"[{_MARK}]*[./\-월月][{_MARK}]*\ ?"
_DATE = rf"(?P<first>\d{{1,4}}){_SIGN}(?P<second>\d{{1,2}}){_SAME}(?P<third>\d{{1,4}})[.일日]?[,،]?"
_TIME = r"(?P<before>[^\W\d]{1,8}\.?\s?)?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.]\d\d)?"
_HALF = r"(?:\s?(?P<after>[^\W\d](?:\.?\s?[^\W\d]){0,7}\.?))?"
_BEGINNING = re.compile(rf"[{_MARK}]*\[?{_DATE}[{_MARK}]*\s{_TIME}{_HALF}[{_MARK}]*(?:\]\s?|\s[-–—]\s|,\s)(?P<rest>.*)")
_SPEAKER = re.compile(rf"[{_MARK}~\s]*+(?P<speaker>[^:\n]{{1,80}}?)[{_MARK}\s]{{0,4}}:(?:\s|$)(?P<text>.*)")
# In place of media such as pictures, the export has a note in the language of the phone.
_MEDIA = re.compile("<[^<>\\d]{3,40}>|\u200e[^\\W\\d][^\\d:.]{3,40}")
_AFTERNOON = frozenset({"pm", "下午", "午後", "오후", "م", "μμ", "пп", "nm", "em", "du"})
_FORENOON = frozenset({"am", "上午", "午前", "오전", "ص", "πμ", "дп", "fm", "de"})
# Programs also write logs in this form.
_LEVELS = re.compile(r"\b(?:trace|debug|info|notice|warn(?:ing)?|error|fatal|critical|severe)\b", re.IGNORECASE)
_SAMPLE_BYTES = 64_000
_SAMPLE_LINES = 100
_NAMELESS = frozenset({"_chat", "chat", "index"})
_TITLE = re.compile(r"WhatsApp Chat (?:with|-) (?=.)", re.IGNORECASE)
_MONTH_FIRST, _DAY_FIRST = "month", "day"


def _is_chat(content: FileContent, extension: str) -> bool:
    """Tell whether a text begins with messages, and one speaker wrote more than one of them."""
    if content.extension != extension:
        return False
    lines = content.data[:_SAMPLE_BYTES].decode("utf-8", "replace").split("\n")[:_SAMPLE_LINES]
    found = [_BEGINNING.match(line) for line in lines if line.strip()]
    said = [speaker[1] for match in found if match and (speaker := _SPEAKER.match(match["rest"]))]
    is_repeated = len(said) >= 2 and (len(said) < 6 or len(set(said)) <= 0.6 * len(said))
    return is_repeated and found[0] is not None and not any(map(_LEVELS.search, said))


def _begin(content: FileContent) -> State:
    """Return the state with the name of the chat as title, and the order of day and month in dates as day."""
    path = PurePosixPath(content.name)
    name = path.parent.name if path.stem in _NAMELESS else path.stem
    lines = content.data.decode("utf-8", "replace").split("\n")
    place = _TITLE.sub("", name, count=1)
    return State(title=place, place=place, day=_order(filter(None, map(_BEGINNING.match, lines))))


def _order(dates: Iterator[re.Match[str]]) -> str:
    """Return which number is first in dates that end with the year. A number over 12 decides, or else the format."""
    is_american = False
    for found in islice(dates, 100_000):
        if int(found["first"]) > 12 or found["sign"] == ".":
            return _DAY_FIRST
        if int(found["second"]) > 12:
            return _MONTH_FIRST
        is_american = is_american or (found["sign"] == "/" and found["after"] in ("AM", "PM"))
    return _MONTH_FIRST if is_american else _DAY_FIRST


def _read(line: bytes, state: State) -> Iterator[ChatMessage]:
    text = line.decode("utf-8", "replace")
    found = _BEGINNING.match(text)
    if not found:
        yield ChatMessage(speaker="", time="", text=text, continues=True)
    elif said := _SPEAKER.match(found["rest"]):  # other lines are notes of the program
        words = "[media left out]" if _MEDIA.fullmatch(said["text"]) else said["text"]
        yield ChatMessage(speaker=said["speaker"], time=_time(found, state.day), text=words or "…")


def _time(found: re.Match[str], order: str) -> str:
    first, second, third = (int(found[name]) for name in ("first", "second", "third"))
    if len(found["first"]) == 4 or found["sign"] in "년年":
        year, month, day = first, second, third
    else:
        day, month = (second, first) if order == _MONTH_FIRST else (first, second)
        year = third + 2000 if third < 100 else third
    return f"{year:04}-{month:02}-{day:02} {hour_of(found):02}:{int(found['minute']):02}"


def hour_of(found: re.Match[str]) -> int:
    """Return the hour of the day. The mark of the half of the day, in any language, is `before` or `after` the hour."""
    hour, half = int(found["hour"]), _letters(found["after"]) or _letters(found["before"])
    if half in _AFTERNOON:
        return hour % 12 + 12
    return hour % 12 if half in _FORENOON else hour


def _letters(written: str | None) -> str:
    return "".join(filter(str.isalpha, written or "")).lower()


def _format(source: str, extension: str) -> Converter:
    form = LineFormat(source=source, read=_read, begin=_begin)
    return line_converter(form, f"a {source} chat", lambda content: _is_chat(content, extension))


FORMATS = (_format("WhatsApp", "txt"), _format("Signal", "md"))
