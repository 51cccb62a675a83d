"""The composition root: starts everything that the methods need, in order, and closes it in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping

from gnod.ingest.pool import WorkerPool
from gnod.paths import Places
from gnod.server.configuration import Configuration
from gnod.server.dispatcher import Handler
from gnod.server.handlers import all_handlers
from gnod.server.index import Index
from gnod.server.stats import Stats
from gnod.server.syncing import Syncing
from gnod.store import documents, migrations
from gnod.store.database import Connection, Database

_MAX_WORKERS = 4

_log = logging.getLogger(__name__)


class Services:
    """What `lifecycle.serve` holds while the daemon runs."""

    def __init__(self, index: Index, watching: asyncio.Task[None]) -> None:
        self._index = index
        self._watching = watching
        self.handlers: Mapping[str, Handler] = all_handlers(index)

    @property
    def shutdown_grace_s(self) -> float:
        return self._index.configuration.current.daemon.shutdown_grace_s

    async def reload(self) -> None:
        await self._index.configuration.reload()

    async def close(self) -> None:
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching
        await self._index.syncing.close()
        await self._index.pool.close()
        await asyncio.to_thread(self._index.database.close)


async def start(places: Places, stats: Stats, request_shutdown: Callable[[], None]) -> Services:
    """Open the database, read the config, and sync every collection in the background.

    Raises ConfigInvalid, ForeignDatabase, NewerDatabase, DatabaseCorrupt, StorageFailed.
    """
    database = await asyncio.to_thread(Database, places.database)
    async with contextlib.AsyncExitStack() as undo:
        undo.push_async_callback(asyncio.to_thread, database.close)
        configuration = Configuration(places.config_file, database)
        await configuration.mirror()
        await asyncio.wrap_future(database.write(_rebuild_if_analysed_otherwise))
        limits = configuration.current.ingest
        pool = WorkerPool(
            size=limits.workers or min(os.cpu_count() or 1, _MAX_WORKERS),
            timeout_s=limits.timeout_s,
            memory_mb=limits.memory_mb,
        )
        syncing = Syncing(configuration, database, pool)
        index = Index(places, stats, configuration, database, pool, syncing, request_shutdown)
        services = Services(index, asyncio.create_task(configuration.watch(), name="watch config"))
        configuration.on_change = syncing.request_all
        syncing.request_all([collection.name for collection in configuration.current.collections])
        undo.pop_all()
    return services


def _rebuild_if_analysed_otherwise(connection: Connection) -> None:
    """Terms made by another version of the analyser would miss queries in silence."""
    if not migrations.tokenizer_is_current(connection):
        documents.invalidate(connection)
        migrations.record_tokenizer(connection)
        _log.info("index.rebuild", extra={"fields": {"reason": "the tokenizer changed"}})
