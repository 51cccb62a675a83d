"""The embedding models: the serving model of each collection, the vectors of queries, and what the models can read.

While a new wanted model embeds a collection, the old serving model still answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from gnod.config.model_uris import Endpoint, endpoint_of
from gnod.configured.configuration import Configuration
from gnod.configured.egress_gate import EgressPolicy
from gnod.configured.models import ModelFactory, ModelService
from gnod.egress import Purpose
from gnod.errors import (
    EgressForbidden,
    EndpointChanged,
    EndpointFailed,
    GnoError,
    ModelNotConfigured,
    ModelNotPulled,
    NotEmbedded,
)
from gnod.models import readability
from gnod.models.readability import Readability
from gnod.models.run.roles import Embedder
from gnod.search.meaning.vector_search import QueryVectors
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.vectors import fingerprints, vectors

RETRY_S = 600.0
# The purpose of measurements. Only installed models are measured, so nothing is sent.
_SAMPLES = Purpose("embed", "check")

_log = logging.getLogger(__name__)

U = TypeVar("U")


class EmbeddingService:
    """Call `load` first. `attached`: the models of attached collections, which only queries use."""

    def __init__(
        self,
        configuration: Configuration,
        database: Database,
        models: ModelService,
        factory: ModelFactory,
        egress: EgressPolicy,
        attached: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self._attached = attached
        self._configuration = configuration
        self._database = database
        self._models = models
        self._factory = factory
        self._egress = egress
        self._served: dict[str, str] = {}

    async def load(self) -> None:
        """Read the serving models from the database."""
        self._served = await self._database.read(vectors.serving)

    def wanted(self) -> dict[str, str | None]:
        config = self._configuration.current
        return {collection.name: config.model_for("embed", collection.name) for collection in config.collections}

    def served(self) -> dict[str, str]:
        """Return the serving model of each collection that has one."""
        wanted = self.wanted()
        return {name: uri for name, uri in self._served.items() if name in wanted}

    def answering(self) -> dict[str, str]:
        """Return the serving models that may answer queries. A server's model may do so only if the config names it."""
        wanted = self.wanted()
        return {name: uri for name, uri in self.served().items() if not endpoint_of(uri) or wanted[name] == uri}

    def unused(self) -> dict[str, str]:
        """Return the serving models that may no longer answer queries."""
        answering = self.answering()
        return {name: uri for name, uri in self.served().items() if name not in answering}

    def is_installed(self, uri: str) -> bool:
        return self._models.is_ready(uri)

    async def left_out(self, uri: str, collection: str) -> str | None:
        """Return why texts of the collection may not reach the model; None if they may, or if this is unknown now."""
        try:
            await self._factory.check(uri, self._egress.of_collections("embed", [collection]))
        except EgressForbidden as error:
            return error.message
        except EndpointFailed:
            return None
        return None

    def embedder(self, uri: str, collections: Sequence[str]) -> Embedder:
        """Return the model for documents of these collections. It must be the model of all of them."""
        names = tuple(collections)
        return self._factory.make(Embedder, uri, Purpose("embed", collections=names, users=names))

    def query_embedder(self, uri: str, collections: Sequence[str], seen: Sequence[str] = ()) -> Embedder:
        """Return the model for queries over collections (all if empty), and for sentences of their results. A server's
        model must be the model of one of them. `seen`: see EgressPolicy.of_collections."""
        wanted = _of(self.wanted(), collections)
        users = [name for name in wanted if wanted[name] == uri] or [
            name for name in wanted if self._served.get(name) == uri
        ]
        purpose = self._egress.of_collections("embed", collections, users=users, seen=seen)
        return self._factory.make(Embedder, uri, purpose)

    async def take_new_model(self, endpoint: Endpoint) -> None:
        """Accept the current model of a server: delete the vectors and the fingerprint of the previous one."""
        uri = str(endpoint)
        await self._database.write(partial(_forget, uri))
        self._factory.forget(endpoint)
        self._served = await self._database.read(vectors.serving)

    async def serve(self, collections: Sequence[str], uri: str) -> None:
        """Make this the serving model of the collections, and delete unused models."""
        wanted = [uri for uri in self.wanted().values() if uri]
        await self._database.write(partial(_serve, collections, uri, wanted))
        self._served = await self._database.read(vectors.serving)

    async def texts(self, queries: Sequence[str], passages: Sequence[str], collections: Sequence[str]) -> QueryVectors:
        """Embed queries and, below them, possible answers with the serving models of these collections (all if empty).
        If there are several models, those whose server fails or is outside a collection's scope are omitted.

        Raises NotEmbedded if no collection has vectors, and ModelNotPulled, ModelCorrupt, ModelRejected,
        InferenceFailed, EgressForbidden, EndpointFailed or EndpointChanged if no model is usable.
        """
        served = _of({**self.served(), **self._attached()}, collections)
        if not served:
            await self._explain_nothing_served(collections)
        rows, failed = {}, list[GnoError]()
        for uri in dict.fromkeys(served.values()):
            try:
                rows[uri] = await self.query_embedder(uri, collections).texts(queries, passages)
            except (EgressForbidden, EndpointFailed, EndpointChanged) as error:
                failed.append(error)
        if not rows:
            raise failed[0]
        answering = {name: uri for name, uri in served.items() if uri in rows}
        reasons = [error.message for error in failed] + await self._unserved(collections)
        return QueryVectors(rows, answering, tuple(dict.fromkeys(reasons)))

    async def _unserved(self, collections: Sequence[str]) -> list[str]:
        """Return why collections have no vectors, where the reason is that their texts may not reach a server."""
        reasons = [
            await self.left_out(uri, name)
            for name, uri in _of(self.wanted(), collections).items()
            if uri and name not in self._served and endpoint_of(uri)
        ]
        return [reason for reason in reasons if reason]

    async def _explain_nothing_served(self, collections: Sequence[str]) -> None:
        wanted = _of(self.wanted(), collections)
        for name, uri in wanted.items():
            if uri:
                await self._factory.check(uri, self._egress.of_collections("embed", [name]))
            if uri and not self.is_installed(uri):
                raise ModelNotPulled(
                    f"there are no vectors yet, because the model {uri} is not on this machine:"
                    " run `gnoctl models pull embed`, or see `gnoctl models list` for others",
                    {"uri": uri},
                )
        if not wanted and self._configuration.current.attached:
            raise NotEmbedded("no collection here has vectors that this machine can compare: see `gnoctl status`")
        if not wanted:
            raise NotEmbedded("there are no folders yet: run `gnoctl init FOLDER`")
        if not any(wanted.values()):
            raise ModelNotConfigured("no embedding model is configured: `gnoctl models use auto` chooses one")
        raise NotEmbedded("there are no vectors yet: `gnoctl embed` shows the progress")


class ReadabilityService:
    """What the embedding models of this machine can read: measured once per model, in the background.

    A pulled model is measured at once; any other one when a search first needs the result. Until then nothing is
    excluded. A failed measurement is repeated after `retry_s`, or when the model is pulled again.
    """

    def __init__(self, models: ModelService, factory: ModelFactory, retry_s: float = RETRY_S) -> None:
        self._models = models
        self._factory = factory
        self._retry_s = retry_s
        self._known: dict[str, Readability | None] = {}
        self._failed_at: dict[str, float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        models.installed.connect(self._installed)

    def of(self, uri: str) -> Readability | None:
        """Return the measurement of a model, from any thread. If there is none, start one."""
        if uri not in self._known:
            self._known[uri] = self.stored(uri)
        if (known := self._known[uri]) is None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._begin, uri)
        return known

    def stored(self, uri: str) -> Readability | None:
        """Return the stored measurement of a model. Reads a file."""
        installed = self._models.find(uri)
        return readability.load(self._models.files.readability_for(uri), installed) if installed else None

    def is_measuring(self, uri: str) -> bool:
        return uri in self._tasks

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _installed(self, uri: str) -> None:
        self._known.pop(uri, None)
        self._failed_at.pop(uri, None)
        if any(use.role == "embed" and use.uri == uri for use in self._models.uses()):
            self._begin(uri)

    def _begin(self, uri: str) -> None:
        has_just_failed = uri in self._failed_at and time.monotonic() < self._failed_at[uri] + self._retry_s
        if uri not in self._tasks and not has_just_failed and self._models.find(uri):
            task = self._tasks[uri] = asyncio.create_task(self._measure(uri), name=f"measure {uri}")
            task.add_done_callback(lambda _: self._tasks.pop(uri, None))

    async def _measure(self, uri: str) -> None:
        try:
            installed = self._models.require(uri)
            found = await readability.measure(installed, self._factory.make(Embedder, uri, _SAMPLES).sample)
            await asyncio.to_thread(readability.save, self._models.files.readability_for(uri), found)
        except (GnoError, OSError) as error:
            self._failed_at[uri] = time.monotonic()
            _log.warning("model.not_measured", extra={"fields": {"uri": uri, "reason": str(error)}})
            return
        self._known[uri] = found
        unread = readability.unread_scripts(found)
        _log.info("model.measured", extra={"fields": {"uri": uri, "unread_scripts": unread}})


def _of(models: Mapping[str, U], collections: Sequence[str]) -> dict[str, U]:
    """Return the models of these collections; of all collections if empty."""
    return {name: uri for name, uri in models.items() if not collections or name in collections}


def _forget(uri: str, connection: Connection) -> None:
    vectors.drop(connection, uri)
    fingerprints.forget(connection, uri)


def _serve(collections: Sequence[str], uri: str, wanted: Sequence[str], connection: Connection) -> None:
    for name in collections:
        vectors.serve(connection, name, uri)
    vectors.drop_unserved(connection, wanted)
