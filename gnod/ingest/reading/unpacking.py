"""Unpack compressed files and all formats based on zip safely, with checks for decompression bombs.

Nothing is unpacked to disk, so names of members are never used as paths.
"""

from __future__ import annotations

import io
import zipfile
import zlib

from gnod.ingest.reading.converter import FileContent, password_protected
from gnod.ingest.reading.result import ConversionFailed

# Real texts do not compress to 1/500 of their size. The maximum of deflate is 1:1032.
_RATIO_LIMIT = 500
_DEPTH_LIMIT = 3
_BIG_MEMBER = 10_000_000
LARGEST_MEMBER = 100_000_000
_END_OF_CONTENTS = b"PK\x05\x06"
_END_REACH = 66_000  # the end record and the longest possible comment after it
UNREADABLE_MEMBER = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)


def check_depth(content: FileContent) -> None:
    """Raise ConversionFailed for an archive that is nested too deeply: an archive may contain itself."""
    if content.depth >= _DEPTH_LIMIT:
        raise ConversionFailed("too_large", f"The archive is inside {_DEPTH_LIMIT} others; deeper ones are not read.")


def read_unpacked(file: io.BufferedIOBase, content: FileContent) -> bytes:
    """Return the content of a compressed file, whose size is unknown before. Raises ConversionFailed (too_large)."""
    ratio_limit = max(_BIG_MEMBER, _RATIO_LIMIT * len(content.data))
    limit = min(LARGEST_MEMBER, ratio_limit, content.allowance.unpacked_bytes)
    data = file.read(limit + 1)
    if len(data) <= limit:
        content.allowance.unpacked_bytes -= len(data)
        return data
    if limit == ratio_limit:
        message = f"The file is a decompression bomb: {len(content.data):,} bytes unpack to more than {limit:,}."
    else:
        message = f"Unpacked, the file has more than {limit // 1_000_000} MB."
    raise ConversionFailed("too_large", message)


def check_unpacked(content: FileContent) -> list[zipfile.ZipInfo]:
    """Return the members of a zip. Raises ConversionFailed: too_large for a bomb, encrypted, corrupt.

    Their unpacked size counts against the allowance of the whole file, at any depth. Declared sizes are reliable,
    because Python's zipfile never unpacks more of a member than its declared size.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            members = archive.infolist()
    except UNREADABLE_MEMBER as error:
        raise ConversionFailed("corrupt", _without_contents(content)) from error
    total = sum(member.file_size for member in members)
    if bomb := next(filter(_is_bomb, members), None):
        raise ConversionFailed(
            "too_large",
            f"The file is a zip bomb: {len(content.data):,} bytes hold {_shown(bomb)}, which unpacks to"
            f" {bomb.file_size:,} bytes.",
        )
    content.allowance.take_bytes(total)
    if members and all(member.flag_bits & 1 for member in members if not member.is_dir()):
        raise password_protected()
    return members


def unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, content: FileContent) -> bytes:
    """Return a member's bytes. Raises ConversionFailed: too_large, encrypted, corrupt."""
    content.allowance.take_member()
    if member.flag_bits & 1:
        raise ConversionFailed("encrypted", "The files in the archive are protected by a password.")
    if member.file_size > LARGEST_MEMBER:
        raise ConversionFailed("too_large", f"{_shown(member)} in the archive unpacks to {member.file_size:,} bytes.")
    try:
        return archive.read(member)
    except UNREADABLE_MEMBER as error:
        message = f"The archive is damaged: {_shown(member)} inside it cannot be unpacked."
        raise ConversionFailed("corrupt", message) from error


def damage(content: FileContent) -> ConversionFailed | None:
    """Return the error for the first member that cannot be unpacked; None if all can be."""
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            for member in archive.infolist():
                try:
                    with archive.open(member) as part:
                        while part.read(1 << 20):
                            pass
                except UNREADABLE_MEMBER:
                    message = f"The {content.label} is damaged: {_shown(member)} inside it cannot be unpacked."
                    return ConversionFailed("corrupt", message)
    except UNREADABLE_MEMBER:
        return ConversionFailed("corrupt", _without_contents(content))
    return None


def _without_contents(content: FileContent) -> str:
    """Return the message for a zip whose table of contents, which is at its end, cannot be read."""
    if _END_OF_CONTENTS not in content.data[-_END_REACH:]:
        return f"The {content.label} is cut off: its end is missing."
    return f"The {content.label} is damaged: its table of contents cannot be read."


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    return member.file_size > _BIG_MEMBER and member.file_size > _RATIO_LIMIT * max(1, member.compress_size)


def _shown(member: zipfile.ZipInfo) -> str:
    return member.filename[:100]
