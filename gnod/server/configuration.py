"""The config that is in force: read at start, read again when its file changes, mirrored into the database.

A change that is faulty leaves the last good config in force, and status says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gnod.config import load
from gnod.config.model import CollectionConfig, Config
from gnod.errors import CollectionNotFound, GnoError
from gnod.store import collections
from gnod.store.database import Database

T = TypeVar("T")

# A file that stays empty for half a second is meant to be.
_LOOKS, _LOOK_S = 10, 0.05

_log = logging.getLogger(__name__)


class Configuration:
    """`on_change` is called with the names of collections that are new or different, after each good change.

    Raises ConfigInvalid when the file is faulty at the start: there is no good config to go on with.
    """

    def __init__(self, path: Path, database: Database) -> None:
        self.path = path
        self.error: GnoError | None = None
        self._database = database
        self.on_change: Callable[[list[str]], None] = lambda _: None
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
        """Raises CollectionNotFound, which names the known ones."""
        for collection in self.current.collections:
            if collection.name == name:
                return collection
        known = ", ".join(c.name for c in self.current.collections)
        hint = f"; there are: {known}" if known else "; none was added yet: `gnoctl collection add FOLDER`"
        raise CollectionNotFound(f"there is no collection '{name}'{hint}", {"name": name})

    def check_known(self, names: list[str]) -> None:
        for name in names:
            self.collection(name)

    async def mirror(self) -> None:
        """Make the database's tables equal the config in force."""
        config = self.current
        folders = [collections.Folder(c.name, c.path, c.language) for c in config.collections]
        contexts = [(context.scope, context.text) for context in config.contexts]
        work = self._database.write(lambda connection: collections.mirror(connection, folders, contexts))
        await asyncio.wrap_future(work)

    async def edit(self, change: Callable[[Path], T]) -> T:
        """Change the file with `change` and put it in force."""
        async with self._lock:
            result = await asyncio.to_thread(change, self.path)
            await self._reload()
        return result

    async def reload(self) -> None:
        """Read the file again if it changed since; faults are kept in `error`, not raised."""
        async with self._lock:
            if _stamp(self.path) != self._seen:
                await self._let_settle()
                await self._reload()

    async def _let_settle(self) -> None:
        """Wait until nobody writes the file. Many programs empty it first, and without collections all that is indexed
        would go."""
        for _ in range(_LOOKS):
            before = _stamp(self.path)
            await asyncio.sleep(_LOOK_S)
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
        self.on_change([c.name for c in self.current.collections if before.get(c.name) != c])


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino
