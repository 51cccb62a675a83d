"""The search service over the index of a measurement: what `gnoctl bench` measures is what users get."""

# Interfaces of the service have arguments that a measurement does not need.
# ruff: noqa: ARG002

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from gnod.configured.configuration import Configuration
from gnod.errors import NotEmbedded
from gnod.evaluate.index import COLLECTION, Index
from gnod.evaluate.models import EvaluationModels
from gnod.freshness.read_your_writes import FreshnessReport, KnownFreshness
from gnod.models.readability import Readability
from gnod.search.correction.correction_service import Corrector
from gnod.search.expansion.expander import Expander
from gnod.search.hybrid.across_indexes import NoSources, Source
from gnod.search.hybrid.budget import Backoff, Embed, ThroughputEstimate, ahead
from gnod.search.hybrid.stages import SearchDependencies
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.service import SearchService
from gnod.store.connection import Connection, Read
from gnod.store.database import Database
from gnod.store.readers.readers import Readers
from gnod.types import UnavailableModel

_NO_MODEL = UnavailableModel("no model was given")


def search_service(index: Index, models: MeasuredModels) -> SearchService:
    """Return the service. Its coroutines must run in the loop of the models."""
    folder = index.database.path.parent
    configuration = Configuration(folder / "index.yml", index.database)
    corrector, readers = Corrector(index.database.submit_read), Readers(index.database, 0, __name__)
    given = (configuration, index.database, _Complete(), models, models.nearest, corrector, readers, NoSources())
    return SearchService(*given)


class MeasuredModels:
    """The models of a measurement (gnod.search.service.QueryModels)."""

    def __init__(self, database: Database, models: EvaluationModels | None) -> None:
        self.nearest = Nearest()
        self._database = database
        self._models = models
        self._throughput, self._backoff = ThroughputEstimate(), Backoff()

    def served(self) -> Mapping[str, str]:
        return {COLLECTION: self._models.uri} if self._models else {}

    def are_wanted(self) -> bool:
        return self._models is not None

    def readability(self, uri: str) -> Readability | None:
        return self._models.readability(uri) if self._models else None

    def ahead(
        self,
        queries: Sequence[str],
        passages: Sequence[str],
        collections: Sequence[str],
    ) -> AbstractAsyncContextManager[Embed]:
        return ahead(self._embed, queries, passages)

    async def dependencies(
        self, read: Read, embed: Embed, collections: Sequence[str], sources: Sequence[Source]
    ) -> SearchDependencies:
        return self._dependencies(read, embed, sources)

    def _dependencies(self, read: Read, embed: Embed, sources: Sequence[Source] = ()) -> SearchDependencies:
        return SearchDependencies(
            read=read,
            nearest=self.nearest,
            embed=embed if self._models else _NO_MODEL,
            expander=self.expander() or _NO_MODEL,
            reranker=(self._models and self._models.reranker) or _NO_MODEL,
            throughput=self._throughput,
            backoff=self._backoff,
            readability=self.readability,
            sources=sources,
        )

    def search_dependencies(self) -> SearchDependencies:
        """Return what a query over the one collection runs with."""
        return self._dependencies(self._database.read, self._embed)

    def expander(self) -> Expander | None:
        if not (self._models and self._models.generator):
            return None
        return Expander(self._models.generator, self._database.read, self._database.write)

    async def _embed(self, queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        if self._models is None:
            raise NotEmbedded("no model was given")
        rows = await self._models.embedder.texts(queries, passages)
        return QueryVectors({self._models.uri: rows}, {COLLECTION: self._models.uri})


class _Complete:
    """The freshness of an index that does not change (gnod.search.service.Freshness)."""

    async def refresh(self, collections: list[str], *, embedded: bool = False) -> None: ...

    def known(self, collections: list[str]) -> KnownFreshness:
        return KnownFreshness([], 0, [], [])

    def report(
        self,
        connection: Connection,
        collections: list[str],
        *,
        embedded: bool = False,
    ) -> FreshnessReport:
        return FreshnessReport(0, 0, [], [], 0)
