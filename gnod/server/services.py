"""The composition root: starts everything that the methods need, in order, and closes it in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping
from functools import partial

from gnod.errors import DaemonNotRunning, DatabaseCorrupt
from gnod.ingest.pool import WorkerPool
from gnod.models.inference import Inference
from gnod.paths import Places
from gnod.pipeline.nearest import Nearest
from gnod.server.backlog import Backlog
from gnod.server.configuration import Configuration
from gnod.server.control import Control
from gnod.server.dispatcher import Handler
from gnod.server.embedding import Embedding
from gnod.server.handlers import all_handlers
from gnod.server.index import Index
from gnod.server.modelling import Models
from gnod.server.querying import Querying
from gnod.server.remembering import Remembering
from gnod.server.running import Running
from gnod.server.stats import Stats
from gnod.server.storage import Storage
from gnod.server.subscribing import Subscribing
from gnod.server.syncing import Syncing
from gnod.server.watching import Watching
from gnod.store import changes, damage, documents, migrations, restore
from gnod.store.database import READERS, Connection, Database

_MAX_WORKERS = 4
_LONG_READS = READERS // 2

_log = logging.getLogger(__name__)


class Services:
    """What `lifecycle.serve` holds while the daemon runs."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.handlers: Mapping[str, Handler] = all_handlers(index)

    @property
    def shutdown_grace_s(self) -> float:
        return self.index.configuration.current.daemon.shutdown_grace_s

    async def reload(self) -> None:
        await self.index.configuration.reload()

    async def pulse(self) -> None:
        await asyncio.wrap_future(self.index.database.pulse())

    async def close(self) -> None:
        await self.index.models.close()
        await self.index.watching.close()
        await self.index.syncing.close()
        await self.index.backlog.close()
        await self.index.remembering.close()
        await self.index.inference.close()
        await self.index.pool.close()
        await asyncio.to_thread(self.index.database.close)


async def start(
    places: Places,
    stats: Stats,
    control: Control,
    *,
    log_level: str | None = None,
    on_demand: bool = False,
) -> Services:
    """Open the database, read the config, and watch and sync every collection in the background. A damaged database is
    set aside, and a new one begun.

    `log_level` overrules the config's. Raises ConfigInvalid, ForeignDatabase, NewerDatabase, DatabaseCorrupt,
    StorageFailed, and DaemonNotRunning when it starts `on_demand` and the config does not want that.
    """
    await asyncio.to_thread(restore.finish, places)
    opened = partial(_start, places, stats, control, log_level=log_level, on_demand=on_demand)
    try:
        return await opened()
    except DatabaseCorrupt:
        _log.exception("index.damaged")
        await asyncio.to_thread(damage.renew, places.database)
        return await opened()


async def _start(places: Places, stats: Stats, control: Control, *, log_level: str | None, on_demand: bool) -> Services:
    database = await asyncio.to_thread(Database, places.database)
    async with contextlib.AsyncExitStack() as undo:
        undo.push_async_callback(asyncio.to_thread, database.close)
        with contextlib.suppress(OSError):  # it is there to be watched; what needs to write it will say what is wrong
            places.config_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        configuration = Configuration(places.config_file, database)
        settings = configuration.current.daemon
        if on_demand and not settings.autostart:
            raise DaemonNotRunning("gnod is not running, and index.yml turns autostart off: `gnoctl daemon start`")
        logging.getLogger("gnod").setLevel((log_level or settings.log_level).upper())
        await asyncio.wrap_future(database.write(changes.leap))
        await configuration.mirror()
        await asyncio.wrap_future(database.write(_rebuild_if_analysed_otherwise))
        limits = configuration.current.ingest
        pool = WorkerPool(
            size=limits.workers or min(os.cpu_count() or 1, _MAX_WORKERS),
            timeout_s=limits.timeout_s,
            memory_mb=limits.memory_mb,
            roots=lambda: [collection.path for collection in configuration.current.collections],
            scratch_folder=places.scratch_dir,
        )
        syncing = Syncing(configuration, database, pool)
        watching = Watching(configuration, syncing, places.data_dir)
        models = Models(configuration, places.models_dir)
        inference = Inference(idle_unload_s=configuration.current.models.idle_unload_s)
        running = Running(configuration, models.files, inference)
        embedding = Embedding(configuration, database, models, running)
        await embedding.load()
        backlog = Backlog(configuration, embedding, database, inference)
        nearest = Nearest()
        subscribing = Subscribing()
        database.read(partial(_load_vectors, nearest, sorted(set(embedding.served().values()))))
        index = Index(
            places=places,
            stats=stats,
            configuration=configuration,
            database=database,
            pool=pool,
            syncing=syncing,
            watching=watching,
            models=models,
            inference=inference,
            running=running,
            embedding=embedding,
            backlog=backlog,
            nearest=nearest,
            querying=Querying(database, models, running, embedding, nearest),
            subscribing=subscribing,
            remembering=Remembering(places.memory_database, models, running),
            control=control,
            storage=Storage(database, control),
            long_reads=asyncio.Semaphore(_LONG_READS),
        )
        configuration.on_change = index.config_changed
        syncing.on_change = backlog.chunks_changed
        syncing.listeners.append(subscribing.wake)
        watching.listeners.append(subscribing.wake)
        watching.on_look = index.storage.look
        backlog.listeners.append(lambda _: subscribing.wake())
        models.on_installed = index.model_installed
        services = Services(index)
        undo.pop_all()
    return services


def _load_vectors(nearest: Nearest, uris: list[str], connection: Connection) -> None:
    """So that the first search does not wait for it."""
    for uri in uris:
        nearest.load(connection, uri)


def _rebuild_if_analysed_otherwise(connection: Connection) -> None:
    """Terms made by another version of the analyser would miss queries in silence."""
    if not migrations.tokenizer_is_current(connection):
        documents.invalidate(connection)
        migrations.record_tokenizer(connection)
        _log.info("index.rebuild", extra={"fields": {"reason": "the tokenizer changed"}})
