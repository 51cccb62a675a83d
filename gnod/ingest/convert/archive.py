"""Zip archives, and the check that keeps bombs away from every format that is a zip inside.

Member names are text here and nothing more: nothing is ever unpacked to disk.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import Counter

from gnod.ingest.convert.result import UNPACKED_BYTES, ConversionFailed, Converted, Source, too_long

# No text shrinks to a five-hundredth; deflate itself ends at 1:1032.
_RATIO_LIMIT = 500
_BIG_MEMBER = 10_000_000
_LARGEST_MEMBER = 100_000_000
_DEPTH_LIMIT = 3
_END_OF_CONTENTS = b"PK\x05\x06"
_END_REACH = 66_000  # the record itself and the longest comment behind it
_UNREADABLE_MEMBER = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


def check_unpacked(source: Source) -> list[zipfile.ZipInfo]:
    """Return the members of a zip. Raises ConversionFailed: too_large for a bomb, encrypted, corrupt.

    What they unpack to counts against the allowance of the whole file, however deep this zip lies in it. Python's
    zipfile never unpacks more of a member than the size it declares, so declared sizes can be relied on.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            members = archive.infolist()
    except _UNREADABLE_MEMBER as error:
        raise ConversionFailed("corrupt", without_contents(source)) from error
    total = sum(member.file_size for member in members)
    if bomb := next(filter(_is_bomb, members), None):
        raise ConversionFailed(
            "too_large",
            f"The file is a zip bomb: {len(source.data):,} bytes hold {_shown(bomb)}, which unpacks to"
            f" {bomb.file_size:,} bytes.",
        )
    if total > source.allowance.unpacked_bytes:
        raise ConversionFailed("too_large", f"Unpacked, the file has more than {UNPACKED_BYTES // 1_000_000} MB.")
    source.allowance.unpacked_bytes -= total
    if members and all(member.flag_bits & 1 for member in members if not member.is_dir()):
        raise ConversionFailed("encrypted", "The file is protected by a password.")
    return members


def without_contents(source: Source) -> str:
    """Say what is wrong with a zip whose table of contents, at its end, cannot be read."""
    if _END_OF_CONTENTS not in source.data[-_END_REACH:]:
        return f"The {source.label} is cut off: its end is missing."
    return f"The {source.label} is damaged: its table of contents cannot be read."


def damage(source: Source) -> ConversionFailed | None:
    """Return what is wrong with the first member that cannot be unpacked; None when all can."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            for member in archive.infolist():
                try:
                    with archive.open(member) as part:
                        while part.read(1 << 20):
                            pass
                except _UNREADABLE_MEMBER:
                    return ConversionFailed(
                        "corrupt", f"The {source.label} is damaged: {_shown(member)} in it cannot be unpacked."
                    )
    except _UNREADABLE_MEMBER:
        return ConversionFailed("corrupt", without_contents(source))
    return None


def _is_bomb(member: zipfile.ZipInfo) -> bool:
    return member.file_size > _BIG_MEMBER and member.file_size > _RATIO_LIMIT * max(1, member.compress_size)


def _shown(member: zipfile.ZipInfo) -> str:
    return member.filename[:100]


def read_zip(source: Source) -> Converted:
    """Convert every member that has text, each under a heading with its name."""
    if source.depth >= _DEPTH_LIMIT:
        raise ConversionFailed("too_large", f"The archive lies in {_DEPTH_LIMIT} others, which is as deep as is read.")
    members = [member for member in check_unpacked(source) if not member.is_dir()]
    parts: list[str] = []
    unread: list[ConversionFailed] = []
    left = source.max_characters
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        for member in members:
            try:
                text = _member_text(archive, member, source, left)
            except ConversionFailed as failure:
                if failure.kind == "too_long":
                    raise
                unread.append(failure)
                continue
            parts.append(f"## File: {member.filename}\n\n{text.strip()}")
            left -= len(parts[-1])
            if left < 0:
                raise too_long(source.max_characters)
    if not parts and unread:
        raise _nothing_read(unread)
    if lost := _lost(unread):
        parts.append(lost)
    return Converted(markdown="\n\n".join(parts), mime="application/zip", converter="zip/1")


def _member_text(archive: zipfile.ZipFile, member: zipfile.ZipInfo, outer: Source, max_characters: int) -> str:
    """Return a member's text. Raises ConversionFailed: one that cannot be read does not spoil the archive."""
    from gnod.ingest.convert.dispatch import convert_source

    if outer.allowance.members <= 0:
        raise ConversionFailed("too_large", "The archive holds too many files.")
    outer.allowance.members -= 1
    if member.flag_bits & 1:
        raise ConversionFailed("encrypted", "The files in the archive are protected by a password.")
    if member.file_size > _LARGEST_MEMBER:
        raise ConversionFailed("too_large", f"{_shown(member)} in the archive unpacks to {member.file_size:,} bytes.")
    try:
        data = archive.read(member)
    except _UNREADABLE_MEMBER as error:
        raise ConversionFailed(
            "corrupt", f"The archive is damaged: {_shown(member)} in it cannot be unpacked."
        ) from error
    inner = Source(
        data=data,
        name=member.filename,
        max_characters=max_characters,
        depth=outer.depth + 1,
        allowance=outer.allowance,
    )
    return convert_source(inner).markdown


_WORST_FIRST = ("too_large", "encrypted", "corrupt")
_REASONS = {"too_large": "too large", "encrypted": "protected by a password", "corrupt": "damaged"}


def _nothing_read(unread: list[ConversionFailed]) -> ConversionFailed:
    """Say why an archive gives no text at all, by its worst member."""
    for kind in _WORST_FIRST:
        if found := next((failure for failure in unread if failure.kind == kind), None):
            return found
    if all(failure.kind == "empty" for failure in unread):
        return ConversionFailed("empty", "There is no text in the archive: all files in it are empty.")
    return ConversionFailed("unsupported", "There is no text in the archive: no file in it has a converter.")


def _lost(unread: list[ConversionFailed]) -> str:
    """Say how many members are missing from the text though they may have some; "" when none is."""
    counts = Counter(failure.kind for failure in unread)
    told = [f"{counts[kind]} {_REASONS[kind]}" for kind in _WORST_FIRST if counts[kind]]
    return f"(Files in this archive that were not read: {', '.join(told)}.)" if told else ""
