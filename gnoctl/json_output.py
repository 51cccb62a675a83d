"""Results as JSON."""

from __future__ import annotations

import re
import sys

import msgspec


def print_json(value: object) -> None:
    """Print `value`: indented for people, on one line for programs."""
    print(json_text(value, indented=sys.stdout.isatty()))


def json_text(value: object, *, indented: bool = False) -> str:
    encoded = msgspec.json.encode(value)
    if indented:
        encoded = msgspec.json.format(encoded, indent=2)
    # JSON does not require these to be escaped (DEL, C1, bidirectional overrides), but a terminal obeys them.
    return re.sub("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]", lambda match: f"\\u{ord(match[0]):04x}", encoded.decode())
