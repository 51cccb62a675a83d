"""Small random changes to a client's bytes, chosen to hit edge cases of JSON and its framing. Pure functions."""

from __future__ import annotations

import json
import random
from typing import Any

from gnod.protocol.framing import Framing, encode

NASTY_NUMBERS = [0, -1, 1, 2, 255, 1000, 1001, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**18, -(2**63), 10**400]
NASTY_TEXTS = [
    "",
    " ",
    '"',
    '"a',
    "-a",
    "- ",
    "a -b",
    "*",
    "(",
    "a NEAR b",
    "{a}",
    "lex: a\nvec: b",
    "hyde:",
    "lex: -a",
    "\x1b[31m",
    "\u202e",
    "\ufeff",
    "\ud800",
    "\0",
    "a" * 5000,
    '"' * 500,
    "-a " * 500,
    "日本語" * 50,
    "gno://",
    "gno://notes/",
    "gno://notes/../../etc/passwd",
    "gno://notes/%00%ff",
    "#",
    "#abcdef",
    "abcdef:1",
    "notes/a.md:999999999",
    "/etc/passwd",
    "/" * 3000,
    "**/*.md",
    "[",
    "{" * 50 + "a,b" + "}" * 50,
    "*" * 100 + "b",
    "7d",
    "999999999999y",
    "0000-00-00",
    "9999-12-31T23:59:60+99:99",
    "2026-02-30",
    "-5d",
    "hf:a/b:Q4",
    "file:/dev/zero",
    "pypi:x==1#../../y",
]
TOKENS = [
    *(b"\n", b"\r\n\r\n", b"Content-Length: ", b"Content-Length: 5\r\n\r\n", b'{"jsonrpc":"2.0","method":"', b'"}\n'),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b"[" * 500,
        b'{"a":' * 300,
        b"null",
        b"NaN",
        b"1e400",
        b"-0",
        b"\\ud800",
        b"\\u0000",
    ),
    *(b"\xff", b"\xed\xa0\x80", b"\0", b'"id":', b'"params":', b"$/cancelRequest", b'"progress_token":1'),
]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return `data` with a changed value if it is a request, otherwise with changed bytes."""
    for _ in range(chance.randint(1, 3)):
        data = _values(data, chance) if chance.random() < 0.6 else _bytes(data, chance)
    return data


def _values(data: bytes, chance: random.Random) -> bytes:
    framing = Framing.HEADERS if data[:1] in b"Cc" else Framing.LINES
    body = data.partition(b"\r\n\r\n")[2] if framing is Framing.HEADERS else data.partition(b"\n")[0]
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return _bytes(data, chance)
    changed = _changed(message, chance, 0)
    written = json.dumps(changed, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
    again = encode(written, framing)
    return again + data if chance.random() < 0.1 else again


def _changed(value: Any, chance: random.Random, depth: int) -> Any:
    """Replace one nested value."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        # Most code paths depend on params.
        key = "params" if depth == 0 and "params" in value and chance.random() < 0.8 else chance.choice([*value])
        return {**value, key: _changed(value[key], chance, depth + 1)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], _changed(value[at], chance, depth + 1), *value[at + 1 :]]
    if isinstance(value, str) and chance.random() < 0.4:
        at = chance.randint(0, len(value))
        return value[:at] + chance.choice(NASTY_TEXTS) + value[at:]
    if isinstance(value, str) and chance.random() < 0.5:
        return chance.choice(NASTY_TEXTS)
    if isinstance(value, int | float) and chance.random() < 0.7:
        return chance.choice(NASTY_NUMBERS)
    return chance.choice([None, True, 1, 1.5, -1, "a", [], {}, [[]], {"a": 1}, ["a"] * 200, *NASTY_TEXTS[:8]])


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.randint(0, 20))
    match chance.randrange(5):
        case 0:
            return data[:at] + chance.choice(TOKENS) + data[at:]
        case 1:
            return data[:at] + data[end:]
        case 2:
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        case 3:
            return data[:end] + data[at:]
        case _:
            return data[:at] + chance.choice(TOKENS) + data[end:]
