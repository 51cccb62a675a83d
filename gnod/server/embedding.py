"""Which embedding model answers for which collection, and what a query looks like to it.

The model that the config wants may not be the one that answers: while a new model embeds everything anew, the vectors
of the one before go on answering.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelNotPulled, NotEmbedded
from gnod.models.embedder import Embedder
from gnod.pipeline.retrieval import Vectors
from gnod.server.configuration import Configuration
from gnod.server.modelling import Models
from gnod.server.running import Running
from gnod.store import vectors
from gnod.store.database import Connection, Database


class QueryVectors(NamedTuple):
    """A query as each model sees it, by the model's address, and which model answers for which collection."""

    vectors: dict[str, NDArray[np.float32]]
    served: dict[str, str]
    took_ms: float


class Embedding:
    """`load` before anything else."""

    def __init__(self, configuration: Configuration, database: Database, models: Models, running: Running) -> None:
        self._configuration = configuration
        self._database = database
        self._models = models
        self._running = running
        self._served: dict[str, str] = {}

    async def load(self) -> None:
        """Learn from the database which models answer."""
        self._served = await self._read_served()

    def wanted(self) -> dict[str, str | None]:
        """Return the model that the config wants for each collection."""
        names = [collection.name for collection in self._configuration.current.collections]
        return {name: self._models.uri_for("embed", name) for name in names}

    def served(self) -> dict[str, str]:
        """Return the model that answers for each collection that has one."""
        wanted = self.wanted()
        return {name: uri for name, uri in self._served.items() if name in wanted}

    def is_installed(self, uri: str) -> bool:
        return self._models.find(uri) is not None

    def embedder(self, uri: str) -> Embedder:
        return self._running.make(Embedder, uri)

    async def serve(self, collections: Sequence[str], uri: str) -> None:
        """Let this model answer for the collections from now on, and drop what nobody uses any more."""
        wanted = [each for each in self.wanted().values() if each]
        await self._write_served(collections, uri, wanted)
        self._served = await self._read_served()

    async def query_vectors(self, text: str, collections: Sequence[str]) -> QueryVectors:
        """Return the query as the models of these collections see it (all collections when empty).

        Raises NotEmbedded when nothing there has vectors, and ModelNotPulled, ModelCorrupt, ModelRejected or
        InferenceFailed when a model cannot be asked.
        """
        started = time.perf_counter()
        found = await self.texts([text], [], collections)
        return QueryVectors(found.row(0), dict(found.served), (time.perf_counter() - started) * 1000)

    async def texts(self, queries: Sequence[str], passages: Sequence[str], collections: Sequence[str]) -> Vectors:
        """Return queries, and below them passages that could answer, as the models of these collections see them. As
        `query_vectors`."""
        served = {name: uri for name, uri in self.served().items() if not collections or name in collections}
        if not served:
            self._explain_nothing_served(collections)
        uris = dict.fromkeys(served.values())
        return Vectors({uri: await self.embedder(uri).texts(queries, passages) for uri in uris}, served)

    def _explain_nothing_served(self, collections: Sequence[str]) -> None:
        wanted = {name: uri for name, uri in self.wanted().items() if not collections or name in collections}
        for uri in wanted.values():
            if uri and not self.is_installed(uri):
                raise ModelNotPulled(
                    f"there are no vectors yet, because the model {uri} is not on this machine:"
                    " `gnoctl models pull embed` fetches it, `gnoctl models list` shows others",
                    {"uri": uri},
                )
        if not wanted:
            raise NotEmbedded("there are no folders yet: add one with `gnoctl init FOLDER`")
        raise NotEmbedded("there are no vectors yet; `gnoctl embed` follows how they are made")

    async def _read_served(self) -> dict[str, str]:
        return await asyncio.wrap_future(self._database.read(vectors.serving))

    async def _write_served(self, collections: Sequence[str], uri: str, wanted: Sequence[str]) -> None:
        await asyncio.wrap_future(self._database.write(partial(_serve, collections, uri, wanted)))


def _serve(collections: Sequence[str], uri: str, wanted: Sequence[str], connection: Connection) -> None:
    for name in collections:
        vectors.serve(connection, name, uri)
    vectors.drop_unserved(connection, wanted)
