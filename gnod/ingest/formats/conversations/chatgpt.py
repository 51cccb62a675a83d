"""Reads ChatGPT's export `conversations.json`. A conversation is a tree; only the last shown branch is read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.conversation import ASSISTANT, USER, ChatMessage
from gnod.ingest.formats.conversations.exports import Conversation, export_converter, moment
from gnod.ingest.formats.conversations.rendering import answered, called, fenced, text_of, title_of
from gnod.ingest.reading.json_values import listed, mapping, string

_THOUGHTS = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})


def _conversations(objects: list[dict[str, object]], _: PurePosixPath) -> Iterator[Conversation]:
    for conversation in objects:
        nodes = mapping(conversation.get("mapping"))
        if any("message" in mapping(node) for node in nodes.values()):
            yield Conversation(
                title=title_of(string(conversation.get("title"))),
                began=moment(conversation.get("create_time")),
                messages=partial(_messages, nodes, string(conversation.get("current_node"))),
            )


def _messages(nodes: dict[str, object], last: str) -> Iterator[ChatMessage]:
    for found in _branch(nodes, last):
        role = string(mapping(found.get("author")).get("role"))
        speaker = USER if role == USER else ASSISTANT
        if role in (USER, ASSISTANT, "tool") and (text := _text(found, role)).strip():
            yield ChatMessage(speaker=speaker, role=speaker, time=moment(found.get("create_time")), text=text)


def _branch(nodes: dict[str, object], last: str) -> list[dict[str, object]]:
    """Return the messages from the first one to `last`; if `last` is empty, to the newest one."""
    if last not in nodes:
        last = max(nodes, key=lambda name: _seconds(mapping(mapping(nodes[name]).get("message"))))
    found: list[dict[str, object]] = []
    seen: set[str] = set()
    while last in nodes and last not in seen:  # a damaged tree may have a cycle
        seen.add(last)
        node = mapping(nodes[last])
        found.append(mapping(node.get("message")))
        last = string(node.get("parent"))
    return found[::-1]


def _seconds(message: dict[str, object]) -> float:
    time = message.get("create_time")
    return time if isinstance(time, float | int) else 0.0


def _text(message: dict[str, object], role: str) -> str:
    content = mapping(message.get("content"))
    kind = string(content.get("content_type"))
    hidden = mapping(message.get("metadata")).get("is_visually_hidden_from_conversation")
    if kind in _THOUGHTS or hidden:
        return ""
    parts = [part if isinstance(part, str) else text_of([part]) for part in _parts(content)]
    text = "\n\n".join(filter(None, parts))
    tool = string(message.get("recipient"))
    if role == "tool":
        return answered(text) if text else ""
    if role == ASSISTANT and tool not in ("", "all"):
        return called(tool, text)
    return fenced(text, "") if kind == "code" else text


def _parts(content: dict[str, object]) -> list[object]:
    """Return the parts of a message. Other parts than texts, such as pictures, have a type and no text."""
    parts = listed(content.get("parts")) or [content.get("text") or content.get("result")]
    return [
        {"type": string(mapping(part).get("content_type")), **part} if isinstance(part, dict) else part
        for part in parts
    ]


CHATGPT = export_converter(
    "ChatGPT",
    "a ChatGPT export",
    _conversations,
    rb'"mapping"\s*:\s*\{',
    rb'"children"\s*:\s*\[',
    rb'"(?:create_time|current_node)"\s*:',
)
