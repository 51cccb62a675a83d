"""Claude Code: a file of JSON lines for each session, which grows (`~/.claude/projects/PROJECT/SESSION.jsonl`).

What the model thought is left out, and so is what the program itself adds to messages of the user.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnod.ingest.formats.conversations.agents import block_text, entry, first_entries, is_injected, minute
from gnod.ingest.formats.conversations.conversation import (
    ASSISTANT,
    USER,
    ChatMessage,
    LineFormat,
    State,
    line_converter,
)
from gnod.ingest.formats.conversations.rendering import title_of
from gnod.ingest.reading.converter import FileContent
from gnod.ingest.reading.json_values import listed, mapping, string

_ROLES = (USER, ASSISTANT)


def _resembles(content: FileContent) -> bool:
    return any(_is_message(each) and "sessionId" in each and "uuid" in each for each in first_entries(content))


def _is_message(found: dict[str, object]) -> bool:
    return found.get("type") in _ROLES and mapping(found.get("message")).get("role") in _ROLES


def _read(line: bytes, state: State) -> Iterator[ChatMessage]:
    found = entry(line)
    state.place = state.place or string(found.get("cwd"))
    if found.get("type") == "summary" and not state.number:
        state.title = title_of(string(found.get("summary")))
    if not _is_message(found) or found.get("isMeta"):
        return
    role = string(found.get("type"))
    time = minute(found.get("timestamp"))
    content = mapping(found.get("message")).get("content")
    blocks: list[object] = [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)
    for block in map(mapping, blocks):
        # The answer of a tool is logged as a message of the user.
        speaker = ASSISTANT if block.get("type") == "tool_result" else role
        yield ChatMessage(speaker=speaker, role=speaker, time=time, text=_text(block))


def _text(block: dict[str, object]) -> str:
    text = block_text(block)
    return "" if block.get("type") == "text" and is_injected(text) else text


FORM = LineFormat(source="Claude Code", read=_read, begin=lambda _: State(zone="UTC"))
CLAUDE_CODE = line_converter(FORM, "a transcript of Claude Code", _resembles)
