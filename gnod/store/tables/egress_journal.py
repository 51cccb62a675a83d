"""Record how much was sent to other programs and machines: the numbers of requests and bytes by address, role and
collection, but no text.

The journal has its own database, so that it outlives the index. It is written before the bytes leave, and survives a
kill of the daemon. Several processes may use it. Must not depend on the config.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import apsw

from gnod.errors import Refused, StorageFailed
from gnod.private import private_file, private_folder

# Keep this many lines (one for each address, role and collection). The least recently used lines are deleted.
MOST = 10_000
# Delete surplus lines after this many writes.
_PRUNED_AFTER = 1_000
_BUSY_MS = 2_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS sent (
    address TEXT NOT NULL,
    role TEXT NOT NULL,
    collection TEXT NOT NULL,
    requests INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    first REAL NOT NULL,
    last REAL NOT NULL,
    PRIMARY KEY (address, role, collection)
) STRICT, WITHOUT ROWID
"""
_ADD = """
INSERT INTO sent VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
ON CONFLICT DO UPDATE SET requests = requests + ?4, bytes = bytes + ?5, last = ?6
"""
_FORGET = """
DELETE FROM sent WHERE (address, role, collection) IN (
    SELECT address, role, collection FROM sent ORDER BY last DESC LIMIT -1 OFFSET ?)
"""
_ALL = "SELECT address, role, collection, requests, bytes, first, last FROM sent ORDER BY address, role, collection"
# The line for all collections together. A request for several collections counts once.
TOGETHER = ""


T = TypeVar("T")
_log = logging.getLogger(__name__)


class SentBytes(NamedTuple):
    """A line of the journal. `collection`: TOGETHER for the total. Times are seconds since 1970."""

    address: str
    role: str
    collection: str
    requests: int
    bytes: int
    first: float
    last: float


class EgressJournal:
    """Thread-safe. The file is created with the first line."""

    def __init__(self, path: Path, *, most: int = MOST, pruned_after: int = _PRUNED_AFTER) -> None:
        self._path = path
        self._most = most
        self._pruned_after = pruned_after
        self._written = 0
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None

    def note(self, address: str, role: str, collections: Sequence[str], *, requests: int, size: int) -> None:
        """Add requests that are about to be sent. Raises StorageFailed."""
        now = time.time()
        self._run(
            partial(
                self._add, [(address, role, collection, requests, size, now) for collection in (TOGETHER, *collections)]
            )
        )

    def lines(self) -> list[SentBytes]:
        """Return all lines in order of address, role and collection. Raises StorageFailed."""
        if not self._path.exists():
            return []
        return self._run(lambda connection: [SentBytes(*row) for row in connection.execute(_ALL)])

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _add(self, lines: list[tuple[str, str, str, int, int, float]], connection: apsw.Connection) -> None:
        with connection:
            connection.executemany(_ADD, lines)
            if self._written % self._pruned_after < len(lines):
                connection.execute(_FORGET, (self._most,))
        self._written += len(lines)

    def _run(self, work: Callable[[apsw.Connection], T]) -> T:
        with self._lock:
            try:
                try:
                    return work(self._opened())
                except (apsw.CorruptError, apsw.NotADBError):
                    self._set_aside()
                    return work(self._opened())
            except (apsw.Error, OSError, Refused) as error:
                raise StorageFailed(f"{self._path} cannot be used: {error}", {"path": str(self._path)}) from error

    def _opened(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = _open(self._path)
        return self._connection

    def _set_aside(self) -> None:
        """Rename a damaged file. The next write creates a new one."""
        _log.error("egress.journal_damaged", extra={"fields": {"path": str(self._path)}})
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._path.replace(self._path.with_name(f"{self._path.name}.damaged"))
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _open(path: Path) -> apsw.Connection:
    private_folder(path.parent)
    os.close(private_file(path, os.O_RDWR | os.O_CREAT))  # SQLite gives its other files the same mode
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(_BUSY_MS)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection
