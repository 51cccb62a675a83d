"""A conversation as documents of bounded text. Knows messages and no format.

A long conversation becomes parts, and each depends only on the state before it and its own lines: an appended message
changes only the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import msgspec

from gnod.ingest.formats.conversations.message import (
    USER,
    ChatMessage,
    ConversationFormat,
    LineFormat,
    State,
    UnreadableLine,
)
from gnod.ingest.formats.conversations.rendering import heading, one_line, quoted, title_of
from gnod.ingest.reading.converter import Converter, FileContent, LogText, Test
from gnod.ingest.reading.result import CONVERSATION, Converted, Member, too_long
from gnod.locations import Locations, Start

PART_CHARACTERS = 256_000
PART_BYTES = 24_000_000  # of lines with little text: those of the last part are read again with each added message
_BLANK = ChatMessage(speaker="", time="", text="", continues=True)
LONGEST_LINE = 20_000_000  # bytes; a longer one is counted as unreadable


class ConversationPart(NamedTuple):
    """A document: the lines from the byte `start` to `end`, and the states before and after them."""

    start: int
    end: int
    before: State
    after: State
    document: ConversationText


class ConversationText(msgspec.Struct, frozen=True, kw_only=True):
    """All that a document has, and so what its hash covers."""

    title: str
    metadata: dict[str, object]
    markdown: str
    starts: list[Start]
    converter: str

    def converted(self, _: object = None) -> Converted:
        return Converted(
            markdown=self.markdown,
            mime=CONVERSATION,
            converter=self.converter,
            title=self.title,
            metadata=self.metadata,
            locations=Locations("message", self.starts),
        )


class _Written(NamedTuple):
    """A message, or several of one speaker and minute. `blocks` are texts in lines."""

    number: int
    heading: str
    blocks: list[list[str]]

    @property
    def markdown(self) -> str:
        return "\n\n".join([self.heading, *(quoted("\n".join(block)) for block in self.blocks)])


class _Writer:
    """Collects the messages of one part."""

    def __init__(self, number: int) -> None:
        self.unreadable = 0
        self.size = 0
        self._number = number
        self._messages: list[_Written] = []
        self._speakers: dict[str, None] = {}
        self._roles: dict[str, None] = {}
        self._times: list[str] = []
        self._last: tuple[str, str] | None = None

    @property
    def is_empty(self) -> bool:
        return not self._messages

    def add(self, message: ChatMessage) -> bool:
        """Add a message. Tell whether it begins under a heading of its own."""
        self.size += len(message.text) + 2
        if message.continues:
            self._messages[-1].blocks[-1].append(message.text)
            return False
        is_new = message.is_whole or self._last != (message.speaker, message.time)
        if is_new:
            self._last = (message.speaker, message.time)
            self._number += 1
            self._messages.append(_Written(self._number, heading(message.speaker, message.time), []))
            self._speakers[one_line(message.speaker)] = None
            self._roles[message.role] = None
            self._times += [message.time] if message.time else []
        self._messages[-1].blocks.append([message.text])
        return is_new

    def rendered(self, form: ConversationFormat, state: State) -> ConversationText:
        name = state.title or state.place or form.source
        title = name if state.part == 1 else f"{name} (part {state.part})"
        texts = [
            f"# {title}\n\n{_head(form.source, state, self.unreadable)}",
            *(each.markdown for each in self._messages),
        ]
        metadata: dict[str, object] = {"source": form.source, "from": list(self._speakers), "in": state.place}
        metadata["role"] = [role for role in self._roles if role]
        if self._times:
            zone = "Z" if state.zone == "UTC" else ""
            metadata |= {"began": self._times[0] + zone, "date": self._times[-1] + zone}
        return ConversationText(
            title=title,
            metadata={name: value for name, value in metadata.items() if value},
            markdown="\n\n".join(texts),
            starts=_starts(texts, self._messages),
            converter=form.converter,
        )


def _head(source: str, state: State, unreadable: int) -> str:
    """Return the paragraph that says where a conversation is from, and what of it is missing."""
    sentences = [f"{source}, in {state.place}." if state.place else f"{source}."]
    sentences += [f"Times are {state.zone}."] if state.zone else []
    if unreadable:
        sentences.append(f"{unreadable:,} line{'s' * (unreadable > 1)} could not be read.")
    return " ".join(sentences)


def _starts(texts: list[str], messages: list[_Written]) -> list[Start]:
    """Return the line on which each message begins, below the head."""
    ends = accumulate(text.count("\n") + 2 for text in texts)
    return [Start(end + 1, message.number) for end, message in zip(ends, messages, strict=False)]


def parts(form: LineFormat, data: bytes, state: State, start: int = 0) -> Iterator[ConversationPart]:
    """Yield the parts of the conversation whose lines are in `data` from `start` on, where the state is `state`."""
    state = msgspec.structs.replace(state)
    before, writer = msgspec.structs.replace(state), _Writer(state.number)
    for at, line in _lines(data, start):
        here = msgspec.structs.replace(state)
        messages, is_readable = _read(form, line, state)
        is_long = messages and writer.size >= PART_CHARACTERS and not messages[0].continues
        if is_long or at - start >= PART_BYTES:
            yield ConversationPart(start, at, before, here, writer.rendered(form, here))
            state.part = here.part + 1
            start, before, writer = at, msgspec.structs.replace(here, part=state.part), _Writer(here.number)
        writer.unreadable += not is_readable and data.find(b"\n", at) >= 0  # the last line may still be written
        for message in messages:
            _add(writer, state, message)
    yield ConversationPart(start, len(data), before, state, writer.rendered(form, state))


def read_log(form: LineFormat, content: FileContent, state: bytes) -> Iterator[LogText]:
    """See `Converter.log`."""
    head = msgspec.structs.replace(content, data=content.head)
    before = msgspec.msgpack.decode(state, type=State) if state else form.begin(head)
    for part in parts(form, content.data, before):
        after = msgspec.structs.replace(part.after, part=part.before.part + 1)
        yield LogText(part.end, msgspec.msgpack.encode(after), part.document.converted())


def documents(form: ConversationFormat, state: State, messages: Iterable[ChatMessage]) -> Iterator[ConversationText]:
    """Yield the documents of a conversation whose messages are all known."""
    writer = _Writer(state.number)
    for message in messages:
        if writer.size >= PART_CHARACTERS:
            yield writer.rendered(form, state)
            writer, state.part = _Writer(state.number), state.part + 1
        _add(writer, state, message)
    yield writer.rendered(form, state)


def _add(writer: _Writer, state: State, message: ChatMessage) -> None:
    if not state.title and message.role == USER:
        state.title = title_of(message.text)
    if message.continues and writer.is_empty:
        if not (state.speaker and message.text.strip()):
            return  # there is no message above
        message = ChatMessage(speaker=state.speaker, time=state.time, text=message.text)
    if not message.continues:
        state.speaker, state.time = message.speaker, message.time
    state.number += writer.add(message)


def _read(form: LineFormat, line: bytes | None, state: State) -> tuple[list[ChatMessage], bool]:
    """Return the messages of a line, and whether it could be read."""
    if line is None:
        return [], False
    if not line.strip():
        return [_BLANK], True
    try:
        return [each for each in form.read(line, state) if each.text.strip()], True
    except UnreadableLine:
        return [], False


def _lines(data: bytes, start: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its place; None for one that is too long to be read."""
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield start, None if end - start > LONGEST_LINE else data[start:end].strip(b"\0\r")
        start = end + 1


def line_by_line(form: LineFormat, content: FileContent) -> Converted:
    """Read a file that is one conversation. Its first part is the document of the file, the others are inside it."""
    first = next(parts(form, content.data, form.begin(content)))
    converted = first.document.converted()
    if first.end == len(content.data):
        return converted
    return msgspec.structs.replace(converted, members=partial(_others, form, content, first))


def _others(form: LineFormat, content: FileContent, first: ConversationPart) -> Iterator[Member]:
    state = msgspec.structs.replace(first.after, part=first.after.part + 1)
    for part in parts(form, content.data, state, first.end):
        yield Member(f"part {part.before.part}", partial(member, content, part.document), is_part=True)


def member(content: FileContent, document: ConversationText) -> FileContent:
    """Return the content of a conversation inside a file. It is converted already; its bytes are what is hashed."""
    data = msgspec.json.encode(document)
    inner = content.inner(data, document.title, content.max_characters)
    return msgspec.structs.replace(inner, convert=partial(_bounded, document))


def _bounded(document: ConversationText, inner: FileContent) -> Converted:
    if len(document.markdown) > inner.max_characters:
        raise too_long(inner.max_characters)
    return document.converted()


def line_converter(form: LineFormat, label: str, resembles: Test) -> Converter:
    """Return the converter of a format that is read line by line and recognised by its content."""
    return Converter(
        label=label,
        mime=CONVERSATION,
        is_text=True,
        signature=resembles,
        read=partial(line_by_line, form),
        log=partial(read_log, form),
        headings=True,
        location="message",
    )
