"""What the transcripts of coding agents have in common: JSON lines, tools, content in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gnod.ingest.formats.conversations.conversation import UnreadableLine
from gnod.ingest.formats.conversations.rendering import folded
from gnod.ingest.reading.converter import FileContent
from gnod.ingest.reading.json_values import listed, loads, mapping, string

_EXTENSIONS = frozenset({"jsonl", "ndjson", "json", ""})
_BOM = b"\xef\xbb\xbf"
_SAMPLE_BYTES = 1_000_000
_SAMPLE_LINES = 50
# Programs insert these texts into the user's messages, as if the user had written them.
_INJECTED = (
    *("<system-reminder>", "<command-", "<local-command-", "<bash-", "<environment_context>", "<user_instructions>"),
    *("# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>", "Caveat: The messages below were generated"),
)


def is_injected(text: str) -> bool:
    return text.lstrip().startswith(_INJECTED)


def entry(line: bytes) -> dict[str, object]:
    """Return the object that a line is. Raises UnreadableLine."""
    try:
        value = loads(line.removeprefix(_BOM))
    except (ValueError, RecursionError) as error:
        raise UnreadableLine from error
    if not isinstance(value, dict):
        raise UnreadableLine
    return value


def first_entries(content: FileContent) -> Iterator[dict[str, object]]:
    """Yield the first lines that are objects, if it may be a file of such lines."""
    if content.extension not in _EXTENSIONS or b'{"' not in content.head:
        return
    for line in content.data[:_SAMPLE_BYTES].split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]:
        try:
            yield entry(line)
        except UnreadableLine:
            continue


def minute(written: object) -> str:
    """Return the minute of a time in ISO 8601.

    >>> minute("2026-03-04T10:22:31.120Z")
    '2026-03-04 10:22'
    """
    return string(written)[:16].replace("T", " ")


def called(name: str, arguments: object) -> str:
    """Return the call of a tool: its name and the beginning of what it was given."""
    if isinstance(arguments, str):
        given = arguments
    else:
        given = "\n".join(_argument(key, value) for key, value in mapping(arguments).items())
    return folded(f"tool {name}", given)


def _argument(name: str, value: object) -> str:
    return f"{name}: {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"


def answered(content: object) -> str:
    """Return what a tool answered, folded."""
    return folded("output", text_of(content))


def text_of(content: object) -> str:
    """Return the text of a message, which is a string or a list of blocks. What is not text is named."""
    if isinstance(content, str):
        return content
    blocks = map(mapping, listed(content))
    return "\n\n".join(filter(None, (string(block.get("text")) or left_out(block) for block in blocks)))


def left_out(block: dict[str, object]) -> str:
    kind = string(block.get("type"))
    return (
        f"[{kind.removeprefix('input_').replace('_', ' ')} left out]" if "image" in kind or "document" in kind else ""
    )


def block_text(block: dict[str, object]) -> str:
    """Return the text of a block of Anthropic's API. What the model thought is left out."""
    match block.get("type"):
        case "text":
            return string(block.get("text"))
        case "tool_use":
            return called(string(block.get("name")), block.get("input"))
        case "tool_result":
            return answered(block.get("content"))
    return left_out(block)
