"""Read the turns of conversations from JSON Lines, the format in which agents store their sessions.

A line is recognised by its form: a role or a speaker beside a text, perhaps inside `message` or `payload`, with a time
there or around it. The text is a string, or a list of blocks, of which only text is kept. Everything else is not a
turn: tool calls and their results, reasoning, instructions of the program, the session's own records. Turns with
secrets are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import log2
from typing import Any, BinaryIO, NamedTuple

import msgspec

MAX_LINE_BYTES = 16 * 1024 * 1024
# A memory has at most 65,536 characters, including the speaker and the number of the part.
_MAX_TEXT = 65_000

_ROLES = ("role", "speaker", "sender", "author", "from")
_CONTENTS = ("content", "text", "parts", "value", "body")
_TIMES = ("timestamp", "time", "created_at", "createdAt", "create_time", "date", "ts")
_INSIDE = ("message", "payload", "item", "msg", "data")
_LISTS = ("messages", "conversation", "conversations", "turns")
_NOT_SPEAKERS = {"system", "developer", "tool", "function", "tool_result", "environment", "ipython", "summary"}
_SPEAKERS = {
    **dict.fromkeys(("user", "human"), "User"),
    **dict.fromkeys(("assistant", "model", "ai", "agent", "gpt", "bot"), "Assistant"),
}
_TEXT_BLOCKS = (None, "text", "input_text", "output_text")
# Programs insert such texts between the turns of a person.
_MACHINE_MADE = re.compile(r"\s*<([\w-]+)\b[^>]*>.*</\1>\s*\Z", re.DOTALL)
_MAX_DEPTH = 4
_LATEST_SECONDS = 1e11  # larger numbers are milliseconds
_MAX_SPEAKER_CHARACTERS = 64


class TranscriptTurn(NamedTuple):
    """`time`: ISO 8601, or None."""

    speaker: str
    text: str
    time: str | None


class RecordCounts(msgspec.Struct, kw_only=True):
    """The numbers of records of each kind. `other`: lines, or parts of them, that are not turns. `broken`: lines that
    are not JSON. `too_long`: lines over the limit. `secret`: turns that were left out. `repeated`: turns with the text
    of an earlier one."""

    turns: int = 0
    other: int = 0
    broken: int = 0
    too_long: int = 0
    secret: int = 0
    repeated: int = 0


def read_turns(file: BinaryIO, counts: RecordCounts, limit: int | None = None) -> Iterator[TranscriptTurn]:
    """Yield the turns in their order, each text once, at most `limit`; count what is left out."""
    seen: set[tuple[str, str]] = set()
    for line in _lines(file, counts):
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            counts.broken += 1
            continue
        found = list(_turns(record, None, 0))
        counts.other += not found
        for turn in found:
            if contains_secret(turn.text):
                counts.secret += 1
            elif turn[:2] in seen:
                counts.repeated += 1
            elif limit is not None and counts.turns >= limit:
                return
            else:
                seen.add(turn[:2])
                counts.turns += 1
                yield turn


def texts_of(turn: TranscriptTurn) -> list[str]:
    """Return the text of a turn with its speaker. A very long text is cut into parts, between paragraphs or words.

    >>> texts_of(TranscriptTurn("User", "Use tabs", None))
    ['User: Use tabs']
    """
    parts = _parts(turn.text)
    if len(parts) == 1:
        return [f"{turn.speaker}: {parts[0]}"]
    return [f"{turn.speaker} ({number} of {len(parts)}): {part}" for number, part in enumerate(parts, 1)]


def _parts(text: str) -> list[str]:
    parts = []
    while len(text) > _MAX_TEXT:
        cut = next((at for mark in ("\n\n", "\n", " ") if (at := text.rfind(mark, _MAX_TEXT // 2, _MAX_TEXT)) > 0), 0)
        parts.append(text[: cut or _MAX_TEXT].strip())
        text = text[cut or _MAX_TEXT :].strip()
    return [part for part in [*parts, text] if part]


def _lines(file: BinaryIO, counts: RecordCounts) -> Iterator[bytes]:
    is_first = True
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            counts.too_long += 1
            while line and not line.endswith(b"\n"):
                line = file.readline(MAX_LINE_BYTES)
            continue
        if is_first:
            line = line.removeprefix(b"\xef\xbb\xbf")
        is_first = False
        if line.strip():
            yield line


def _turns(record: object, time: str | None, depth: int) -> Iterator[TranscriptTurn]:
    if not isinstance(record, Mapping) or depth > _MAX_DEPTH or record.get("isMeta") is True:
        return
    time = next((found for name in _TIMES if (found := _time(record.get(name)))), time)
    speaker = next((found for name in _ROLES if (found := _speaker(record.get(name)))), None)
    text = next((found for name in _CONTENTS if (found := _text(record.get(name), depth))), "").strip()
    if speaker and text:
        if not (speaker.lower() in _NOT_SPEAKERS or _MACHINE_MADE.match(text)):
            yield TranscriptTurn(_SPEAKERS.get(speaker.lower(), speaker), text, time)
        return
    for name in _INSIDE:
        inner = record.get(name)
        if speaker and isinstance(inner, str) and inner.strip():
            yield from _turns({"role": speaker, "text": inner}, time, depth + 1)
            return
        yield from _turns(inner, time, depth + 1)
    for name in _LISTS:
        listed = record.get(name)
        if isinstance(listed, Sequence) and not isinstance(listed, str):
            for each in listed:
                yield from _turns(each, time, depth + 1)


def _speaker(value: object) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("role") or value.get("name")
    if not isinstance(value, str) or len(value) > _MAX_SPEAKER_CHARACTERS:
        return None
    return " ".join(value.split()) or None


def _text(value: object, depth: int) -> str:
    """Return the text of a content: a string, a block, or a list of them."""
    if isinstance(value, str):
        return _valid(value)
    if isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        if value.get("type") not in _TEXT_BLOCKS and "parts" not in value:
            return ""
        return next((text for name in _CONTENTS if (text := _text(value.get(name), depth + 1))), "")
    if isinstance(value, Sequence) and not isinstance(value, bytes) and depth <= _MAX_DEPTH:
        return "\n\n".join(text for each in value if (text := _text(each, depth + 1).strip()))
    return ""


def _valid(text: str) -> str:
    """Return the text without lone surrogates, which cannot be stored."""
    return text.encode("utf-8", "ignore").decode()


def _time(value: Any) -> str | None:
    """Return a time as ISO 8601: from text, or from seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value / 1000 if value > _LATEST_SECONDS else value, UTC)
        else:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.isoformat(timespec="milliseconds") if moment.timestamp() > 0 else None
    except (ValueError, OverflowError, OSError):
        return None


# Secrets: only a precaution. A password that is an ordinary word in an ordinary sentence is not recognised.

_KNOWN = re.compile(
    r"""-----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                       # AWS
    | \bgh[opusr]_[A-Za-z0-9]{20,} | \bgithub_pat_\w{20,} # GitHub
    | \bglpat-[\w-]{16,}                                  # GitLab
    | \b(?:sk|rk|pk)[-_][A-Za-z0-9_-]{16,}                # OpenAI, Anthropic, Stripe
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}                    # Slack
    | \bAIza[\w-]{30,} | \bya29\.[\w-]{20,}               # Google
    | \bhf_[A-Za-z0-9]{20,} | \bnpm_[A-Za-z0-9]{20,} | \bpypi-[\w-]{20,}
    | \bSG\.[\w-]{16,}\.[\w-]{16,}                        # SendGrid
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*                   # JSON Web Token
    | \bAGE-SECRET-KEY-1[0-9A-Z]{20,}""",
    re.VERBOSE,
)
_IN_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:pass(?:word|wd|phrase|code)?|pwd|passwort|kennwort|contraseña|clave|mot de passe|senha)"
    r"\W{0,3}(?:\s(?:is|ist|es|est)\s|[:=])\s*[\"'`]?([^\s\"'`,;]{4,})",
    re.IGNORECASE,
)
_AFTER_KEYWORD = re.compile(
    r"(?:key|token|secret|bearer|credentials?|auth\w*|schlüssel)\b[\"'`]?(?:\s+(?:is|ist|es))?\s*[:=]?\s*[\"'`]?"
    r"([A-Za-z0-9+/_.~-]{16,}={0,2})",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"[<{\[(*$%]|\.\.\.|x{3,}|pass(?:word)?\Z|secret\Z|your|example|changeme|redacted|none\Z|null\Z|true\Z|false\Z",
    re.IGNORECASE,
)
# The entropy of random Base64 and hexadecimal strings. Identifiers made of words have less.
_BITS_PER_CHARACTER = 3.3
_MIN_DIGITS = 2


def contains_secret(text: str) -> bool:
    """Return whether something in the text looks like a key, a token or a password: a known format, a password in an
    address, or a random string after a word such as `token`.

    >>> contains_secret("export TOKEN=ghp_" + "a1" * 18), contains_secret("the token is rotated every month")
    (True, False)
    """
    if _KNOWN.search(text):
        return True
    given = [match[1] for pattern in (_IN_ADDRESS, _NAMED) for match in pattern.finditer(text)]
    if any(not _PLACEHOLDER.match(value) for value in given):
        return True
    return any(_is_random(match[1]) for match in _AFTER_KEYWORD.finditer(text))


def _is_random(value: str) -> bool:
    """Return whether the characters look random: many different ones, letters and digits."""
    if _PLACEHOLDER.search(value) or sum(map(str.isdigit, value)) < _MIN_DIGITS or value.isdigit():
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * log2(n / len(value)) for n in counts.values())
    return bits >= _BITS_PER_CHARACTER
