"""Canonical Markdown: the one form of a text that is hashed, stored, cut and shown.

Changing a rule changes every mirror hash.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_BOM = "\ufeff"


def canonicalise(text: str) -> str:
    """Return the canonical form; idempotent.

    Strip the BOM; CRLF and CR become LF; Unicode NFC; no control characters but newline and tab; no white space
    at line ends; two or more blank lines become one; exactly one final newline.

    >>> canonicalise("\\ufeffa  \\r\\n\\r\\n\\r\\n \\t\\r\\nb")
    'a\\n\\nb\\n'
    """
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip(_BOM)
    if not text.isascii():
        # A lone surrogate can be neither stored nor sent. Characters go before composing: what they parted may join.
        text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))
    text = "\n".join([line.rstrip() for line in text.split("\n")])
    text = _BLANK_LINES.sub("\n\n", text).rstrip("\n") + "\n"
    return text[1:] if text.startswith("\n\n") else text


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hex.

    >>> digest("hello\\n")[:8]
    '5891b5b5'
    """
    return hashlib.sha256(text.encode()).hexdigest()
