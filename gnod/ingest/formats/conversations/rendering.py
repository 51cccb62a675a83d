"""Writes messages as Markdown. A message is quoted text: its headings do not become structure, and its open fences are
closed at its end.

Messages of agents consist of blocks; the input and output of tools is folded. It must not depend on a program.
"""

from __future__ import annotations

import re

import msgspec

from gnod.ingest.reading.json_values import listed, mapping, string
from gnod.ingest.text.canonical import canonicalise
from gnod.ingest.text.outline import plain
from gnod.ingest.text.secret_masking import mask

# Only this beginning of a tool's input or output is indexed. Users rarely search for the rest.
FOLDED_LINES = 12
FOLDED_CHARACTERS = 1200
_LONGEST_TITLE = 100
_LONGEST_NAME = 80
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_FENCES = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_STRUCTURE = re.compile(r"( {0,3})(#{1,6}(?:[ \t]|$)|(?:=+|-+)\s*$)")
_BETWEEN_WORDS = " \n\t\"',;"
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|(?:`{3,}|~{3,}).*(?:\n|\Z))+", re.MULTILINE)
_MARKS = re.compile(r"^ {0,3}[#=\-`~]", re.MULTILINE)


def one_line(text: str, longest: int = _LONGEST_NAME) -> str:
    """Return the beginning of a text as a name or title, cut between words."""
    line = " ".join(canonicalise(text[: 4 * longest]).split())
    return line if len(line) <= longest else line[:longest].rsplit(" ", 1)[0] + "…"


def title_of(text: str) -> str:
    """Return a text as the title of a conversation, without Markdown marks. Secret keys are masked before the text is
    cut, because a cut key would not be recognised.

    >>> title_of("## **Why** does `gnod` [wait](https://example.org)?")
    'Why does gnod wait?'
    """
    beginning = mask(text[: 4 * _LONGEST_TITLE])
    return one_line(plain(_LINE_MARKS.sub("", beginning)), _LONGEST_TITLE)


def quoted(text: str) -> str:
    """Return the text of a message as Markdown that has no headings and closes its fences.

    >>> quoted("# No\\n```sh\\n# a comment")
    '\\\\# No\\n```sh\\n# a comment\\n```'
    """
    text = canonicalise(text).strip("\n")
    if not _MARKS.search(text):
        return text
    fence, lines = "", []
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
        elif mark and "`" not in mark[2]:
            fence = mark[1]
        else:
            line = _STRUCTURE.sub(r"\1\\\2", line, count=1) if _STRUCTURE.match(line) else line
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)


def folded(label: str, text: str) -> str:
    """Return the beginning of a tool's input or output in a fence with a label, and the number of further lines."""
    kept = "\n".join(_beginning(text).split("\n")[:FOLDED_LINES])
    more = text.count("\n", len(kept)) if len(kept) < len(text) else 0
    rest = [f"… {more:,} more lines" if more > 1 else "…"] if text[len(kept) :].strip() else []
    return fenced("\n".join([kept, *rest]), one_line(label))


def _beginning(text: str) -> str:
    """Return the first characters without a partial last word: half a secret key would not be recognised as one."""
    if len(text) <= FOLDED_CHARACTERS:
        return text
    return text[: max(text.rfind(sign, 0, FOLDED_CHARACTERS) for sign in _BETWEEN_WORDS) + 1]


def fenced(text: str, label: str) -> str:
    """Return a text in a fence that is longer than all fences in the text."""
    text = canonicalise(text).strip("\n")
    fence = "`" * max([3, *(len(mark) + 1 for mark in _FENCES.findall(text))])
    return f"{fence}{label.replace('`', '')}\n{text}\n{fence}"


def heading(speaker: str, time: str) -> str:
    """Return the heading of a message.

    >>> heading("Mara", "2026-03-04 10:22")
    '## Mara, 2026-03-04 10:22'
    """
    return "## " + ", ".join(filter(None, (one_line(speaker) or "unknown", time)))


def minute(written: object) -> str:
    """Return the minute of a time in ISO 8601.

    >>> minute("2026-03-04T10:22:31.120Z")
    '2026-03-04 10:22'
    """
    return string(written)[:16].replace("T", " ")


def called(name: str, arguments: object) -> str:
    """Return the call of a tool: its name and the beginning of its arguments."""
    if isinstance(arguments, str):
        given = arguments
    else:
        given = "\n".join(_argument(key, value) for key, value in mapping(arguments).items())
    return folded(f"tool {name}", given)


def _argument(name: str, value: object) -> str:
    return f"{name}: {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"


def answered(content: object) -> str:
    """Return the output of a tool, folded."""
    return folded("output", text_of(content))


def text_of(content: object) -> str:
    """Return the text of a message, which is a string or a list of blocks. Pictures and documents are named."""
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
    """Return the text of a block of Anthropic's API. The model's reasoning is left out."""
    match block.get("type"):
        case "text":
            return string(block.get("text"))
        case "tool_use":
            return called(string(block.get("name")), block.get("input"))
        case "tool_result":
            return answered(block.get("content"))
    return left_out(block)
