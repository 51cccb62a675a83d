"""The pictures inside of Office and EPUB files, in an order that stays the same."""

from __future__ import annotations

import io
import re
import zipfile

from gnod.ingest.reading.converter import FileContent
from gnod.ingest.reading.result import MAX_PAGES, ConversionFailed
from gnod.ingest.reading.unpacking import UNREADABLE_MEMBER

# Previews of the whole file do not match.
_PICTURE = re.compile(r"(?!docProps/|Thumbnails/).*\.(?:png|jpe?g|tiff?|webp|bmp)", re.I)
_MAX_BYTES = 100_000_000
# Smaller files are bullets and logos.
_MIN_BYTES = 2_000


def names(data: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = [
                member.filename
                for member in archive.infolist()
                if _MIN_BYTES <= member.file_size <= _MAX_BYTES and _PICTURE.fullmatch(member.filename)
            ]
    except UNREADABLE_MEMBER:
        return []
    return sorted(found, key=lambda name: (len(name), name))


def picture(data: bytes, number: int) -> bytes:
    """Return the bytes of a picture, numbered from 1. Raises ConversionFailed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(names(data)[number - 1])
    except (*UNREADABLE_MEMBER, LookupError) as error:
        raise ConversionFailed("corrupt", f"Picture {number} in the file is damaged.") from error


def texts(content: FileContent) -> dict[str, str]:
    """Return what was recognised in the pictures, by name; the others are noted."""
    if not content.scans.wanted:
        return {}
    pictures = names(content.data)
    found = {name: content.scans.text(number) for number, name in enumerate(pictures[: 2 * MAX_PAGES], 1)}
    return {name: text for name, text in found.items() if text}
