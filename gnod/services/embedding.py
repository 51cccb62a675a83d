"""Which embedding model serves which collection, and the vectors of queries.

While a new wanted model embeds a collection, the serving model before it still answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gnod.errors import ModelNotPulled, NotEmbedded
from gnod.models.embedder import Embedder
from gnod.pipeline.vector import QueryVectors
from gnod.services.configuration import Configuration
from gnod.services.models import ModelFactory, ModelService
from gnod.store.database import Connection, Database
from gnod.store.vectors import vectors


class EmbeddingService:
    """Call `load` first."""

    def __init__(
        self, configuration: Configuration, database: Database, models: ModelService, factory: ModelFactory
    ) -> None:
        self._configuration = configuration
        self._database = database
        self._models = models
        self._factory = factory
        self._served: dict[str, str] = {}

    async def load(self) -> None:
        """Read the serving models from the database."""
        self._served = await self._database.read(vectors.serving)

    def wanted(self) -> dict[str, str | None]:
        """Return the wanted model of each collection."""
        names = [collection.name for collection in self._configuration.current.collections]
        return {name: self._models.uri_for("embed", name) for name in names}

    def served(self) -> dict[str, str]:
        """Return the serving model of each collection that has one."""
        wanted = self.wanted()
        return {name: uri for name, uri in self._served.items() if name in wanted}

    def is_installed(self, uri: str) -> bool:
        return self._models.find(uri) is not None

    def embedder(self, uri: str) -> Embedder:
        return self._factory.make(Embedder, uri)

    async def serve(self, collections: Sequence[str], uri: str) -> None:
        """Make this the serving model of the collections, and delete unused models."""
        wanted = [uri for uri in self.wanted().values() if uri]
        await self._database.write(partial(_serve, collections, uri, wanted))
        self._served = await self._database.read(vectors.serving)

    async def texts(self, queries: Sequence[str], passages: Sequence[str], collections: Sequence[str]) -> QueryVectors:
        """Embed queries, and below them passages that could answer, with the models that serve these collections (all
        when empty).

        Raises NotEmbedded when nothing there has vectors, and ModelNotPulled, ModelCorrupt, ModelRejected or
        InferenceFailed when a model cannot be used.
        """
        served = {name: uri for name, uri in self.served().items() if not collections or name in collections}
        if not served:
            self._explain_nothing_served(collections)
        uris = dict.fromkeys(served.values())
        return QueryVectors({uri: await self.embedder(uri).texts(queries, passages) for uri in uris}, served)

    def _explain_nothing_served(self, collections: Sequence[str]) -> None:
        wanted = {name: uri for name, uri in self.wanted().items() if not collections or name in collections}
        for uri in wanted.values():
            if uri and not self.is_installed(uri):
                raise ModelNotPulled(
                    f"there are no vectors yet, because the model {uri} is not on this machine:"
                    " run `gnoctl models pull embed`, or see `gnoctl models list` for others",
                    {"uri": uri},
                )
        if not wanted:
            raise NotEmbedded("there are no folders yet: run `gnoctl init FOLDER`")
        raise NotEmbedded("there are no vectors yet: `gnoctl embed` shows the progress")


def _serve(collections: Sequence[str], uri: str, wanted: Sequence[str], connection: Connection) -> None:
    for name in collections:
        vectors.serve(connection, name, uri)
    vectors.drop_unserved(connection, wanted)
