"""Canonical Markdown: the form of a text that is hashed, stored, chunked and shown.

Changing a rule changes every mirror hash.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from gnod.types import LineMap

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_BOM = "\ufeff"
# Characters of typesetting that stand for several letters. Words are indexed with the letters, and are found in a text
# only if it has them too.
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}


def canonicalise(text: str) -> str:
    """Return the canonical form; idempotent.

    Strip the BOM; CRLF and CR become LF; Unicode NFC; letters for ligatures (U+FB00 to U+FB06); no control characters
    but newline and tab; no white space at line ends; two or more blank lines become one; exactly one final newline.

    >>> canonicalise("\\ufeffa  \\r\\n\\r\\n\\r\\n \\t\\r\\nb")
    'a\\n\\nb\\n'
    """
    text = "\n".join(_clean_lines(text))
    text = _BLANK_LINES.sub("\n\n", text).rstrip("\n") + "\n"
    return text[1:] if text.startswith("\n\n") else text


def line_map(text: str) -> LineMap:
    """Return where the canonical form of a file's text has fewer lines than the file."""
    found: LineMap = []
    kept = blank = 0
    for number, line in enumerate(_clean_lines(text), 1):
        blank = 0 if line else blank + 1
        if blank <= 1:
            kept += 1
            if number - kept != (found[-1][1] if found else 0):
                found.append((kept, number - kept))
    return found


def _clean_lines(text: str) -> list[str]:
    """Return the canonical lines, before blank lines are joined."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip(_BOM)
    if not text.isascii():
        # A lone surrogate can be neither stored nor sent. Remove characters before composing: their neighbours may
        # join.
        text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8").translate(_LIGATURES))
    return [line.rstrip() for line in text.split("\n")]


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hex.

    >>> digest("hello\\n")[:8]
    '5891b5b5'
    """
    return hashlib.sha256(text.encode()).hexdigest()
