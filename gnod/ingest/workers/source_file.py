"""Read the file of a job, and check that it does not change in the meantime. Runs in the worker."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gnod.ingest.files.unreadable import NOT_HERE, not_downloaded, why_refused
from gnod.store.tables.records import FileStat

_READ_ATTEMPTS = 3
_READ_PAUSE_S = 0.05
_TICK_S = 0.02  # Linux's coarsest clock ticks every 10 ms
_COARSE_TICK_S = 2.0  # the tick of FAT; other file systems that store whole seconds tick every second

# For these files, the first part can be read alone.
_MAILBOXES = (".mbox", ".mbx")
_PART_BYTES = 16_000_000  # takes about ten seconds, or more on a busy machine


class FileRead(NamedTuple):
    """`data`: the content; for a mailbox over the limit, only its first messages."""

    data: bytes
    stat: FileStat

    @property
    def left_out(self) -> str | None:
        if len(self.data) == self.stat.size:
            return None
        return f"the part after the first {len(self.data) / 1e6:,.0f} of {self.stat.size / 1e6:,.0f} MB"


class ReadFailed(Exception):
    """A file cannot be read. `kind` and `message`: as in Failure."""

    def __init__(self, kind: str, message: str, stat: FileStat | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.stat = stat


def read_source(path: str, max_bytes: int) -> FileRead:
    """Read a regular file that does not change in the meantime. Raises ReadFailed."""
    for attempt in range(_READ_ATTEMPTS):
        if attempt:
            time.sleep(_READ_PAUSE_S)
        if (result := _read_once(path, max_bytes)) is not None:
            return result
    raise ReadFailed("unstable", "The file changed while it was being read.")


def _read_once(path: str, max_bytes: int) -> FileRead | None:
    """Return the file; None if it changed in the meantime."""
    with opened(path) as (descriptor, before):
        in_part = before.size > max_bytes and path.lower().endswith(_MAILBOXES)
        if before.size > max_bytes and not in_part:
            size = f"The file has {before.size / 1e6:,.0f} MB; only files up to {max_bytes / 1e6:,.0f} MB are read."
            raise ReadFailed("too_large", size, before)
        # Read one more byte to detect growth of the file.
        expected = min(max_bytes, _PART_BYTES) if in_part else before.size
        data = read_at(descriptor, 0, expected if in_part else expected + 1)
        with _told():
            after = regular(os.fstat(descriptor))
    if before != after or len(data) != expected:
        return None
    return FileRead(_whole_messages(data) if in_part else data, after)


@contextmanager
def opened(path: str) -> Iterator[tuple[int, FileStat]]:
    """Open a regular file. Raises ReadFailed."""
    with _told():
        # Check before opening: opening a device may have side effects, and reading a placeholder would download the
        # file. The second check uses the opened file.
        found = os.stat(path)  # noqa: PTH116
        stat_ = regular(found)
        if where := not_downloaded(path, found):
            raise ReadFailed("not_downloaded", where, stat_)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        with _told():
            before = regular(os.fstat(descriptor))
        _let_tick(before)
        yield descriptor, before
    finally:
        os.close(descriptor)


def read_at(descriptor: int, start: int, size: int) -> bytes:
    """Read this many bytes from `start` on, or fewer at the end of the file. Raises ReadFailed."""
    parts: list[bytes] = []
    with _told():
        while size > 0 and (part := os.pread(descriptor, size, start)):
            parts.append(part)
            start, size = start + len(part), size - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def _told() -> Iterator[None]:
    """Convert errors of the system to ReadFailed with a message for the user."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ReadFailed("vanished", "The file is no longer there.") from error
    except OSError as error:
        if error.errno == errno.EDEADLK:  # macOS would have to download the file
            raise ReadFailed("not_downloaded", f"The file is {NOT_HERE}.") from error
        raise ReadFailed("unreadable", f"The file cannot be read: {why_refused(error)}.") from error


def _whole_messages(data: bytes) -> bytes:
    """Return the complete messages of the first part of a mailbox, without the zeros at the end of a sparse file."""
    last = data.rfind(b"\n\nFrom ")
    return data.rstrip(b"\0") if data.endswith(b"\0") or last < 0 else data[: last + 2]


def _let_tick(found: FileStat) -> None:
    """Wait until the file's change time is in the past. Otherwise, a second save in the same tick of the file system's
    clock would have the same time as the first."""
    changed_ns = found.ctime_ns or 0
    tick_s = _TICK_S if changed_ns % 1_000_000_000 else _COARSE_TICK_S
    age_s = time.time() - changed_ns / 1e9
    if 0 <= age_s < tick_s:
        time.sleep(tick_s - age_s)


def regular(found: os.stat_result) -> FileStat:
    if not stat.S_ISREG(found.st_mode):
        raise ReadFailed("not_a_file", "This is not a regular file.")
    return FileStat.of(found)
