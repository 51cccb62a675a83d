"""Provide the configured models to queries and answers: which models, how fast they are, and why one is missing.

The reason for a missing model names the command that helps; the pipeline passes it on.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Literal, NamedTuple, TypeVar

from gnod.answers.nearness import NONSENSE, Floats
from gnod.answers.quoting import QuoteDependencies
from gnod.config import model_uris
from gnod.configured.egress_gate import EgressPolicy
from gnod.configured.embedding_models import EmbeddingService, ReadabilityService
from gnod.configured.models import ModelFactory, ModelService
from gnod.errors import GnoError
from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.readability import Readability
from gnod.models.run.roles import Generator, Reranker
from gnod.search.expansion.expander import Expander, Writing
from gnod.search.hybrid.across_indexes import Source
from gnod.search.hybrid.budget import Backoff, Embed, ThroughputEstimate, ahead
from gnod.search.hybrid.stages import HybridResult, SearchDependencies
from gnod.search.meaning.vector_search import Nearest
from gnod.store.connection import Connection, Read, in_each
from gnod.store.database import Database
from gnod.store.documents import collections as known
from gnod.types import UnavailableModel

T = TypeVar("T")


# The smallest model that is called by default, in parameters. Measured models of 0.13 and 0.27 billion are far worse
# than the first quote. Larger ones were not available, so this value is an assumption
# (docs/adr/0032-generated-answers.md; `benchmarks/generated.py` revises it).
MIN_PARAMETERS = 1_000_000_000


class NotCalled(NamedTuple):
    """No model writes an answer. `why`: the reason in words; None if the user does not want an answer."""

    reason: Literal["no_model", "model_too_small", "not_wanted"]
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
        # The vectors of meaningless questions by model address.
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

    async def quote_dependencies(
        self, read: Read, found: HybridResult, collections: Sequence[str]
    ) -> QuoteDependencies:
        """Return the dependencies that read the documents of a search. `read`: as in that search."""
        seen = await self._seen(read, collections)

        async def embed(uri: str, sentences: Sequence[EmbeddingText]) -> Floats:
            return await self._embedding.query_embedder(uri, collections, seen).sentences(sentences)

        for uri in (found.vectors.row(0) if found.vectors else {}).keys() - self._nonsense.keys():
            self._nonsense[uri] = await self._embedding.query_embedder(uri, collections).texts(NONSENSE)
        reranker = self._model("rerank", Reranker, collections, seen)
        throughput = self._throughputs["" if isinstance(reranker, UnavailableModel) else reranker.uri]
        return QuoteDependencies(read, embed, self._nonsense, reranker, throughput)

    async def generator(
        self, read: Read, collections: Sequence[str], wanted: bool | None = None
    ) -> Generator | NotCalled:
        """Return the model that writes answers, or why none is called: it may be too small, or may not be allowed to
        get these texts. `read`: as in `search`. `wanted`: True accepts any configured model, False none, None only a
        capable one. With True, raises ModelNotConfigured, ModelNotPulled, ModelCorrupt, EgressForbidden and
        EndpointFailed."""
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
        if size is None or is_capable(size):
            return generator
        return NotCalled("model_too_small", _too_small(model_uris.short_name(model_uris.parse(uri)), size))

    async def _seen(self, read: Read, collections: Sequence[str]) -> list[str]:
        """Return the collections of the snapshot, which may include ones that are no longer in the config; empty if
        `collections` names some, or if no server runs a model."""
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


def is_capable(parameters: int | None) -> bool:
    """Return whether a model is called by default. None: a server runs it, and the user chose that server.

    The size is rounded, because the names of models are: a "1B" model may have 999,885,952 parameters.
    """
    return parameters is None or round(parameters / 1e9, 2) * 1e9 >= MIN_PARAMETERS


def _too_small(name: str, parameters: int) -> str:
    """Return why a model is not called, and what to do.

    >>> _too_small("gemma3-270m", 268_098_176)[:76]
    'gemma3-270m has 0.27 billion parameters; only models with at least 1 billion'
    """
    return (
        f"{name} has {parameters / 1e9:.2f} billion parameters; only models with at least "
        f"{MIN_PARAMETERS / 1e9:g} billion write answers: use --generate to call it anyway"
    )
