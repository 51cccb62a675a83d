"""What can be wrong with the file of an index: SQLite's errors become ours here, and a file that is no longer the one
that was opened is told from one that is. Knows no schema.
"""

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
_COMPANIONS = ("", "-wal", "-shm")
_FULL_BYTES = 128 * 1024


class Kind(NamedTuple):
    """What a database of ours is to its user. `application_id`: `file` and we tell it from others by it. `remedy`: what
    becomes of a damaged one; `lost`: what to know of one whose beginning is."""

    noun: str
    application_id: int
    remedy: str
    lost: str


INDEX = Kind(
    "index",
    0x676E6F64,  # "gnod" in ASCII
    "gnod sets it aside and makes it anew from your folders",
    "move it away or choose another index with --index. An index is made anew from your folders",
)
MEMORIES = Kind(
    "memory database",
    0x676E6F6D,  # "gnom"
    "it is left as it is; `gnoctl restore --memories` brings back a backup",
    "it is left as it is; `gnoctl restore --memories` brings back a backup",
)


class Footing(NamedTuple):
    """What stands at the path of a database: device and inode of it and its two companions (None: nothing), and the
    device of its folder, or of the nearest one above that is there."""

    device: int
    main: tuple[int, int] | None
    wal: tuple[int, int] | None
    shm: tuple[int, int] | None


@contextmanager
def translated(path: Path, kind: Kind = INDEX) -> Iterator[None]:
    """Turn apsw's exceptions into ours. A message of SQLite's never reaches a user alone."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, path, kind) from error
    except OSError as error:
        raise StorageFailed(f"the {kind.noun} {path} cannot be opened ({error.strerror}): {_MAKE_WRITABLE}") from error


def _translate(error: apsw.Error, path: Path, kind: Kind) -> GnoError:
    if isinstance(error, apsw.InterruptError):
        return RequestCancelled("cancelled")
    if isinstance(error, apsw.CorruptError) or (isinstance(error, apsw.NotADBError) and _is_signed(path, kind)):
        return damaged(path, kind)
    if isinstance(error, apsw.NotADBError):
        return ForeignDatabase(f"{path} is not a gnod {kind.noun}, or its beginning is damaged: {kind.lost}")
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _disk_is_full(path)):
        return StorageFailed(f"no space left on the disk that holds {path}; nothing was lost: free some and try again")
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
    """Tell whether a file that is no database any more has once been one of ours."""
    try:
        with path.open("rb") as file:
            file.seek(_SIGNED_AT)
            return file.read(4) == kind.application_id.to_bytes(4, "big")
    except OSError:
        return False


def _disk_is_full(path: Path) -> bool:
    """SQLite calls it an I/O error when it cannot even make the file that its readers share."""
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BYTES
    except OSError:
        return False


def damaged(path: Path, kind: Kind = INDEX) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"the {kind.noun} {path} is damaged: {kind.remedy}")


def footing_of(path: Path) -> Footing:
    """Raises OSError when that cannot be told."""
    return Footing(_device(path.parent), *(_identity(path.with_name(path.name + suffix)) for suffix in _COMPANIONS))


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
