"""The configured models as queries and answers use them: which ones, how fast they are, and why one is missing.

A reason names the command that helps; the pipeline passes it on.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from gnod.answers import evidence, quoting, verdict
from gnod.answers.evidence import EvidenceList
from gnod.answers.nearness import NONSENSE, Floats
from gnod.answers.quoting import Quoted, QuoteDependencies, ScoredUnits
from gnod.config import model_uris
from gnod.configured.egress_gate import EgressPolicy
from gnod.configured.embedding_models import EmbeddingService, ReadabilityService
from gnod.configured.models import ModelFactory, ModelService
from gnod.errors import GnoError
from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.readability import Readability
from gnod.models.run.roles import Generator, Reranker
from gnod.search.expansion.expander import Expander, Writing
from gnod.search.hybrid.budget import Backoff, ThroughputEstimate
from gnod.search.hybrid.embedding import Embed, ahead
from gnod.search.hybrid.sources import Source
from gnod.search.hybrid.stages import HybridResult, SearchDependencies
from gnod.search.meaning.nearest_documents import Nearest
from gnod.store.connection import Connection, Read, in_each
from gnod.store.database import Database
from gnod.store.documents import collections as known
from gnod.types import UnavailableModel

T = TypeVar("T")


class NotCalled(NamedTuple):
    """No model writes an answer. `why`: in words; None if the user does not want an answer."""

    reason: verdict.NotCalled
    why: str | None


class ConfiguredModels:
    """The models of the configuration, for queries (gnod.search.service.QueryModels) and answers."""

    def __init__(
        self,
        database: Database,
        models: ModelService,
        factory: ModelFactory,
        embedding: EmbeddingService,
        nearest: Nearest,
        readability: ReadabilityService,
        egress: EgressPolicy,
    ) -> None:
        self._egress = egress
        # The vectors of meaningless questions, by model.
        self._nonsense: dict[str, Floats] = {}
        self._database = database
        self._models = models
        self._factory = factory
        self._embedding = embedding
        self._nearest = nearest
        self._readability = readability
        # Estimates of the speed of each model.
        self._throughputs: defaultdict[str, ThroughputEstimate] = defaultdict(ThroughputEstimate)
        self._backoffs: defaultdict[str, Backoff] = defaultdict(Backoff)
        self._writings: defaultdict[str, Writing] = defaultdict(Writing)

    def served(self) -> Mapping[str, str]:
        return self._embedding.served()

    def are_wanted(self) -> bool:
        return any(self._embedding.wanted().values()) or bool(self._embedding.served())

    def readability(self, uri: str) -> Readability | None:
        return self._readability.of(uri)

    def ahead(
        self, queries: Sequence[str], passages: Sequence[str], collections: Sequence[str]
    ) -> AbstractAsyncContextManager[Embed]:
        return ahead(partial(self._embedding.texts, collections=collections), queries, passages)

    async def dependencies(
        self, read: Read, embed: Embed, collections: Sequence[str], sources: Sequence[Source]
    ) -> SearchDependencies:
        seen = await self._seen(read, collections)
        reranker = self._model("rerank", Reranker, collections, seen)
        generator = self._model("expand", Generator, collections, seen)
        expander: Expander | UnavailableModel
        if isinstance(generator, UnavailableModel):
            expander, backoff = generator, Backoff()
        else:
            writing = self._writings[generator.uri]
            expander = Expander(generator, self._database.read, self._database.write, writing)
            backoff = self._backoffs[generator.uri]
        return SearchDependencies(
            read=read,
            nearest=self._nearest,
            embed=embed,
            expander=expander,
            reranker=reranker,
            throughput=self._throughputs["" if isinstance(reranker, UnavailableModel) else reranker.uri],
            backoff=backoff,
            readability=self.readability,
            sources=sources,
        )

    async def quote(self, read: Read, question: str, found: HybridResult, collections: Sequence[str]) -> Quoted:
        """Return the sentences that answer the question, from the documents found; `read` as in `search`."""
        return await quoting.quote(await self._quote_dependencies(read, found, collections), question, found)

    async def evidence(
        self, read: Read, question: str, found: HybridResult, collections: Sequence[str], max_tokens: int
    ) -> EvidenceList:
        """Return the fewest passages that support an answer, from the documents found; `read` as in `search`."""
        dependencies = await self._quote_dependencies(read, found, collections)
        return await evidence.gather(dependencies, question, found, max_tokens=max_tokens)

    async def scored(
        self, read: Read, claim: str, found: HybridResult, collections: Sequence[str], units: int, limit_s: float
    ) -> ScoredUnits:
        """Return the sentences that are nearest to a claim, from the documents found; `read` as in `search`."""
        dependencies = await self._quote_dependencies(read, found, collections)
        without = dependencies._replace(reranker=UnavailableModel("it judges answers, not claims"))
        return await quoting.score(without, claim, found, preselected=units, limit_s=limit_s)

    async def nonsense(self, found: HybridResult, collections: Sequence[str]) -> Mapping[str, Floats]:
        """Return the vectors of NONSENSE by each model that embedded the query of a search."""
        vectors = found.vectors.row(0) if found.vectors else {}
        for uri in vectors.keys() - self._nonsense.keys():
            self._nonsense[uri] = await self._embedding.query_embedder(uri, collections).texts(NONSENSE)
        return self._nonsense

    async def _quote_dependencies(
        self, read: Read, found: HybridResult, collections: Sequence[str]
    ) -> QuoteDependencies:
        seen = await self._seen(read, collections)

        async def embed(uri: str, sentences: Sequence[EmbeddingText]) -> Floats:
            return await self._embedding.query_embedder(uri, collections, seen).sentences(sentences)

        reranker = self._model("rerank", Reranker, collections, seen)
        throughput = self._throughputs["" if isinstance(reranker, UnavailableModel) else reranker.uri]
        nonsense = await self.nonsense(found, collections)
        return QuoteDependencies(read, embed, nonsense, reranker, throughput)

    async def generator(
        self, read: Read, collections: Sequence[str], wanted: bool | None = None
    ) -> Generator | NotCalled:
        """Return the model that writes answers, or why none is called: it may be too small, or may not be allowed to
        have these texts. `read` as in `search`. `wanted`: any that is configured, or none; None: a capable one. Raises
        ModelNotConfigured, ModelNotPulled, ModelCorrupt, EgressForbidden and EndpointFailed, if one is wanted and
        cannot be had."""
        if wanted is False:
            return NotCalled("not_wanted", None)
        try:
            uri = self._models.required("answer", _only(collections))
            seen = await self._seen(read, collections)
            purpose = self._egress.of_collections("answer", collections, seen=seen)
            await self._factory.check(uri, purpose)
            generator = self._factory.make(Generator, uri, purpose)
            size = None if wanted else await asyncio.to_thread(generator.parameters)
        except GnoError as error:
            if wanted:
                raise
            return NotCalled("no_model", error.message)
        if size is None or verdict.is_capable(size):
            return generator
        return NotCalled("model_too_small", verdict.too_small(model_uris.short_name(model_uris.parse(uri)), size))

    async def _seen(self, read: Read, collections: Sequence[str]) -> list[str]:
        """Return the collections in a snapshot, some of which may be gone from the config; empty if some are named, or
        if no server runs a model."""
        asks_servers = any(model_uris.endpoint_of(use.uri) for use in self._models.uses())
        return await read(_collections) if asks_servers and not collections else []

    def _model(
        self, role: Literal["rerank", "expand"], kind: Callable[..., T], collections: Sequence[str], seen: Sequence[str]
    ) -> T | UnavailableModel:
        uri = self._models.usable(role, _only(collections))
        if isinstance(uri, UnavailableModel):
            return uri
        return self._factory.make(kind, uri, self._egress.of_collections(role, collections, seen=seen))


@in_each
def _collections(connection: Connection) -> list[str]:
    return [each.name for each in known.all_collections(connection)]


def _only(collections: Sequence[str]) -> str | None:
    """Return the one collection that is searched, whose own models take precedence."""
    return collections[0] if len(collections) == 1 else None
