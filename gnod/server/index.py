"""What one served index consists of, for the handlers: the config, the database, the workers, the syncs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from gnod.ingest.pool import WorkerPool
from gnod.paths import Places
from gnod.protocol.results import Freshness
from gnod.server.configuration import Configuration
from gnod.server.stats import Stats
from gnod.server.syncing import Syncing
from gnod.server.watching import Watching
from gnod.store import failures
from gnod.store.database import Connection, Database

T = TypeVar("T")


class Index(NamedTuple):
    places: Places
    stats: Stats
    configuration: Configuration
    database: Database
    pool: WorkerPool
    syncing: Syncing
    watching: Watching
    request_shutdown: Callable[[], None]

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a read; when the request is cancelled, the query in SQLite ends too."""
        future = self.database.read(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self.database.interrupt(future)
            raise

    async def write(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self.database.write(work))

    def config_changed(self, changed: list[str]) -> None:
        """Put a new config in force: sync what changed, watch what there is now."""
        self.syncing.drop_removed()
        self.watching.config_changed()
        self.syncing.request_all(changed)

    async def make_fresh(self, collections: list[str]) -> None:
        """Reconcile the collections (all when empty): what was written before this call is indexed after it."""
        names = collections or [c.name for c in self.configuration.current.collections]
        await asyncio.gather(*(asyncio.shield(self.syncing.request(name)) for name in names))

    def freshness(self, connection: Connection, collections: list[str]) -> Freshness:
        """Return how the index stands to the disk, for the collections asked for (all when empty)."""
        wanted = set(collections)
        names = [c.name for c in self.configuration.current.collections if not wanted or c.name in wanted]
        pending = self.syncing.pending()
        unavailable = [name for name in pending.unavailable if name in names]
        failed = failures.count(connection, names)
        unwatched = [name for name in names if not self.watching.state(name).is_watched]
        current = not (pending.files or unavailable or failed or unwatched)
        return Freshness(
            current=current,
            pending=pending.files,
            failed=failed,
            unwatched=unwatched,
            unavailable=unavailable,
        )
