"""The files of segments. Each is written once, and then only read, or deleted."""

from __future__ import annotations

import mmap
import os
import zlib
from pathlib import Path

from gnod.store.postings.segment import Segment, encode


def write(path: Path, segment: Segment) -> int:
    """Write a segment to a new file. Returns its checksum."""
    checksum = 0
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for part in encode(segment):
                checksum = zlib.crc32(part, checksum)
                file.write(part)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return checksum


def mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
