"""Reads growing IRC logs with one line for each message: irssi, WeeChat, ZNC, HexChat and similar programs.

Notes that somebody joined or left are omitted. Some logs have the day in separate lines, or only in the file name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.conversation import (
    ChatMessage,
    LineFormat,
    State,
    UnreadableLine,
    line_converter,
)
from gnod.ingest.reading.converter import FileContent

_WHEN = r"\[?(?:(?P<day>\d{4}-\d\d-\d\d)[ T]|(?P<date>[A-Z][a-z]{2} \d\d) )?(?P<time>\d{1,2}:\d\d)(?::\d\d)?\]?"
_NICK = r"[ @+%&~!]?(?P<nick>[^\s<>]{1,64})"
_SAID = re.compile(rf"{_WHEN}(?:\s<|\t(?!-->|<--|--\t| \*|=!=)){_NICK}(?:>\s|\t)(?P<text>.*)")
_ACTED = re.compile(rf"{_WHEN}\s+\*\s+(?P<nick>[^\s*]{{1,64}})\s(?P<text>.*)")
_EVENT = re.compile(rf"{_WHEN}\s+(?:-!-|\*{{1,3}}|-->|<--|--)\s|--- |\*{{4}} (?:BEGIN|ENDING) LOGGING")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DAY = re.compile(
    rf"(?:--- (?:Day changed|Log opened)|\*{{4}} BEGIN LOGGING AT) +\w+ +(?P<month>{'|'.join(_MONTHS)})"
    r" +(?P<day>\d{1,2}) +(?:[\d:]+ +)?(?P<year>\d{4})"
)
_EXTENSIONS = frozenset({"log", "txt", "weechatlog", "irc", ""})
_CHANNEL = re.compile(r"#+[^/\s#]*?(?=[._]?\d{4}-?\d\d-?\d\d|/|\.[a-z]+\Z|\Z)")
_DAY_OF_FILE = re.compile(r"(?<!\d)(\d{4})-?(\d\d)-?(\d\d)(?!\d)")
_SAMPLE_BYTES = 64_000
_SAMPLE_LINES = 100
_LEAST = 0.8


def _resembles(content: FileContent) -> bool:
    """Tell whether nearly all of the first lines are lines of a log, and some are messages."""
    if content.extension not in _EXTENSIONS:
        return False
    lines = content.data[:_SAMPLE_BYTES].decode("utf-8", "replace").splitlines()[:_SAMPLE_LINES]
    lines = [line for line in lines if line.strip()]
    said = sum(bool(_SAID.match(line)) for line in lines)
    known = said + sum(bool(_ACTED.match(line) or _EVENT.match(line)) for line in lines)
    return said >= 2 and known >= _LEAST * len(lines)


def _begin(content: FileContent) -> State:
    path = PurePosixPath(content.name)
    channel = _CHANNEL.search(content.name)
    place = channel[0] if channel and len(channel[0]) > 1 else path.stem
    day = _DAY_OF_FILE.search(path.name)
    return State(title=place, place=place, day="-".join(day.groups()) if day else "")


def _read(line: bytes, state: State) -> Iterator[ChatMessage]:
    text = _decoded(line)
    if day := _DAY.match(text):
        state.day = f"{day['year']}-{_MONTHS.index(day['month']) + 1:02}-{int(day['day']):02}"
    elif said := _SAID.match(text) or _ACTED.match(text):
        words = said["text"] if said.re is _SAID else f"{said['nick']} {said['text']}"
        yield ChatMessage(speaker=said["nick"], time=f"{_day(said, state)} {said['time']:0>5}".strip(), text=words)
    elif not _EVENT.match(text):
        raise UnreadableLine


def _day(said: re.Match[str], state: State) -> str:
    """Return the day of a line, in which the year may be missing."""
    if said["date"]:
        month, day = said["date"].split()
        return f"{state.day[:4] or '0000'}-{_MONTHS.index(month) + 1:02}-{day}" if month in _MONTHS else ""
    return said["day"] or state.day


def _decoded(line: bytes) -> str:
    """Decode a line. The programs in a channel may use different encodings."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


IRC = line_converter(LineFormat(source="IRC", read=_read, begin=_begin), "an IRC log", _resembles)
