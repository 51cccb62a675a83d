"""The active config: read at start and when its file changes, and mirrored into the database.

After a change with errors the last valid config stays active, and status reports the errors.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gnod.config import load
from gnod.config.model import CollectionConfig, Config
from gnod.errors import GnoError, UnsafeFile
from gnod.ingest.ocr import readers
from gnod.private import opening
from gnod.signals import Signal
from gnod.store.database import Database
from gnod.store.documents import collections

T = TypeVar("T")

# A file that stays empty for half a second is accepted as empty.
_CHECKS, _CHECK_S = 10, 0.05

_log = logging.getLogger(__name__)


class Configuration:
    """`changed` is emitted after each valid change, with the names of new or changed collections.

    The constructor raises ConfigInvalid, since there is no earlier valid config.
    """

    def __init__(self, path: Path, database: Database) -> None:
        self.path = path
        self.error: GnoError | None = None
        self._database = database
        self.changed: Signal[[list[str]]] = Signal()
        self._lock = asyncio.Lock()
        self._seen = _stamp(path)
        self._loaded = load.load(path)

    @property
    def current(self) -> Config:
        return self._loaded.config

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._loaded.warnings

    def collection(self, name: str) -> CollectionConfig:
        """Raises CollectionNotFound."""
        return self.current.collection(name)

    def check_known(self, names: list[str]) -> None:
        """Raises CollectionNotFound. Attached collections are known, too."""
        for name in names:
            if not self.current.is_attached(name):
                self.collection(name)

    def check_commands(self) -> None:
        """Raise UnsafeFile if other users can change the file: then none of its commands may run."""
        if found := opening(self.path):
            raise UnsafeFile(
                f"{found.problem}, so no command in index.yml runs: check the file, and run `{found.remedy}`"
            )

    async def mirror(self) -> None:
        """Make the database's tables equal the active config."""
        config = self.current
        folders = [collections.Folder(c.name, c.path, c.language, _reader(c.ocr)) for c in config.collections]
        contexts = [(context.scope, context.text) for context in config.contexts]
        await self._database.write(lambda connection: collections.mirror(connection, folders, contexts))

    async def edit(self, change: Callable[[Path], T]) -> T:
        """Change the file with `change` and activate it."""
        async with self._lock:
            result = await asyncio.to_thread(change, self.path)
            await self._reload()
        return result

    async def reload(self) -> None:
        """Read the file again if it changed; errors are kept in `error`, not raised."""
        async with self._lock:
            if _stamp(self.path) != self._seen:
                await self._wait_until_written()
                await self._reload()

    async def _wait_until_written(self) -> None:
        """Wait until the file is complete: many programs empty it first, and an empty config removes all documents."""
        for _ in range(_CHECKS):
            before = _stamp(self.path)
            await asyncio.sleep(_CHECK_S)
            if _stamp(self.path) == before and (before is None or before[0] > 0):
                return

    async def _reload(self) -> None:
        self._seen = _stamp(self.path)
        before = {c.name: c for c in self.current.collections}
        try:
            self._loaded = await asyncio.to_thread(load.load, self.path)
            await self.mirror()
        except GnoError as error:
            self.error = error
            _log.warning("config.refused", extra={"fields": {"kind": error.kind}})
            return
        self.error = None
        _log.info("config.loaded", extra={"fields": {"collections": len(self.current.collections)}})
        self.changed.emit([c.name for c in self.current.collections if before.get(c.name) != c])


def _reader(ocr: str) -> str | None:
    chosen = readers.choose(ocr)
    return chosen.name if isinstance(chosen, readers.Reader) else None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino
