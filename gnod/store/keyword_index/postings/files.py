"""The files of segments. Each is written once, and then only read, or deleted.

They are read piece by piece, and not mapped into memory: the memory of a process does not grow with what it reads, and
a truncated file is an error instead of the end of the daemon.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from weakref import finalize

_CHUNK = 1 << 20


class Damaged(Exception):
    """The files are not what was written."""


class File:
    """A file that is open as long as this object lives; it may be deleted meanwhile. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finalize(self, os.close, self._descriptor)

    def read(self, start: int, size: int) -> bytes:
        """Raises Damaged where the file is shorter or cannot be read."""
        try:
            data = os.pread(self._descriptor, size, start) if size >= 0 else b""
        except OSError as error:
            raise Damaged(f"{self.name}: {error}") from error
        if len(data) != size:
            raise Damaged(f"{self.name}: truncated")
        return data

    def checksum(self) -> int:
        """Return the checksum of all that the file has now."""
        checksum = start = 0
        while data := os.pread(self._descriptor, _CHUNK, start):
            checksum = zlib.crc32(data, checksum)
            start += len(data)
        return checksum


def write(path: Path, parts: Iterable[bytes]) -> int:
    """Write a new file. Returns its checksum."""
    checksum = 0
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for part in parts:
                checksum = zlib.crc32(part, checksum)
                file.write(part)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return checksum
