"""The search service over the index of a measurement, so that `gnoctl bench` measures the search that users get."""

# The interfaces of the service have arguments that a measurement does not need.
# ruff: noqa: ARG002

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from gnod.configured.configuration import Configuration
from gnod.errors import InferenceFailed, NotEmbedded
from gnod.evaluate.index import COLLECTION, Index
from gnod.evaluate.measures import DEPTH
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.modes import KEYWORD, VECTOR
from gnod.freshness.read_your_writes import FreshnessReport, KnownFreshness
from gnod.models.readability import Readability
from gnod.search.correction.correction_service import Corrector
from gnod.search.expansion.expander import Expander
from gnod.search.hybrid.across_indexes import NoSources, Source
from gnod.search.hybrid.budget import Backoff, Embed, Stage, ThroughputEstimate, ahead
from gnod.search.hybrid.stages import HybridSettings, SearchDependencies
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.results import Results, SearchRequest
from gnod.search.service import SearchService
from gnod.store.connection import Connection, Read
from gnod.store.database import Database
from gnod.store.readers.readers import Readers
from gnod.types import UnavailableModel

# The time limit of a stage: a measurement of quality must not cut stages short.
UNBOUNDED_S = 3600.0
_NO_MODEL = UnavailableModel("no model was given")

Ranking = list[tuple[str, float]]
"""(document id, score), best first, larger is better."""


class QueryResult(NamedTuple):
    """`cut`: stages that were skipped or cut short although their model is available."""

    ranking: Ranking
    cut: Sequence[Stage] = ()


Retriever = Callable[[str], QueryResult]
"""Called with a query. Raises QuerySyntaxError."""


def retriever(index: Index, mode: str) -> Retriever:
    """Return the search of a mode of `gnod.evaluate.modes`."""
    models = None if mode == KEYWORD else index.models
    searches = search_service(index, MeasuredModels(index.database, models))
    given = {"expand": models and models.generator, "rerank": models and models.reranker}
    absent = [role for role, model in given.items() if not model]

    async def search(request: SearchRequest) -> Results:
        if mode == KEYWORD:
            found = await searches.lexical(request, lambda results: results)
            assert isinstance(found, Results), "no other process searches"
            return found
        if mode == VECTOR:
            return await searches.vector(request)
        return await searches.hybrid(request, HybridSettings(limit=DEPTH, budget_s=UNBOUNDED_S))

    def retrieve(query: str) -> QueryResult:
        found = index.loop.run(search(SearchRequest(query, limit=DEPTH, passages=0)))
        ranking = [(index.ids[hit.ranked.id], hit.ranked.score) for hit in found.hits]
        return QueryResult(ranking, [stage for stage in found.stages if stage.why and stage.name not in absent])

    return retrieve


def expand_all(index: Index, queries: Iterable[str], progress: Callable[[int], None]) -> None:
    """Expand every query without a time limit. The index caches the expansions."""
    expander = MeasuredModels(index.database, index.models).expander()
    if expander is None:
        return
    for done, query in enumerate(queries, 1):
        with contextlib.suppress(InferenceFailed):  # the search reports it for this query
            index.loop.run(expander.expand(query, limit_s=UNBOUNDED_S))
        progress(done)


def search_service(index: Index, models: MeasuredModels) -> SearchService:
    """Return the service. Its coroutines must run in the loop of the index."""
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
        self, queries: Sequence[str], passages: Sequence[str], collections: Sequence[str]
    ) -> AbstractAsyncContextManager[Embed]:
        return ahead(self._embed, queries, passages)

    async def dependencies(
        self, read: Read, embed: Embed, collections: Sequence[str], sources: Sequence[Source]
    ) -> SearchDependencies:
        return self.search_dependencies()._replace(
            read=read, embed=embed if self._models else _NO_MODEL, sources=sources
        )

    def search_dependencies(self) -> SearchDependencies:
        """Return the dependencies of a query over the collection."""
        return SearchDependencies(
            read=self._database.read,
            nearest=self.nearest,
            embed=self._embed if self._models else _NO_MODEL,
            expander=self.expander() or _NO_MODEL,
            reranker=(self._models and self._models.reranker) or _NO_MODEL,
            throughput=self._throughput,
            backoff=self._backoff,
            readability=self.readability,
            sources=(),
        )

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

    def report(self, connection: Connection, collections: list[str], *, embedded: bool = False) -> FreshnessReport:
        return FreshnessReport(0, 0, [], [], 0)
