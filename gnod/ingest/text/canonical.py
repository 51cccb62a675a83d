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
# Typographic characters that represent several letters. The index has words with the letters, so the text must have
# them too.
_LIGATURES = {each: unicodedata.normalize("NFKC", each) for each in map(chr, range(0xFB00, 0xFB07))}
_LIGATURE = re.compile("[\ufb00-\ufb06]")


def canonicalise(text: str) -> str:
    """Return the canonical form; idempotent.

    Strip the BOM; CRLF and CR become LF; Unicode NFC; letters for ligatures (U+FB00 to U+FB06); no control characters
    but newline and tab; no white space at line ends; two or more blank lines become one; exactly one final newline.

    >>> canonicalise("\\ufeffa  \\r\\n\\r\\n\\r\\n \\t\\r\\nb")
    'a\\n\\nb\\n'
    """
    return _without_blank_lines(_cleaned(text))


def with_line_map(text: str) -> tuple[str, LineMap]:
    """Return the canonical form of a file's text, and the places where it has fewer lines than the file."""
    cleaned = _cleaned(text)
    has_lost = "\n\n\n" in cleaned or cleaned.startswith("\n\n")
    return _without_blank_lines(cleaned), _line_map(cleaned.split("\n")) if has_lost else []


def _without_blank_lines(text: str) -> str:
    if "\n\n\n" in text:
        text = _BLANK_LINES.sub("\n\n", text)
    text = text.rstrip("\n") + "\n"
    return text[1:] if text.startswith("\n\n") else text


def _line_map(lines: list[str]) -> LineMap:
    found: LineMap = []
    kept = blank = 0
    for number, line in enumerate(lines, 1):
        blank = 0 if line else blank + 1
        if blank <= 1:
            kept += 1
            if number - kept != (found[-1][1] if found else 0):
                found.append((kept, number - kept))
    return found


def _cleaned(text: str) -> str:
    """Return the text with canonical lines, before blank lines are joined."""
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip(_BOM)
    # A lone surrogate cannot be stored or sent. Remove characters before composing, because their neighbours may
    # combine.
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = unicodedata.normalize("NFC", _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text))
    return "\n".join([line.rstrip() for line in text.split("\n")])


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hex.

    >>> digest("hello\\n")[:8]
    '5891b5b5'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def embed_hash(title: str, heading: str, text: str) -> str:
    """Return the hash of the embedded text of a chunk: the title from the text, the path of headings, and the chunk."""
    return digest("\x00".join((title, heading, text)))
