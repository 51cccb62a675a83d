"""Reads a Matrix room that Element exported as JSON. Edited messages have their last text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.conversation import ChatMessage
from gnod.ingest.formats.conversations.exports import Conversation, export_converter, moment
from gnod.ingest.formats.conversations.rendering import one_line
from gnod.ingest.reading.json_values import listed, mapping, string

_TEXTS = frozenset({"m.text", "m.notice", "m.emote"})
_FILES = {"m.image": "image", "m.video": "video", "m.audio": "audio", "m.file": "file"}


def _conversations(objects: list[dict[str, object]], _: PurePosixPath) -> Iterator[Conversation]:
    for room in objects:
        events = [mapping(event) for event in listed(room.get("messages"))]
        if "room_name" in room and any("sender" in event for event in events):
            name = one_line(string(room.get("room_name")))
            yield Conversation(title=name, place=name, messages=partial(_messages, events))


def _messages(events: list[dict[str, object]]) -> Iterator[ChatMessage]:
    names: dict[str, str] = {}
    edits = {target: content for event in events if (target := _edited(event)) and (content := _new(event))}
    for each in events:
        sender, content = string(each.get("sender")), mapping(each.get("content"))
        if each.get("type") == "m.room.member":
            names[string(each.get("state_key"))] = string(content.get("displayname"))
        elif each.get("type") == "m.room.message" and not _edited(each):
            content = edits.get(string(each.get("event_id")), content)
            time = moment(_seconds(each.get("origin_server_ts")))
            yield ChatMessage(speaker=names.get(sender) or _local(sender), time=time, text=_text(content))


def _edited(event: dict[str, object]) -> str:
    """Return the id of the message that an event replaces; "" if it replaces none."""
    relation = mapping(mapping(event.get("content")).get("m.relates_to"))
    return string(relation.get("event_id")) if relation.get("rel_type") == "m.replace" else ""


def _new(event: dict[str, object]) -> dict[str, object]:
    return mapping(mapping(event.get("content")).get("m.new_content"))


def _seconds(milliseconds: object) -> object:
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else milliseconds


def _local(user: str) -> str:
    """Return the name in an identifier such as `@mara:example.org`."""
    return user.removeprefix("@").partition(":")[0]


def _text(content: dict[str, object]) -> str:
    kind, body = string(content.get("msgtype")), string(content.get("body"))
    if kind in _FILES:
        return f"[{_FILES[kind]} left out: {one_line(body)}]"
    return body if kind in _TEXTS else ""


MATRIX = export_converter(
    "Matrix",
    "a Matrix export",
    _conversations,
    rb'"room_name"\s*:',
    rb'"(?:room_creator|export_date|exported_by)"\s*:',
)
