"""Converts zip and tar archives, and compressed files.

The text of an archive is the list of its files; each file becomes a document. A file that is compressed with gzip,
bzip2, xz or zstd is unpacked in memory, and the converter of the file inside reads it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from gnod.ingest.reading.converter import Converter, FileContent, Test, starts_with
from gnod.ingest.reading.result import ConversionFailed, Converted, Member
from gnod.ingest.reading.unpacking import LARGEST_MEMBER, check_depth, check_unpacked, read_unpacked, unpack
from gnod.ingest.reading.versions import versioned

_Open = Callable[[io.BytesIO], io.BufferedIOBase]
_COMPRESSED_TAR = frozenset({"tgz", "tbz", "tbz2", "txz", "tzst"})
# macOS adds a file in this folder for each file.
_RESOURCE_FORKS = "__MACOSX/"
_TAR_MAGIC = slice(257, 262)
_DAMAGED_TAR = (tarfile.TarError, EOFError, OSError, ValueError)


def _read_zip(content: FileContent) -> Converted:
    check_depth(content)
    if content.extension not in ("", "zip") and content.zip_members is not None:
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: it has no document inside.")
    files = [member for member in check_unpacked(content) if not member.is_dir() and _is_shown(member.filename)]
    return _listing([file.filename for file in files], versioned("zip"), partial(_zip_members, content, files))


def _zip_members(content: FileContent, files: Sequence[zipfile.ZipInfo]) -> Iterator[Member]:
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        for file in files:
            yield Member(file.filename, partial(_unzipped, content, archive, file))


def _unzipped(content: FileContent, archive: zipfile.ZipFile, found: zipfile.ZipInfo) -> FileContent:
    return content.inner(unpack(archive, found, content), found.filename, content.max_characters)


def _read_tar(content: FileContent) -> Converted:
    check_depth(content)
    files = _tar_files(content)
    return _listing([file.name for file in files], "tar/1", partial(_tar_members, content, files))


def _tar_files(content: FileContent) -> list[tarfile.TarInfo]:
    """Return the regular files. Sparse files are left out: they can be larger than the archive."""
    try:
        with _open_tar(content) as archive:
            return [member for member in archive if member.isreg() and not member.issparse() and _is_shown(member.name)]
    except _DAMAGED_TAR as error:
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: it is not a complete archive.") from error


def _tar_members(content: FileContent, files: Sequence[tarfile.TarInfo]) -> Iterator[Member]:
    with _open_tar(content) as archive:
        for file in files:
            yield Member(file.name, partial(_untarred, content, archive, file))


def _untarred(content: FileContent, archive: tarfile.TarFile, found: tarfile.TarInfo) -> FileContent:
    content.allowance.take_member()
    if found.size > LARGEST_MEMBER:
        raise ConversionFailed("too_large", f"{found.name[:100]} in the archive has {found.size:,} bytes.")
    try:
        part = archive.extractfile(found)
        data = part.read() if part else b""
    except _DAMAGED_TAR as error:
        raise ConversionFailed("corrupt", f"The archive is damaged: {found.name[:100]} is cut off.") from error
    content.allowance.take_bytes(len(data))
    return content.inner(data, found.name, content.max_characters)


def _open_tar(content: FileContent) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(content.data), mode="r:")


def _listing(names: Sequence[str], converter: str, members: Callable[[], Iterator[Member]]) -> Converted:
    text = "\n".join(f"- {' '.join(name.split())}" for name in names)
    return Converted(markdown=text, converter=converter, members=members)


def _is_shown(name: str) -> bool:
    return not name.startswith(_RESOURCE_FORKS)


def _read_compressed(content: FileContent, *, opened: _Open, extensions: str) -> Converted:
    """Convert the file inside; its name is the name of the compressed file without the last suffix."""
    if content.extension and content.extension not in extensions.split():
        raise ConversionFailed("corrupt", f"This is not a {content.label}: it is a compressed file.")
    check_depth(content)
    return content.convert(content.inner(_unpacked(content, opened), _inner_name(content), content.max_characters))


def _unpacked(content: FileContent, opened: _Open) -> bytes:
    try:
        with opened(io.BytesIO(content.data)) as file:
            return read_unpacked(file, content)
    except (ConversionFailed, MemoryError):
        raise
    except EOFError as error:
        raise ConversionFailed("corrupt", f"The {content.label} is cut off: its end is missing.") from error
    except Exception as error:  # each format has its own exception
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: it cannot be unpacked.") from error


def _inner_name(content: FileContent) -> str:
    stem = content.name[: -len(content.extension) - 1] if content.extension else content.name
    return f"{stem}.tar" if content.extension in _COMPRESSED_TAR else stem


def _open_zstd(file: io.BytesIO) -> io.BufferedIOBase:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(file)


def _is_bzip2(content: FileContent) -> bool:
    """Check for BZh, with which a text may also begin, and for the magic number of the first block or of the end."""
    return content.data.startswith(b"BZh") and content.data[4:10] in (b"1AY&SY", b"\x17rE8P\x90")


def _compressed(program: str, mime: str, extensions: str, signature: Test, opened: _Open) -> Converter:
    return Converter(
        label=f"a file compressed with {program}",
        mime=mime,
        extensions=extensions,
        is_container=True,
        signature=signature,
        read=partial(_read_compressed, opened=opened, extensions=extensions),
        remark="read as the file inside, with its lines and pages; up to 100 MB and 500 times the compressed size",
    )


ZIP = Converter(
    label="a zip archive",
    mime="application/zip",
    extensions="zip",
    is_container=True,
    signature=lambda content: content.is_zip,
    read=_read_zip,
    remark="each file inside is a document; up to 2,000 files, 500 MB and 3 levels of nested archives",
)
TAR = Converter(
    label="a tar archive",
    mime="application/x-tar",
    extensions="tar",
    signature=lambda content: content.data[_TAR_MAGIC] == b"ustar",
    read=_read_tar,
    remark="like zip archives",
)
COMPRESSED = (
    _compressed(
        "gzip", "application/gzip", "gz tgz", starts_with(b"\x1f\x8b\x08"), lambda file: gzip.GzipFile(fileobj=file)
    ),
    _compressed("bzip2", "application/x-bzip2", "bz2 tbz tbz2", _is_bzip2, bz2.BZ2File),
    _compressed("xz", "application/x-xz", "xz txz", starts_with(b"\xfd7zXZ\x00"), lzma.LZMAFile),
    _compressed("zstd", "application/zstd", "zst tzst", starts_with(b"(\xb5/\xfd"), _open_zstd),
)
