"""Reads the export `conversations.json` of claude.ai. The model's reasoning is left out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.conversation import ASSISTANT, USER, ChatMessage
from gnod.ingest.formats.conversations.exports import Conversation, export_converter
from gnod.ingest.formats.conversations.rendering import block_text, folded, minute, title_of
from gnod.ingest.reading.json_values import listed, mapping, string


def _conversations(objects: list[dict[str, object]], _: PurePosixPath) -> Iterator[Conversation]:
    for conversation in objects:
        if messages := listed(conversation.get("chat_messages")):
            yield Conversation(
                title=title_of(string(conversation.get("name"))),
                place=string(mapping(conversation.get("project")).get("name")),
                began=minute(conversation.get("created_at")),
                messages=partial(_messages, messages),
            )


def _messages(found: list[object]) -> Iterator[ChatMessage]:
    for message in map(mapping, found):
        role = USER if message.get("sender") == "human" else ASSISTANT
        blocks = [mapping(block) for block in listed(message.get("content"))]
        texts = [block_text(block) for block in blocks] or [string(message.get("text"))]
        texts += [_attached(mapping(file)) for file in listed(message.get("attachments"))]
        for text in filter(str.strip, texts):
            yield ChatMessage(speaker=role, role=role, time=minute(message.get("created_at")), text=text)


def _attached(file: dict[str, object]) -> str:
    return folded(f"file {string(file.get('file_name'))}", string(file.get("extracted_content")))


CLAUDE_AI = export_converter(
    "Claude", "a Claude export", _conversations, rb'"chat_messages"\s*:\s*\[', rb'"uuid"\s*:', rb'"created_at"\s*:'
)
