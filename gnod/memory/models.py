"""The models that the memories use: which ones, and why one is missing. Must not depend on the database or keys."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from gnod.configured.models import ModelFactory, ModelService
from gnod.egress import Purpose
from gnod.errors import GnoError
from gnod.memory.records import Vector
from gnod.memory.transactions import EmbeddedTexts
from gnod.models.run.roles import Embedder, Reranker
from gnod.search.hybrid.budget import ThroughputEstimate
from gnod.types import UnavailableModel

_log = logging.getLogger(__name__)


class MemoryModels:
    def __init__(self, models: ModelService, factory: ModelFactory) -> None:
        self._models = models
        self._factory = factory
        self._throughput: dict[str, ThroughputEstimate] = {}

    def embedding_model(self) -> str | None:
        """Return the address of the model that the configuration asks for."""
        return self._models.uri_for("embed")

    async def embed_texts(self, uri: str, texts: Sequence[str], /, *, waits: bool) -> EmbeddedTexts | None:
        """Return the vectors of texts; None: the model is missing or fails. `waits`: whether a request waits for it."""
        try:
            if not self._models.is_ready(uri):
                return None
            return EmbeddedTexts(uri, await self._embedder(uri).passages(texts, waits=waits))
        except GnoError as error:
            _log.warning("memory.not_embedded", extra={"fields": {"kind": error.kind}})
            return None

    async def embed_query(self, uri: str | None, query: str) -> Vector | UnavailableModel:
        """Return the vector of a query, or why there is none."""
        if uri is None:
            return UnavailableModel("no embedding model is configured: set `models.embed` in index.yml")
        try:
            self._models.require_ready(uri)
            return await self._embedder(uri).query(query)
        except GnoError as error:
            return UnavailableModel(error.message)

    def reranker(self) -> Reranker | UnavailableModel:
        """Return the reranker, or why there is none."""
        uri = self._models.usable("rerank")
        if isinstance(uri, UnavailableModel):
            return uri
        return self._factory.make(Reranker, uri, Purpose("rerank", "memories"))

    def throughput(self, reranker: Reranker | UnavailableModel) -> ThroughputEstimate:
        """Return the estimate for a reranker, which `learn` improves."""
        return self._throughput.setdefault(
            "" if isinstance(reranker, UnavailableModel) else reranker.uri, ThroughputEstimate()
        )

    def _embedder(self, uri: str) -> Embedder:
        return self._factory.make(Embedder, uri, Purpose("embed", "memories"))
