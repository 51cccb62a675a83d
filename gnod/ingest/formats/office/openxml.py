"""What Office Open XML files (docx, pptx, xlsx) have in common: their properties, and their text without structure."""

from __future__ import annotations

import html
import io
import re
import struct
import zipfile
import zlib

import msgspec

from gnod.ingest.reading.result import Converted

_UNREADABLE = (KeyError, zipfile.BadZipFile, OSError, EOFError, RuntimeError, ValueError, zlib.error, struct.error)
_PROPERTIES_LIMIT = 64 * 1024
_PROPERTY = re.compile(r"<(dc:title|dc:creator|dcterms:created)\b[^<>]*>([^<]+)<")
_PIECE = re.compile(r"<(?:[wax]:)?t(?:\s[^<>]*)?>([^<]*)<|(</[wa]:p>|</(?:x:)?si>|<[wa]:br\b|<w:tab\b)")
_PLACEHOLDER_TITLE = re.compile(r"(?:untitled|powerpoint presentation|slide 1|document\d*|word document)\Z", re.I)


def with_properties(converted: Converted, data: bytes) -> Converted:
    """Add the title, author and date from the file's properties, where present and plausible."""
    text = member_text(data, "docProps/core.xml", _PROPERTIES_LIMIT)
    found = {name: " ".join(html.unescape(value).split()) for name, value in _PROPERTY.findall(text)}
    named = {"author": found.get("dc:creator"), "date": found.get("dcterms:created")}
    title = found.get("dc:title")
    if title and _PLACEHOLDER_TITLE.match(title):
        title = None
    metadata: dict[str, object] = {key: value for key, value in named.items() if value}
    return msgspec.structs.replace(converted, title=title or None, metadata=metadata)


def bare_text(data: bytes, parts: re.Pattern[str]) -> Converted:
    """Return the runs of text in the parts, by pattern: no XML parser, so no entities and no depth."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = sorted((name for name in archive.namelist() if parts.fullmatch(name)), key=_natural)
    except zipfile.BadZipFile:
        names = []
    text = "\n\n".join(_runs(member_text(data, name)) for name in names)
    return Converted(markdown=text, converter="openxml-text/1")


def _runs(xml: str) -> str:
    pieces: list[str] = []
    for piece in _PIECE.finditer(xml):
        pieces.append(html.unescape(piece[1]) if piece[1] is not None else "\n" if "tab" not in piece[2] else "\t")
    return "".join(pieces)


def _natural(name: str) -> tuple[int, str]:
    """slide2 before slide10."""
    return len(name), name


def member_text(data: bytes, name: str, limit: int = -1) -> str:
    """Return a member of a zip as text; nothing where it cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(name) as member:
            return member.read(limit).decode("utf-8", "replace")
    except _UNREADABLE:
        return ""
