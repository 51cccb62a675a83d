"""Reads Microsoft Teams: messages from Microsoft Graph, and `messages.json` of personal accounts, Skype's format."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.conversation import ChatMessage
from gnod.ingest.formats.conversations.exports import Conversation, export_converter
from gnod.ingest.formats.conversations.rendering import minute, one_line
from gnod.ingest.formats.visible_html import page_text
from gnod.ingest.reading.json_values import listed, mapping, string


def _conversations(objects: list[dict[str, object]], path: PurePosixPath) -> Iterator[Conversation]:
    if any(_is_of_graph(candidate) for candidate in objects):  # a bare list of messages
        objects = [{"value": objects}]
    for chat in objects:
        if any(map(_is_of_graph, messages := listed(chat.get("value")))):
            title = one_line(string(chat.get("topic")) or path.stem)
            yield Conversation(title=title, place=title, messages=partial(_of_graph, messages))
        for inner in map(mapping, listed(chat.get("conversations"))):
            if messages := listed(inner.get("MessageList")):
                topic = string(mapping(inner.get("threadProperties")).get("topic"))
                name = one_line(topic or string(inner.get("displayName")) or _account(inner.get("id")))
                yield Conversation(title=name, place=name, messages=partial(_of_skype, messages))


def _is_of_graph(message: object) -> bool:
    return {"createdDateTime", "body", "from"} <= mapping(message).keys()


def _of_graph(found: list[object]) -> list[ChatMessage]:
    messages = []
    for message in map(mapping, found):
        sender, body = mapping(message.get("from")), mapping(message.get("body"))
        names = (string(mapping(sender.get(kind)).get("displayName")) for kind in ("user", "application", "device"))
        text = _text(string(body.get("content")), body.get("contentType") == "html")
        if speaker := next(filter(None, names), ""):
            messages.append(ChatMessage(speaker=speaker, time=minute(message.get("createdDateTime")), text=text))
    return _oldest_first(messages)


def _of_skype(found: list[object]) -> list[ChatMessage]:
    messages = []
    for message in map(mapping, found):
        kind = string(message.get("messagetype"))
        if kind.startswith(("RichText", "Text")):
            speaker = string(message.get("displayName")) or _account(message.get("from"))
            text = _text(string(message.get("content")), kind.startswith("RichText"))
            messages.append(ChatMessage(speaker=speaker, time=minute(message.get("originalarrivaltime")), text=text))
    return _oldest_first(messages)


def _oldest_first(messages: list[ChatMessage]) -> list[ChatMessage]:
    """Return the messages in order; an export may begin with the newest one."""
    return messages[::-1] if messages and messages[0].time > messages[-1].time else messages


def _account(written: object) -> str:
    """Return the name in an identifier such as `8:live:mara`."""
    return string(written).rpartition(":")[2]


def _text(content: str, is_page: bool) -> str:
    return page_text(content) if is_page else content


_OF_GRAPH = (rb'"createdDateTime"\s*:', rb'"messageType"\s*:', rb'"(?:chatId|channelIdentity)"\s*:')
_OF_SKYPE = (rb'"MessageList"\s*:\s*\[', rb'"conversations"\s*:\s*\[')
FORMATS = (
    export_converter("Teams", "a Teams export", _conversations, *_OF_GRAPH),
    export_converter("Teams", "a Teams export", _conversations, *_OF_SKYPE),
)
