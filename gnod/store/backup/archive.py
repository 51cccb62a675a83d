"""Read and write the file of a backup: an uncompressed tar archive with fixed names. Must not depend on SQLite.

An archive is untrusted. Only regular files with a name from PARTS are read, up to their size, and their hash must be
the one in the manifest.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from gnod.errors import BackupRejected, StorageFailed

if TYPE_CHECKING:
    import tarfile  # imported only when used, because it would slow down every start

FORMAT = 1

INDEX = "index.sqlite"
CONFIG = "index.yml"
MEMORIES = "memory.sqlite"
MANIFEST = "manifest.json"

_BLOCK = 512  # the size of a tar block
_PIECE = 1 << 20
_SMALL = 4 * 1024 * 1024
# The files of an archive besides the manifest. The first is required.
PARTS = INDEX, CONFIG, MEMORIES
_MOST_BYTES: dict[str, int | None] = {MANIFEST: _SMALL, INDEX: None, CONFIG: _SMALL, MEMORIES: None}

OnProgress = Callable[[str, int, int | None], None]
"""Called with the stage and the done and total bytes (None while unknown). It may raise to end the work."""


class ArchiveMember(msgspec.Struct, frozen=True, kw_only=True):
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`version` is gnod's version, `made` is in ISO 8601, `documents` counts active documents."""

    format: int
    version: str
    schema: int
    index: str
    made: str
    documents: int
    parts: dict[str, ArchiveMember] = {}


def write(file: BinaryIO, about: Manifest, parts: Mapping[str, Path], on_progress: OnProgress) -> None:
    """Write the archive: the parts, then the manifest with their hashes."""
    total = sum(path.stat().st_size for path in parts.values())
    members: dict[str, ArchiveMember] = {}
    done = 0
    for name, path in parts.items():
        size, hashed = path.stat().st_size, sha256()
        file.write(_header(name, size))
        with path.open("rb") as source:
            for piece in _pieces(source, size, path):
                file.write(piece)
                hashed.update(piece)
                done += len(piece)
                on_progress("write", done, total)
        file.write(bytes(-size % _BLOCK))
        members[name] = ArchiveMember(bytes=size, sha256=hashed.hexdigest())
    data = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(about, parts=members)))
    file.write(_header(MANIFEST, len(data)) + data + bytes(-len(data) % _BLOCK))
    file.write(bytes(2 * _BLOCK))


def begins_like_one(path: Path) -> bool:
    """Return whether the file may be a backup, before it is overwritten."""
    try:
        with _opened(path) as file:
            return _member(file.read(_BLOCK), path).name in _MOST_BYTES
    except (BackupRejected, StorageFailed):
        return False


def read(path: Path, folder: Path, on_progress: OnProgress) -> Manifest:
    """Write the parts into `folder` under their names. Raises OSError and BackupRejected, whose message has the
    reason."""
    manifest: Manifest | None = None
    found: dict[str, ArchiveMember] = {}
    with _opened(path) as file:
        total = os.fstat(file.fileno()).st_size
        while (block := _block(file, path)).strip(b"\0"):
            member = _member(block, path)
            if member.name not in _MOST_BYTES:
                raise _rejected(path, f"it contains {member.name[:80]!r}, which this version of gnod does not know")
            if not member.isreg():
                raise _rejected(path, f"its {member.name} is not a regular file")
            if member.name in found or (manifest and member.name == MANIFEST):
                raise _rejected(path, f"it contains {member.name} twice")
            if member.size < 0 or member.size > (_MOST_BYTES[member.name] or member.size):
                raise _rejected(path, f"its {member.name} claims an impossible size")
            if member.size > total - file.tell():
                raise _rejected(path, "it is truncated")
            if member.name == MANIFEST:
                manifest = _manifest(b"".join(_pieces(file, member.size, path)), path)
            else:
                found[member.name] = _extract(file, member, folder / member.name, path, total, on_progress)
            file.seek(-member.size % _BLOCK, os.SEEK_CUR)
    if manifest is None:
        raise _rejected(path, "it has no manifest; it is truncated, or was made by another program")
    for name in PARTS:
        if manifest.parts.get(name) != found.get(name):
            raise _rejected(path, f"its {name} is damaged: its hash differs from the manifest")
    if INDEX not in found:
        raise _rejected(path, f"it has no {INDEX}")
    return manifest


def _header(name: str, size: int) -> bytes:
    import tarfile

    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, int(time.time())
    return member.tobuf(tarfile.GNU_FORMAT)  # one block, whatever the size


def _member(block: bytes, path: Path) -> tarfile.TarInfo:
    import tarfile

    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        raise _rejected(path, "it is not a backup of gnod, or it is damaged") from None


def _manifest(data: bytes, path: Path) -> Manifest:
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _rejected(path, "its manifest cannot be read") from None
    if manifest.format != FORMAT:
        raise _rejected(
            path, f"it was made by another gnod ({manifest.version[:40]}; format {manifest.format}, not {FORMAT})"
        )
    return manifest


def _extract(
    file: BinaryIO, member: tarfile.TarInfo, target: Path, path: Path, total: int, on_progress: OnProgress
) -> ArchiveMember:
    hashed = sha256()
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        for piece in _pieces(file, member.size, path):
            out.write(piece)
            hashed.update(piece)
            on_progress("read", file.tell(), total)
        out.flush()
        os.fsync(out.fileno())
    return ArchiveMember(bytes=member.size, sha256=hashed.hexdigest())


def _pieces(file: BinaryIO, size: int, path: Path) -> Iterator[bytes]:
    while size:
        piece = file.read(min(size, _PIECE))
        if not piece:
            raise _rejected(path, "it is truncated")
        size -= len(piece)
        yield piece


def _block(file: BinaryIO, path: Path) -> bytes:
    block = file.read(_BLOCK)
    if len(block) < _BLOCK:
        raise _rejected(path, "it is truncated" if file.tell() > _BLOCK else "it is not a backup of gnod")
    return block


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file, without waiting for a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _rejected(path, "there is no such file") from None
    except OSError as error:
        raise StorageFailed(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _rejected(path, "it is not a regular file")
    with os.fdopen(descriptor, "rb") as file:
        yield file


def _rejected(path: Path, reason: str) -> BackupRejected:
    return BackupRejected(f"{path} cannot be restored: {reason}", {"file": str(path)})
