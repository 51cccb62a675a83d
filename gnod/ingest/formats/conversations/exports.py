"""Reads exports that are one JSON text: each conversation becomes a document. It must not depend on a program.

From a file that is cut off or damaged, the conversations before that place are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath

import msgspec

from gnod.ingest.formats.conversations.conversation import ChatMessage, State, converter_of, documents, member
from gnod.ingest.reading.converter import Converter, FileContent, Test
from gnod.ingest.reading.decode import decode
from gnod.ingest.reading.json_values import mapping
from gnod.ingest.reading.result import CONVERSATION, Converted, Member, unchanged

_SAMPLE_BYTES = 65_536
_SPACE = 1000  # characters between two objects


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation of an export. `messages` reads its messages on demand. `began`: a sortable time."""

    title: str = ""
    place: str = ""
    zone: str = "UTC"
    began: str = ""
    messages: Callable[[], Iterable[ChatMessage]]

    @property
    def name(self) -> str:
        return self.title or self.place


ReadExport = Callable[[list[dict[str, object]], PurePosixPath], Iterable[Conversation]]
"""Returns the conversations of the top-level object of a file, or of the objects in its top-level list. The second
argument is the path of the file."""


def _objects(text: str) -> tuple[list[dict[str, object]], bool]:
    """Return the objects of a JSON text before the first damage, and whether the text is complete."""
    decoder, at = json.JSONDecoder(), text.find("{")
    found: list[dict[str, object]] = []
    while 0 <= at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found, False
        found.append(mapping(value))
        at = end + len(text[end : end + _SPACE]) - len(text[end : end + _SPACE].lstrip(" \t\r\n,]"))
    return found, True


def _read_export(source: str, read: ReadExport, content: FileContent) -> Converted:
    """Return the conversations of a file; a JSON text without conversations is stored unchanged."""
    text = decode(content.data)  # only the documents made from it count for the limit of characters
    objects, is_whole = _objects(text)
    if not (found := list(read(objects, PurePosixPath(content.name)))):
        return unchanged(text, "application/json")
    left_out = {} if is_whole else {"corrupt": "everything after the place where the file is damaged or cut off"}
    return msgspec.structs.replace(container(source, content, found), left_out=left_out)


def container(source: str, content: FileContent, found: Iterable[Conversation]) -> Converted:
    """Return the document of a file: its only conversation, or a list of its conversations, which become documents.
    The oldest comes first, so that a new conversation does not change the names of others."""
    found = sorted(found, key=lambda each: each.began)
    if len(found) == 1:
        first, *others = members(source, content, found)
        inner = first.content()
        return msgspec.structs.replace(inner.convert(inner), members=lambda: iter(others))
    return Converted(
        markdown="\n".join(f"- {conversation.name or source}" for conversation in found),
        mime=CONVERSATION,
        converter=converter_of(source),
        metadata={"source": source},
        members=partial(members, source, content, found),
    )


def members(source: str, content: FileContent, found: Sequence[Conversation]) -> Iterator[Member]:
    """Yield the documents of conversations."""
    for conversation in found:
        state = State(title=conversation.title, place=conversation.place, zone=conversation.zone)
        name = (conversation.name or source).replace("/", "-")
        for number, document in enumerate(documents(source, state, conversation.messages()), 1):
            path = name if number == 1 else f"{name}/part {number}"
            yield Member(path, partial(member, content, document), is_part=True)


def export_converter(source: str, label: str, read: ReadExport, *signs: bytes) -> Converter:
    """Return the converter of an export. The regular expressions `signs` must all match in its first bytes."""
    return Converter(
        label=label,
        mime=CONVERSATION,
        is_text=True,
        signature=_has(*map(re.compile, signs)),
        read=partial(_read_export, source, read),
        headings=True,
        location="message",
        remark="each conversation is a document",
    )


def _has(*signs: re.Pattern[bytes]) -> Test:
    def test(content: FileContent) -> bool:
        if content.extension not in ("json", "") or content.head.lstrip(b"\xef\xbb\xbf \t\r\n[")[:1] != b"{":
            return False
        sample = content.data[:_SAMPLE_BYTES]
        return all(sign.search(sample) for sign in signs)

    return test


def moment(seconds: object) -> str:
    """Return the minute of a time in seconds since 1970; "" for other values.

    >>> moment(1772619720.5)
    '2026-03-04 10:22'
    """
    try:
        return datetime.fromtimestamp(float(str(seconds)), UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""
