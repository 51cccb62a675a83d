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

# "gnod" in ASCII: `file` and we tell our databases from others by it.
APPLICATION_ID = 0x676E6F64

_MAKE_WRITABLE = "make it and its folder writable for you, or set GNO_DATA_DIR to another folder"
_SIGNED_AT = 68  # where SQLite keeps the application id
_COMPANIONS = ("", "-wal", "-shm")
_FULL_BYTES = 128 * 1024


class Footing(NamedTuple):
    """What stands at the path of a database: device and inode of it and its two companions (None: nothing), and the
    device of its folder, or of the nearest one above that is there."""

    device: int
    main: tuple[int, int] | None
    wal: tuple[int, int] | None
    shm: tuple[int, int] | None


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn apsw's exceptions into ours. A message of SQLite's never reaches a user alone."""
    try:
        yield
    except apsw.Error as error:
        raise _translate(error, path) from error
    except OSError as error:
        raise StorageFailed(f"the index {path} cannot be opened ({error.strerror}): {_MAKE_WRITABLE}") from error


def _translate(error: apsw.Error, path: Path) -> GnoError:
    if isinstance(error, apsw.InterruptError):
        return RequestCancelled("cancelled")
    if isinstance(error, apsw.CorruptError) or (isinstance(error, apsw.NotADBError) and _is_signed(path)):
        return damaged(path)
    if isinstance(error, apsw.NotADBError):
        return ForeignDatabase(
            f"{path} is not a gnod index, or its beginning is damaged; move it away or choose another index with "
            "--index. An index is made anew from your folders"
        )
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and _disk_is_full(path)):
        return StorageFailed(f"no space left on the disk that holds {path}; nothing was lost: free some and try again")
    if isinstance(error, apsw.ReadOnlyError):
        return StorageFailed(f"the index {path} cannot be written: {_MAKE_WRITABLE}")
    if isinstance(error, apsw.CantOpenError):
        return StorageFailed(f"the index {path} cannot be opened: {_MAKE_WRITABLE}")
    if isinstance(error, apsw.IOError):
        return StorageFailed(f"reading or writing the index {path} failed: {error}")
    if isinstance(error, apsw.BusyError):
        return StorageFailed(f"the index {path} is locked by another program")
    return StorageFailed(f"the index {path} failed: {error}")


def _is_signed(path: Path) -> bool:
    """Tell whether a file that is no database any more has once been one of ours."""
    try:
        with path.open("rb") as file:
            file.seek(_SIGNED_AT)
            return file.read(4) == APPLICATION_ID.to_bytes(4, "big")
    except OSError:
        return False


def _disk_is_full(path: Path) -> bool:
    """SQLite calls it an I/O error when it cannot even make the file that its readers share."""
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BYTES
    except OSError:
        return False


def damaged(path: Path) -> DatabaseCorrupt:
    return DatabaseCorrupt(f"the index {path} is damaged: gnod sets it aside and makes it anew from your folders")


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
