"""Turns the messages of a conversation into documents of limited size. It must not depend on a program.

A long conversation is split into parts. A part depends only on its lines and the state before them, so that an appended
message changes only the last part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate

import msgspec

from gnod.ingest.formats.conversations.rendering import heading, one_line, quoted, title_of
from gnod.ingest.reading.converter import Converter, FileContent, LogText, Test
from gnod.ingest.reading.result import CONVERSATION, Converted, Member, too_long
from gnod.ingest.reading.versions import versioned
from gnod.locations import Locations, Start

USER, ASSISTANT = "user", "assistant"
PART_CHARACTERS = 256_000
PART_BYTES = 24_000_000  # limits parts with little text: each new message makes gnod read the last part again
LONGEST_LINE = 20_000_000  # bytes; longer lines are counted as unreadable


class ChatMessage(msgspec.Struct, frozen=True):
    """A message. `role`: `user` or `assistant` in transcripts of agents, otherwise "". `time`: `2026-03-04 10:22`, or
    "" if unknown. `text` is Markdown, which is quoted when it is written. `continues`: the text continues the message
    before. `is_whole`: the message has its own heading, even after a message of the same speaker and minute."""

    speaker: str
    time: str
    text: str
    role: str = ""
    continues: bool = False
    is_whole: bool = False


class State(msgspec.Struct):
    """The state of the reader before a line. With it, reading can continue there without the lines before.

    `title` and `place` (a project, a channel, a chat) belong to the conversation. `zone` is the time zone ("" for local
    time). `number` counts messages, `part` counts documents (from 1). `speaker` and `time` belong to the last message.
    `day` depends on the format: the last day that a log named, or the order of day and month in dates.
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
    """A line does not have the format that is expected there."""


class LineFormat(msgspec.Struct, frozen=True, kw_only=True):
    """A format that is read line by line. `source`: the program that writes it. `begin` returns the state before the
    first line. `read` yields the messages of a line and updates the state; it raises UnreadableLine."""

    source: str
    read: Callable[[bytes, State], Iterator[ChatMessage]]
    begin: Callable[[FileContent], State]


class _Writer:
    """Collects the messages of one document; `number` counts those before it."""

    def __init__(self, number: int) -> None:
        self.unreadable = 0
        self.size = 0
        self._number = number
        self._messages: list[tuple[str, list[list[str]]]] = []  # headings and blocks, which are lists of lines
        self._speakers: dict[str, None] = {}
        self._roles: dict[str, None] = {}
        self._times: list[str] = []
        self._last: tuple[str, str] | None = None

    def add(self, state: State, message: ChatMessage) -> None:
        if not state.title and message.role == USER:
            state.title = title_of(message.text)
        if message.continues and not self._messages:
            if not (state.speaker and message.text.strip()):
                return  # there is no message to continue
            message = ChatMessage(speaker=state.speaker, time=state.time, text=message.text)
        self.size += len(message.text) + 2
        if message.continues:
            self._messages[-1][1][-1].append(message.text)
            return
        state.speaker, state.time = message.speaker, message.time
        if message.is_whole or self._last != (message.speaker, message.time):
            self._begin(message)
            state.number += 1
        self._messages[-1][1].append([message.text])

    def _begin(self, message: ChatMessage) -> None:
        self._last = (message.speaker, message.time)
        self._messages.append((heading(message.speaker, message.time), []))
        self._speakers[one_line(message.speaker)] = None
        self._roles[message.role] = None
        self._times += [message.time] if message.time else []

    def converted(self, source: str, state: State) -> Converted:
        name = state.title or state.place or source
        title = name if state.part == 1 else f"{name} (part {state.part})"
        texts = [f"# {title}\n\n{_head(source, state, self.unreadable)}"]
        for above, blocks in self._messages:
            texts.append("\n\n".join([above, *(quoted("\n".join(block)) for block in blocks)]))
        lines = accumulate(text.count("\n") + 2 for text in texts[:-1])
        return Converted(
            markdown="\n\n".join(texts),
            mime=CONVERSATION,
            converter=converter_of(source),
            title=title,
            metadata=self._metadata(source, state),
            locations=Locations("message", [Start(line + 1, at) for at, line in enumerate(lines, self._number + 1)]),
        )

    def _metadata(self, source: str, state: State) -> dict[str, object]:
        found: dict[str, object] = {"source": source, "from": list(self._speakers), "in": state.place}
        found["role"] = [role for role in self._roles if role]
        if self._times:
            zone = "Z" if state.zone == "UTC" else ""
            found |= {"began": self._times[0] + zone, "date": self._times[-1] + zone}
        return {name: value for name, value in found.items() if value}


def converter_of(source: str) -> str:
    """Return the name and version of the converter for conversations of a program."""
    return versioned(source.lower().replace(" ", "-"))


def _head(source: str, state: State, unreadable: int) -> str:
    """Return the paragraph with the origin of a conversation and the number of missing lines."""
    sentences = [f"{source}, in {state.place}." if state.place else f"{source}."]
    sentences += [f"Times are {state.zone}."] if state.zone else []
    if unreadable:
        sentences.append(f"{unreadable:,} line{'s' * (unreadable > 1)} could not be read.")
    return " ".join(sentences)


def documents(source: str, state: State, messages: Iterable[ChatMessage]) -> Iterator[Converted]:
    """Yield the documents of a complete conversation."""
    writer = _Writer(state.number)
    for message in messages:
        if writer.size >= PART_CHARACTERS:
            yield writer.converted(source, state)
            writer, state.part = _Writer(state.number), state.part + 1
        writer.add(state, message)
    yield writer.converted(source, state)


def parts(form: LineFormat, data: bytes, state: State, start: int = 0) -> Iterator[LogText]:
    """Yield the parts of a conversation from the line at `start`. `state` is the state before that line."""
    state = msgspec.structs.replace(state)
    writer = _Writer(state.number)
    for at, line in _lines(data, start):
        here = msgspec.structs.replace(state)
        messages, is_readable = _read(form, line, state)
        is_long = messages and writer.size >= PART_CHARACTERS and not messages[0].continues
        if is_long or at - start >= PART_BYTES:
            yield _part(at, here, writer.converted(form.source, here))
            state.part, start, writer = here.part + 1, at, _Writer(here.number)
        writer.unreadable += not is_readable and data.find(b"\n", at) >= 0  # the last line may still be written
        for message in messages:
            writer.add(state, message)
    yield _part(len(data), state, writer.converted(form.source, state))


def _part(end: int, state: State, converted: Converted) -> LogText:
    after = msgspec.structs.replace(state, part=state.part + 1)
    return LogText(end, msgspec.msgpack.encode(after), converted)


def state_of(encoded: bytes) -> State:
    return msgspec.msgpack.decode(encoded, type=State)


def _read(form: LineFormat, line: bytes | None, state: State) -> tuple[list[ChatMessage], bool]:
    """Return the messages of a line, and whether it could be read."""
    if line is None:
        return [], False
    if not line.strip():
        return [ChatMessage(speaker="", time="", text="", continues=True)], True
    try:
        return [message for message in form.read(line, state) if message.text.strip()], True
    except UnreadableLine:
        return [], False


def _lines(data: bytes, start: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its offset; None for lines that are too long."""
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield start, None if end - start > LONGEST_LINE else data[start:end].strip(b"\0\r")
        start = end + 1


def _read_log(form: LineFormat, content: FileContent, state: bytes) -> Iterator[LogText]:
    """See `Converter.log`."""
    head = msgspec.structs.replace(content, data=content.head)
    return parts(form, content.data, state_of(state) if state else form.begin(head))


def _read_file(form: LineFormat, content: FileContent) -> Converted:
    """Read a file with one conversation. Its first part is the document of the file; the others are members."""
    first = next(parts(form, content.data, form.begin(content)))
    if first.end == len(content.data):
        return first.converted
    return msgspec.structs.replace(first.converted, members=partial(_others, form, content, first))


def _others(form: LineFormat, content: FileContent, first: LogText) -> Iterator[Member]:
    for number, part in enumerate(parts(form, content.data, state_of(first.after), first.end), 2):
        yield Member(f"part {number}", partial(member, content, part.converted), is_part=True)


def member(content: FileContent, document: Converted) -> FileContent:
    """Return the content of a conversation inside a file. It is already converted; its bytes are only hashed."""
    described = (document.converter, document.metadata, document.markdown, document.locations)
    inner = content.inner(msgspec.json.encode(described), document.title or "", content.max_characters)
    return msgspec.structs.replace(inner, convert=partial(_bounded, document))


def _bounded(document: Converted, inner: FileContent) -> Converted:
    if len(document.markdown) > inner.max_characters:
        raise too_long(inner.max_characters)
    return document


def line_converter(form: LineFormat, label: str, resembles: Test) -> Converter:
    """Return the converter of a format that is read line by line and recognised by its content."""
    return Converter(
        label=label,
        mime=CONVERSATION,
        is_text=True,
        signature=resembles,
        read=partial(_read_file, form),
        log=partial(_read_log, form),
        headings=True,
        location="message",
    )
