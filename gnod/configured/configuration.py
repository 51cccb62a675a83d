"""Keeps the active config: reads it at start and when its file changes, and mirrors it into the database.

After a change with errors the last valid config stays active, and status reports the errors.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from gnod.config import load
from gnod.config.model import CollectionConfig, Config
from gnod.errors import ConfigInvalid, GnoError, UnsafeFile
from gnod.ingest.ocr import readers
from gnod.private import opening
from gnod.signals import Signal
from gnod.store.database import Database
from gnod.store.documents import collections

T = TypeVar("T")

# The time between two checks of a changed file; how often an empty or missing file must look the same before it is
# accepted; and the maximum number of checks.
_CHECK_S, _EMPTY_CHECKS, _MOST_CHECKS = 0.05, 10, 40
# Two changes of a file within this time may get the same file system time.
_SAME_TIME_S = 0.1

_log = logging.getLogger(__name__)


class Configuration:
    """Emits `changed` after each valid change, with the names of new or changed collections.

    The constructor raises ConfigInvalid, because there is no earlier valid config.
    """

    def __init__(self, path: Path, database: Database) -> None:
        self.path = path
        self.error: GnoError | None = None
        self._database = database
        self.changed: Signal[[list[str]]] = Signal()
        self._lock = asyncio.Lock()
        self._file = _ConfigFile(path)
        self._seen = _stamp(path)
        self._loaded = load.load(path)

    @property
    def current(self) -> Config:
        return self._loaded.config

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._loaded.warnings

    def present(self) -> Config:
        """Return the config as the file states it now, which may be newer than `current`. Callable from any thread.
        Raises ConfigInvalid."""
        return self._file.read()

    def collection(self, name: str) -> CollectionConfig:
        """Raises CollectionNotFound."""
        return self.current.collection(name)

    def check_known(self, names: list[str]) -> None:
        """Raise CollectionNotFound if any of the names is unknown. Attached collections are known."""
        for name in names:
            if not self.current.is_attached(name):
                self.collection(name)

    def check_commands(self) -> None:
        """Raise UnsafeFile if other users can change the file. Then none of its commands may run."""
        if found := opening(self.path):
            raise UnsafeFile(
                f"{found.problem}, so no command in index.yml runs: check the file, and run `{found.remedy}`"
            )

    async def mirror(self) -> None:
        """Make the tables of the database equal to the active config."""
        await self._mirror(self.current)

    async def _mirror(self, config: Config) -> None:
        folders = [
            collections.Folder(c.name, c.path, c.language, c.mask_secrets, _reader(c.ocr)) for c in config.collections
        ]
        contexts = [(context.scope, context.text) for context in config.contexts]
        await self._database.write(lambda connection: collections.mirror(connection, folders, contexts))

    async def edit(self, change: Callable[[Path], T]) -> T:
        """Change the file with `change` and activate it."""
        async with self._lock:
            result = await asyncio.to_thread(change, self.path)
            self._seen = _stamp(self.path)
            await self._activate(await asyncio.to_thread(self._read))
        return result

    async def reload(self) -> None:
        """Read the file again if it changed. Errors are stored in `error`, not raised. A file that is still being
        written is left to the next call."""
        async with self._lock:
            if _stamp(self.path) != self._seen and (read := await self._read_when_written()) is not None:
                await self._activate(read)

    async def _read_when_written(self) -> load.LoadedConfig | GnoError | None:
        """Read the file once it is complete. Many programs empty or remove a file before they write it, and an empty
        config would remove all documents."""
        unchanged, stamp = 0, _stamp(self.path)
        for _ in range(_MOST_CHECKS):
            await asyncio.sleep(_CHECK_S)
            read = await asyncio.to_thread(self._read)
            before, stamp = stamp, _stamp(self.path)
            unchanged = unchanged + 1 if stamp == before else 0
            if unchanged >= (1 if stamp and stamp.size else _EMPTY_CHECKS):
                self._seen = stamp
                return read
        return None

    def _read(self) -> load.LoadedConfig | GnoError:
        try:
            return load.load(self.path)
        except GnoError as error:
            return error

    async def _activate(self, read: load.LoadedConfig | GnoError) -> None:
        before = {c.name: c for c in self.current.collections}
        try:
            if isinstance(read, GnoError):
                raise read
            # Do this first, because other code looks up the collection of each document in `current`.
            await self._mirror(read.config)
        except GnoError as error:
            self.error = error
            _log.warning("config.refused", extra={"fields": {"kind": error.kind}})
            return
        self._loaded = read
        self.error = None
        _log.info("config.loaded", extra={"fields": {"collections": len(self.current.collections)}})
        self.changed.emit([c.name for c in self.current.collections if before.get(c.name) != c])


class _ConfigFile:
    """The config as the file states it. It is read again when the file has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: _Stamp | None = None
        self._read_at = -1.0
        self._found: Config | ConfigInvalid = Config()

    def read(self) -> Config:
        with self._lock:
            stamp = _stamp(self._path)
            if stamp != self._seen or self._read_at < 0 or self._is_young(stamp):
                self._seen, self._read_at = stamp, time.time()
                self._found = self._load()
            if isinstance(self._found, ConfigInvalid):
                raise self._found.with_traceback(None)
            return self._found

    def _is_young(self, stamp: _Stamp | None) -> bool:
        """Return whether the file may have changed after it was read without changing its stamp."""
        return stamp is not None and self._read_at - stamp.changed_ns / 1e9 < _SAME_TIME_S

    def _load(self) -> Config | ConfigInvalid:
        try:
            return load.load(self._path).config
        except ConfigInvalid as error:
            return error


class _Stamp(NamedTuple):
    size: int
    modified_ns: int
    changed_ns: int
    inode: int


def _reader(ocr: str) -> str | None:
    chosen = readers.choose(ocr)
    return chosen.name if isinstance(chosen, readers.Reader) else None


def _stamp(path: Path) -> _Stamp | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return _Stamp(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
