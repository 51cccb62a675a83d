"""Reads the transcripts of Claude Code (`~/.claude/projects/PROJECT/SESSION.jsonl`) and Codex
(`~/.codex/sessions/…/rollout-….jsonl`): one growing file of JSON lines for each session.

The model's reasoning is left out, and so is the text that the program itself adds to messages of the user.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnod.ingest.formats.conversations.conversation import (
    ASSISTANT,
    USER,
    ChatMessage,
    LineFormat,
    State,
    UnreadableLine,
    line_converter,
)
from gnod.ingest.formats.conversations.rendering import answered, block_text, called, minute, text_of, title_of
from gnod.ingest.reading.converter import FileContent
from gnod.ingest.reading.json_values import listed, loads, mapping, string

_EXTENSIONS = frozenset({"jsonl", "ndjson", "json", ""})
_BOM = b"\xef\xbb\xbf"
_SAMPLE_BYTES = 1_000_000
_SAMPLE_LINES = 50
_ROLES = (USER, ASSISTANT)
_ITEMS = frozenset({"message", "function_call", "custom_tool_call", "local_shell_call", "function_call_output"})
# Programs insert these texts into the user's messages, as if the user had written them.
_INJECTED = (
    *("<system-reminder>", "<command-", "<local-command-", "<bash-", "<environment_context>", "<user_instructions>"),
    *("# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>", "Caveat: The messages below were generated"),
)


def _is_injected(text: str) -> bool:
    return text.lstrip().startswith(_INJECTED)


def _entry(line: bytes) -> dict[str, object]:
    """Parse a line as a JSON object. Raises UnreadableLine."""
    try:
        value = loads(line.removeprefix(_BOM))
    except (ValueError, RecursionError) as error:
        raise UnreadableLine from error
    if not isinstance(value, dict):
        raise UnreadableLine
    return value


def _first_entries(content: FileContent) -> Iterator[dict[str, object]]:
    """Yield the first lines that are objects, if the file may consist of such lines."""
    if content.extension not in _EXTENSIONS or b'{"' not in content.head:
        return
    for line in content.data[:_SAMPLE_BYTES].split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]:
        try:
            yield _entry(line)
        except UnreadableLine:
            continue


def _is_claude_code(content: FileContent) -> bool:
    return any(_is_message(entry) and "sessionId" in entry and "uuid" in entry for entry in _first_entries(content))


def _is_message(found: dict[str, object]) -> bool:
    return found.get("type") in _ROLES and mapping(found.get("message")).get("role") in _ROLES


def _read_claude_code(line: bytes, state: State) -> Iterator[ChatMessage]:
    found = _entry(line)
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
        # The program logs the output of a tool as a message of the user.
        speaker = ASSISTANT if block.get("type") == "tool_result" else role
        yield ChatMessage(speaker=speaker, role=speaker, time=time, text=_claude_text(block))


def _claude_text(block: dict[str, object]) -> str:
    text = block_text(block)
    return "" if block.get("type") == "text" and _is_injected(text) else text


def _is_codex(content: FileContent) -> bool:
    entries = list(_first_entries(content))
    if any(entry.get("type") == "session_meta" and "cwd" in mapping(entry.get("payload")) for entry in entries):
        return True
    is_older = bool(entries) and {"id", "timestamp", "instructions"} <= entries[0].keys()
    return is_older and any(line.get("type") in _ITEMS for line in entries)


def _read_codex(line: bytes, state: State) -> Iterator[ChatMessage]:
    """Yield the messages of an item. Older versions wrote bare items, without a time."""
    found = _entry(line)
    payload = mapping(found.get("payload")) or found
    state.place = state.place or string(payload.get("cwd"))
    if found.get("type") not in ("response_item", *_ITEMS):
        return
    role = USER if payload.get("role") == USER else ASSISTANT
    yield ChatMessage(speaker=role, role=role, time=minute(found.get("timestamp")), text=_codex_text(payload))


def _codex_text(item: dict[str, object]) -> str:
    match item.get("type"):
        case "message" if item.get("role") in (USER, ASSISTANT):
            text = text_of(item.get("content"))
            return "" if _is_injected(text) else text
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
    """Return the arguments of a call from a string with JSON."""
    try:
        return loads(string(written).encode()) or written
    except (ValueError, RecursionError):
        return written


def _output(written: object) -> object:
    """Return the output of a tool; some versions write it as a string with JSON."""
    inner = mapping(_arguments(written) if isinstance(written, str) and written.startswith('{"output"') else written)
    return inner.get("output") or inner.get("content") or written


CLAUDE_CODE = line_converter(
    LineFormat(source="Claude Code", read=_read_claude_code, begin=lambda _: State(zone="UTC")),
    "a Claude Code transcript",
    _is_claude_code,
)
CODEX = line_converter(
    LineFormat(source="Codex", read=_read_codex, begin=lambda _: State(zone="UTC")), "a Codex transcript", _is_codex
)
