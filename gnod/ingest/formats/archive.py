"""Zip and tar archives: the names of their files as text. The files in them become documents of their own."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.result import ConversionFailed, Converted, Member
from gnod.ingest.reading.unpacking import LARGEST_MEMBER, check_depth, check_unpacked, unpack
from gnod.ingest.reading.versions import versioned

# macOS adds this to each file.
_RESOURCE_FORKS = "__MACOSX/"
_TAR_MAGIC = slice(257, 262)
_DAMAGED_TAR = (tarfile.TarError, EOFError, OSError, ValueError)


def _read_zip(content: FileContent) -> Converted:
    check_depth(content)
    if content.extension not in ("", "zip") and content.zip_members is not None:
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: it has no document inside.")
    files = [each for each in check_unpacked(content) if not each.is_dir() and _is_shown(each.filename)]
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
    """Return the regular files; a sparse one has more bytes than the archive."""
    try:
        with _open_tar(content) as archive:
            return [each for each in archive if each.isreg() and not each.issparse() and _is_shown(each.name)]
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


ZIP = Converter(
    label="a zip archive",
    mime="application/zip",
    extensions="zip",
    is_container=True,
    signature=lambda content: content.is_zip,
    read=_read_zip,
    remark="each file inside is a document: up to 2,000 files, 500 MB, and archives in archives up to 3 levels",
)
TAR = Converter(
    label="a tar archive",
    mime="application/x-tar",
    extensions="tar",
    signature=lambda content: content.data[_TAR_MAGIC] == b"ustar",
    read=_read_tar,
    remark="as zip archives",
)
