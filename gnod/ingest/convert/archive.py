"""Zip archives, and the check that keeps bombs away from every format that is a zip inside.

Member names are text here and nothing more: nothing is ever unpacked to disk.
"""

from __future__ import annotations

import io
import zipfile
import zlib

from gnod.ingest.convert.result import ConversionFailed, Converted, Source, too_long

_UNPACKED_LIMIT = 500_000_000
_RATIO_LIMIT = 1000
_BIG_MEMBER = 50_000_000
_MEMBERS_LIMIT = 2000
_DEPTH_LIMIT = 3
_UNREADABLE_MEMBER = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


def check_unpacked(data: bytes) -> list[zipfile.ZipInfo]:
    """Return the members of a zip. Raises ConversionFailed: too_large for a bomb, encrypted, corrupt.

    Python's zipfile never unpacks more of a member than the size it declares, so declared sizes can be relied
    on.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except _UNREADABLE_MEMBER as error:
        raise ConversionFailed("corrupt", "The file is damaged: its table of contents cannot be read.") from error
    if sum(member.file_size for member in members) > _UNPACKED_LIMIT or any(map(_is_bomb, members)):
        raise ConversionFailed("too_large", f"The file unpacks to more than {_UNPACKED_LIMIT // 1_000_000} MB.")
    if members and all(member.flag_bits & 1 for member in members if not member.is_dir()):
        raise ConversionFailed("encrypted", "The file is protected by a password.")
    return members


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    return member.file_size > _BIG_MEMBER and member.file_size > _RATIO_LIMIT * max(1, member.compress_size)


def read_zip(source: Source) -> Converted:
    """Convert every member that has text, each under a heading with its name."""
    if source.depth >= _DEPTH_LIMIT:
        raise ConversionFailed("unsupported", f"Archives are read to a depth of {_DEPTH_LIMIT}.")
    members = [member for member in check_unpacked(source.data) if not member.is_dir()]
    parts: list[str] = []
    damaged = 0
    left = source.max_characters
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        for member in members[:_MEMBERS_LIMIT]:
            try:
                data = archive.read(member)
            except _UNREADABLE_MEMBER:
                damaged += 1
                continue
            inner = Source(data=data, name=member.filename, max_characters=left, depth=source.depth + 1)
            if (text := _member_text(inner)) is None:
                continue
            parts.append(f"## File: {member.filename}\n\n{text.strip()}")
            left -= len(parts[-1])
            if left < 0:
                raise too_long(source.max_characters)
    if damaged and not parts:
        raise ConversionFailed("corrupt", "Nothing in the archive could be unpacked; it may be damaged.")
    if parts and len(members) > _MEMBERS_LIMIT:
        parts.append(f"({len(members) - _MEMBERS_LIMIT} more files in this archive were not read.)")
    return Converted(markdown="\n\n".join(parts), mime="application/zip", converter="zip/1")


def _member_text(inner: Source) -> str | None:
    """Return a member's text, or None: one member that is none of ours does not spoil the archive."""
    from gnod.ingest.convert.dispatch import convert_source

    try:
        return convert_source(inner).markdown
    except ConversionFailed as failure:
        if failure.kind == "too_long":
            raise
        return None
