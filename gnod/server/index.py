"""What one served index consists of, for the handlers: the config, the database, the workers, the syncs, the models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from gnod.errors import CollectionNotFound
from gnod.ingest.pool import WorkerPool
from gnod.models.inference import Inference
from gnod.paths import Places
from gnod.pipeline.nearest import Nearest
from gnod.protocol.results import Freshness
from gnod.server import awaited
from gnod.server.backlog import Backlog
from gnod.server.configuration import Configuration
from gnod.server.control import Control
from gnod.server.embedding import Embedding
from gnod.server.modelling import Models
from gnod.server.querying import Querying
from gnod.server.remembering import Remembering
from gnod.server.running import Running
from gnod.server.stats import Stats
from gnod.server.storage import Storage
from gnod.server.subscribing import Subscribing
from gnod.server.syncing import Syncing
from gnod.server.watching import Watching
from gnod.store import failures, vectors
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
    models: Models
    inference: Inference
    running: Running
    embedding: Embedding
    backlog: Backlog
    nearest: Nearest
    querying: Querying
    subscribing: Subscribing
    remembering: Remembering
    control: Control
    storage: Storage
    long_reads: asyncio.Semaphore

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a read; when the request is cancelled, the query in SQLite ends too."""
        return await awaited.read(self.database, work)

    async def read_long(self, work: Callable[[Connection], T]) -> T:
        """Run a read of whole texts. However many are asked for, searches do not wait behind them."""
        async with self.long_reads:
            return await self.read(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        return await awaited.write(self.database, work)

    def config_changed(self, changed: list[str]) -> None:
        """Put a new config in force: sync what changed, watch what there is now."""
        self.syncing.drop_removed()
        self.watching.config_changed()
        self.syncing.request_all(changed)
        self.inference.idle_unload_s = self.configuration.current.models.idle_unload_s
        self.backlog.config_changed()
        self.remembering.models_changed()
        self.subscribing.wake()

    def model_installed(self, uri: str) -> None:
        """Let what has waited for that model go on."""
        self.backlog.model_installed(uri)
        self.remembering.models_changed()

    async def make_fresh(self, collections: list[str], *, embedded: bool = False) -> None:
        """Reconcile the collections (all when empty): what was written before this call is indexed after it, and
        `embedded` as well, unless something speaks against that."""
        names = collections or [c.name for c in self.configuration.current.collections]
        runs = (asyncio.shield(self.syncing.request(name)) for name in names)
        for end in await asyncio.gather(*runs, return_exceptions=True):
            was_removed = isinstance(end, CollectionNotFound) and not collections  # nobody has asked for it by name
            if isinstance(end, BaseException) and not was_removed:
                raise end
        if embedded:
            await self.backlog.catch_up()

    def freshness(self, connection: Connection, collections: list[str], *, embedded: bool = False) -> Freshness:
        """Return how the index stands to the disk, for the collections asked for (all when empty). `embedded`: what
        has no vector yet counts too."""
        wanted = set(collections)
        names = [c.name for c in self.configuration.current.collections if not wanted or c.name in wanted]
        pending = self.syncing.pending()
        unavailable = [name for name in pending.unavailable if name in names]
        failed = failures.count(connection, names)
        unwatched = [name for name in names if not self.watching.state(name).is_watched]
        unembedded = self._unembedded(connection, names, all_of_them=not wanted) if embedded else 0
        current = not (pending.files or unavailable or failed or unwatched or unembedded)
        return Freshness(
            current=current,
            pending=pending.files,
            failed=failed,
            unwatched=unwatched,
            unavailable=unavailable,
            unembedded=unembedded,
        )

    def _unembedded(self, connection: Connection, names: list[str], *, all_of_them: bool) -> int:
        """Return how many chunks have no vector of the model that answers for them. To count takes some
        microseconds for each of them, so it is done where nothing else will do."""
        known = self.backlog.known_pending()
        if known == 0 or (known is not None and all_of_them):
            return known
        served, wanted = self.embedding.served(), self.embedding.wanted()
        by_model: dict[str, list[str]] = {}
        for name in names:
            if uri := served.get(name) or wanted.get(name):
                by_model.setdefault(uri, []).append(name)
        return sum(vectors.count_pending(connection, uri, of) for uri, of in by_model.items())
