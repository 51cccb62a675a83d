"""Codex: a file of JSON lines for each session, which grows (`~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`).

Older versions wrote the items themselves, without a time. What the model thought is encrypted or left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnod.ingest.formats.conversations.agents import (
    answered,
    called,
    entry,
    first_entries,
    is_injected,
    minute,
    text_of,
)
from gnod.ingest.formats.conversations.conversation import (
    ASSISTANT,
    USER,
    ChatMessage,
    LineFormat,
    State,
    line_converter,
)
from gnod.ingest.reading.converter import FileContent
from gnod.ingest.reading.json_values import listed, loads, mapping, string

_ITEMS = frozenset({"message", "function_call", "custom_tool_call", "local_shell_call", "function_call_output"})


def _resembles(content: FileContent) -> bool:
    entries = list(first_entries(content))
    if any(each.get("type") == "session_meta" and "cwd" in mapping(each.get("payload")) for each in entries):
        return True
    is_older = bool(entries) and {"id", "timestamp", "instructions"} <= entries[0].keys()
    return is_older and any(each.get("type") in _ITEMS for each in entries)


def _read(line: bytes, state: State) -> Iterator[ChatMessage]:
    found = entry(line)
    payload = mapping(found.get("payload")) or found
    state.place = state.place or string(payload.get("cwd"))
    if found.get("type") not in ("response_item", *_ITEMS):
        return
    role = USER if payload.get("role") == USER else ASSISTANT
    yield ChatMessage(speaker=role, role=role, time=minute(found.get("timestamp")), text=_text(payload))


def _text(item: dict[str, object]) -> str:
    match item.get("type"):
        case "message" if item.get("role") in (USER, ASSISTANT):
            text = text_of(item.get("content"))
            return "" if is_injected(text) else text
        case "function_call":
            return called(string(item.get("name")), _arguments(item.get("arguments")))
        case "custom_tool_call":
            return called(string(item.get("name")), item.get("input"))
        case "local_shell_call":
            command = listed(mapping(item.get("action")).get("command"))
            return called("shell", " ".join(map(str, command)))
        case "function_call_output" | "custom_tool_call_output":
            return answered(_output(item.get("output")))
    return ""


def _arguments(written: object) -> object:
    """Return the arguments of a call, which are JSON in a string."""
    try:
        return loads(string(written).encode()) or written
    except (ValueError, RecursionError):
        return written


def _output(written: object) -> object:
    """Return what a tool said; some versions have it in JSON in a string."""
    inner = mapping(_arguments(written) if isinstance(written, str) and written.startswith('{"output"') else written)
    return inner.get("output") or inner.get("content") or written


FORM = LineFormat(source="Codex", read=_read, begin=lambda _: State(zone="UTC"))
CODEX = line_converter(FORM, "a transcript of Codex", _resembles)
