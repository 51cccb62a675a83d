"""Learns the weight of a collection's vectors: on request, and once in the background, when the collection is embedded
and the machine has been idle for a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from gnod.background import throttling
from gnod.background.embedding_backlog import Backlog, BacklogState
from gnod.config.model_uris import endpoint_of
from gnod.configured.embedding_models import EmbeddingService
from gnod.errors import GnoError, NotEmbedded
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.tables import learned_factors
from gnod.store.tables.learned_factors import Prior
from gnod.tuning.experiment import OnProgress, learn, remove_left_overs

# The background run starts after this time without embedding.
IDLE_S = 60.0
# Smaller collections yield too few questions.
MIN_DOCUMENTS = 50
# Learn again after a collection has grown by this factor.
_GROWN = 2.0

_log = logging.getLogger(__name__)


class TuningService:
    """`embed_on_battery`: whether background work may use the battery."""

    def __init__(
        self,
        database: Database,
        embedding: EmbeddingService,
        pool: WorkerPool,
        backlog: Backlog,
        embed_on_battery: Callable[[], bool],
    ) -> None:
        self._database = database
        self._embedding = embedding
        self._pool = pool
        self._embed_on_battery = embed_on_battery
        self._one_at_a_time = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._background: asyncio.Task[None] | None = None
        self._cleared = asyncio.create_task(asyncio.to_thread(remove_left_overs, database))
        backlog.changed.connect(self._embedding_changed)
        self._embedding_changed(backlog.state())

    async def tune(self, collection: str, on_progress: OnProgress = lambda *_: None) -> Prior:
        """Learn from a collection and store the result. Raises NotEmbedded, and the errors of the models."""
        uri = self._embedding.served().get(collection)
        if uri is None:
            raise NotEmbedded(f"{collection} has no vectors yet: `gnoctl embed` shows the progress")
        async with self._one_at_a_time:
            await asyncio.shield(self._cleared)
            embedder = self._embedding.embedder(uri, [collection])
            prior = await learn(self._database, collection, embedder, self._pool.run, on_progress)
            await self._database.write(lambda connection: learned_factors.put(connection, prior))
        _log.info("collection.tuned", extra={"fields": prior._asdict()})
        return prior

    async def priors(self) -> dict[str, Prior]:
        """Return the learned values by collection."""
        known = await self._database.read(learned_factors.all_priors)
        return {prior.collection: prior for prior in known}

    async def reset(self, collection: str) -> None:
        """Delete the learned value, and do not learn it again in the background."""
        uri = self._embedding.served().get(collection)
        await self._database.write(partial(_reset, collection, uri))

    async def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._background:
            self._background.cancel()
            await asyncio.gather(self._background, return_exceptions=True)
        await asyncio.wait([self._cleared])

    def _embedding_changed(self, state: BacklogState) -> None:
        """Wait until nothing has been embedded for a while. New chunks stop a background run, which starts again
        later."""
        if self._timer:
            self._timer.cancel()
        if state.state == "embedding" and self._background:
            self._background.cancel()
        if state.state == "idle" and not state.pending:
            self._timer = asyncio.get_running_loop().call_later(IDLE_S, self._begin)

    def _begin(self) -> None:
        if self._background is None or self._background.done():
            self._background = asyncio.create_task(self._tune_all(), name="tuning")

    async def _tune_all(self) -> None:
        try:
            known = await self.priors()
            counts = await self._database.read(_counts)
            for collection, uri in self._embedding.served().items():
                count, prior = counts.get(collection, 0), known.get(collection)
                is_known = prior is not None and prior.model == uri and count < _GROWN * prior.documents
                if count < MIN_DOCUMENTS or is_known or endpoint_of(uri):
                    continue  # only a user may start hundreds of requests to a server
                if throttling.low_battery(may_use_battery=self._embed_on_battery()):
                    return
                await self.tune(collection)
        except GnoError as error:
            _log.warning("collection.not_tuned", extra={"fields": {"kind": error.kind, "message": error.message}})


def _reset(collection: str, uri: str | None, connection: Connection) -> None:
    learned_factors.reset(connection, collection)
    if uri is not None:  # the value was learned; the neutral one replaces it
        learned_factors.put(connection, Prior.neutral(collection, uri, _counts(connection).get(collection, 0)))


def _counts(connection: Connection) -> dict[str, int]:
    rows = connection.execute(
        "SELECT c.name, count(*) FROM documents d JOIN collections c ON c.id = d.collection_id"
        " WHERE d.active GROUP BY 1"
    )
    return dict(rows)
