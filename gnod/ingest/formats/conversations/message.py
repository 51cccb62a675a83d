"""A message, and the state of a reader between two lines of a file. Pure; knows no format."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from gnod.ingest.reading.converter import FileContent

USER, ASSISTANT = "user", "assistant"


class ChatMessage(msgspec.Struct, frozen=True):
    """What somebody said. `role`: of agents, `user` or `assistant`, else "". `time`: `2026-03-04 10:22`, or "" where it
    is unknown. `text` is Markdown, and is quoted when it is written. `continues`: it is a further line of the message
    before. `is_whole`: it has a heading of its own, also after another one of the same speaker and minute."""

    speaker: str
    time: str
    text: str
    role: str = ""
    continues: bool = False
    is_whole: bool = False


class State(msgspec.Struct):
    """What is known before a line. With it, reading can go on there as if it had begun at the start of the file.

    `title` and `place` (a project, a channel, a chat) are those of the conversation, `zone` is that of its times (local
    time if it is ""), `number` counts its messages, `part` its documents (from 1). `speaker` and `time` are of the last
    message. `day` is what a format knows of the dates: the last day that a log named, or the order in a date.
    """

    title: str = ""
    place: str = ""
    zone: str = ""
    day: str = ""
    speaker: str = ""
    time: str = ""
    number: int = 0
    part: int = 1


class UnreadableLine(Exception):
    """A line is not what the format has there."""


ReadLine = Callable[[bytes, State], Iterator[ChatMessage]]
"""Yields the messages of a line and changes the state. Raises UnreadableLine."""


class ConversationFormat(msgspec.Struct, frozen=True, kw_only=True):
    """`source` is the program, `converter` the name and version of its reader."""

    source: str
    converter: str


class LineFormat(ConversationFormat, frozen=True, kw_only=True):
    """A format that is read line by line. `begin` returns the state before the first line."""

    read: ReadLine
    begin: Callable[[FileContent], State]
