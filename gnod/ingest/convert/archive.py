"""Zip archives: the text of every member, each under a heading with its name."""

from __future__ import annotations

import io
import zipfile
from collections import Counter

from gnod.ingest.convert.converter import Converter, FileContent
from gnod.ingest.convert.parts import Parts
from gnod.ingest.convert.result import ConversionFailed, Converted
from gnod.ingest.convert.unpacking import check_depth, check_unpacked, unpack

_WORST_FIRST = ("too_large", "encrypted", "corrupt")
_REASONS = {"too_large": "too large", "encrypted": "protected by a password", "corrupt": "damaged"}


def _read(content: FileContent) -> Converted:
    check_depth(content)
    if content.extension not in ("", "zip") and content.zip_members is not None:
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: it has no document inside.")
    members = [member for member in check_unpacked(content) if not member.is_dir()]
    parts = Parts("file", content.max_characters)
    unread: list[ConversionFailed] = []
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        for member in members:
            try:
                text = _member_text(archive, member, content, parts.left)
            except ConversionFailed as failure:  # an unreadable member does not fail the archive
                if failure.kind == "too_long":
                    raise
                unread.append(failure)
                continue
            parts.add(f"## File: {member.filename}\n\n{text.strip()}", member.filename)
    if not parts.markdown and unread:
        raise _nothing_read(unread)
    missing = _missing(unread)
    text = f"{parts.markdown}\n\n{missing}" if missing else parts.markdown
    return Converted(markdown=text, converter="zip/2", locations=parts.locations)


def _member_text(archive: zipfile.ZipFile, member: zipfile.ZipInfo, outer: FileContent, max_characters: int) -> str:
    return outer.convert(outer.inner(unpack(archive, member, outer), member.filename, max_characters)).markdown


def _nothing_read(unread: list[ConversionFailed]) -> ConversionFailed:
    """Say why an archive gives no text at all, by its worst member."""
    for kind in _WORST_FIRST:
        if found := next((failure for failure in unread if failure.kind == kind), None):
            return found
    if all(failure.kind == "empty" for failure in unread):
        return ConversionFailed("empty", "There is no text in the archive: all files in it are empty.")
    return ConversionFailed("unsupported", "There is no text in the archive: no file in it has a converter.")


def _missing(unread: list[ConversionFailed]) -> str:
    """Say how many members are missing from the text though they may have some; "" when none is."""
    counts = Counter(failure.kind for failure in unread)
    reasons = [f"{counts[kind]} {_REASONS[kind]}" for kind in _WORST_FIRST if counts[kind]]
    return f"(Files in this archive that were not read: {', '.join(reasons)}.)" if reasons else ""


ZIP = Converter(
    label="a zip archive",
    mime="application/zip",
    extensions="zip",
    is_container=True,
    signature=lambda content: content.is_zip,
    read=_read,
    headings=True,
    location="file",
    remark="up to 2,000 files and 500 MB, archives in archives up to 3 levels",
)
