"""Translate SQLite's errors, and identify the open database file. Does not know the schema."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from gnod.errors import DatabaseCorrupt, ForeignDatabase, GnoError, RequestCancelled, StorageFailed

_MAKE_WRITABLE = "make it and its folder writable for you, or set GNO_DATA_DIR to another folder"
_SIGNED_AT = 68  # where SQLite keeps the application id
_FULL_BYTES = 128 * 1024


class Kind(NamedTuple):
    """A kind of database. `application_id` is in the file's header. `remedy`: what happens to a damaged database.
    `lost`: the hint if the header is damaged. `is_rebuilt`: a lost database is rebuilt from the folders."""

    noun: str
    application_id: int
    remedy: str
    lost: str
    is_rebuilt: bool


INDEX = Kind(
    "index",
    0x676E6F64,  # "gnod" in ASCII
    "gnod quarantines it and rebuilds it from your folders",
    "move it away or choose another index with --index. An index is rebuilt from your folders",
    is_rebuilt=True,
)
MEMORIES = Kind(
    "memory database",
    0x676E6F6D,  # "gnom"
    "it is not changed; `gnoctl restore --memories` restores a backup",
    "it is not changed; `gnoctl restore --memories` restores a backup",
    is_rebuilt=False,
)


class FileIdentity(NamedTuple):
    """Device and inode of a database and its -wal and -shm files (None: missing), and the device of its folder. If the
    folder is missing, the device is that of the nearest existing parent."""

    device: int
    main: tuple[int, int] | None
    wal: tuple[int, int] | None
    shm: tuple[int, int] | None


@contextmanager
def translated(path: Path, kind: Kind = INDEX) -> Iterator[None]:
    """Translate apsw's exceptions into gnod's."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, path, kind) from error
    except OSError as error:
        raise StorageFailed(f"the {kind.noun} {path} cannot be opened ({error.strerror}): {_MAKE_WRITABLE}") from error


def _translate(error: apsw.Error, path: Path, kind: Kind) -> GnoError:
    if isinstance(error, apsw.InterruptError):
        return RequestCancelled("cancelled")
    # gnod stores nothing that is too big for SQLite, so such a length comes from a damaged page.
    is_damage = isinstance(error, (apsw.CorruptError, apsw.TooBigError))
    if is_damage or (isinstance(error, apsw.NotADBError) and _is_signed(path, kind)):
        return damaged(path, kind)
    if isinstance(error, apsw.NotADBError):
        return ForeignDatabase(f"{path} is not a gnod {kind.noun}, or its beginning is damaged: {kind.lost}")
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _disk_is_full(path)):
        return StorageFailed(
            f"no space left on the disk that holds {path}: free some space and try again; nothing was lost"
        )
    if isinstance(error, apsw.ReadOnlyError):
        return StorageFailed(f"the {kind.noun} {path} cannot be written: {_MAKE_WRITABLE}")
    if isinstance(error, apsw.CantOpenError):
        return StorageFailed(f"the {kind.noun} {path} cannot be opened: {_MAKE_WRITABLE}")
    if isinstance(error, apsw.IOError):
        return StorageFailed(f"reading or writing the {kind.noun} {path} failed: {error}")
    if isinstance(error, apsw.BusyError):
        return StorageFailed(f"the {kind.noun} {path} is locked by another program")
    return StorageFailed(f"the {kind.noun} {path} failed: {error}")


def _is_signed(path: Path, kind: Kind) -> bool:
    """Return whether an unreadable file has the application id of this kind."""
    try:
        with path.open("rb") as file:
            file.seek(_SIGNED_AT)
            return file.read(4) == kind.application_id.to_bytes(4, "big")
    except OSError:
        return False


def _disk_is_full(path: Path) -> bool:
    """Tell whether the disk is full. On a full disk, SQLite reports an I/O error if it cannot create the shared-memory
    file."""
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BYTES
    except OSError:
        return False


def damaged(path: Path, kind: Kind = INDEX) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"the {kind.noun} {path} is damaged: {kind.remedy}")


def identify(path: Path) -> FileIdentity:
    """Return the identity of the files at `path`. Raises OSError."""
    return FileIdentity(_device(path.parent), *map(_identity, files_of(path)))


def files_of(database: Path) -> list[Path]:
    """Return the paths of a database file, its -wal and its -shm file."""
    return [database.with_name(database.name + suffix) for suffix in ("", "-wal", "-shm")]


def _device(folder: Path) -> int:
    while not folder.exists():
        folder = folder.parent
    return folder.stat().st_dev


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
