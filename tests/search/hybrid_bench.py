"""Run hybrid queries with a test's models on an index of a few notes."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.files import ModelFiles
from gnod.models.run.inference import Inference
from gnod.models.run.roles import Embedder, Generator, Message, Reranker
from gnod.search.expansion.expander import Expander
from gnod.search.hybrid import stages as hybrid
from gnod.search.hybrid.budget import Backoff, Embed, Stage, ThroughputEstimate
from gnod.search.hybrid.stages import HybridResult, HybridSettings, SearchDependencies
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import parse_query
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece
from gnod.types import UnavailableModel
from tests.small_index import SmallIndex

T = TypeVar("T")

NOTES = {
    "cat.md": "# Cats\n\nThe kitten sleeps on the sofa all day.\n",
    "tiger.md": "# Tigers\n\nThe big cat rests in the shade of a tree.\n",
    "deploy.md": "# Deployment\n\nPush the release to production with a blue-green rollout.\n",
    "bread.md": "# Bread\n\nKnead flour, water and yeast; bake the loaf for an hour.\n",
    "valve.md": "# Boiler\n\nThe zirconium flange of the torque valve is E4711.\n",
    "printer.md": "# Printer\n\nCode E4712 means that there is no paper.\n",
    **{f"boat{n}.md": f"# Boat {n}\n\nBoat number {n} leaves the harbour before the tide.\n" for n in range(25)},
}
ENOUGH_S = 90.0


async def embed_all(index: SmallIndex, model: Path) -> None:
    inference = Inference(idle_unload_s=60)
    try:
        embedder = made(Embedder, model, inference)
        pending = index.database.submit_read(lambda c: vectors.pending(c, embedder.uri, ["notes"], 1000)).result()
        found = await embedder.documents([EmbeddingText(c.title, c.heading, c.text) for c in pending])
        rows = {c.embed_hash: [StoredPiece(*p) for p in pieces] for c, pieces in zip(pending, found, strict=True)}
        index.database.submit_write(lambda c: vectors.put(c, embedder.uri, rows)).result()
    finally:
        await inference.close()


def made(kind: Callable[..., T], model: Path, inference: Inference) -> T:
    return kind(f"file:{model}", files=ModelFiles(model.parent), inference=inference, gpu=False, threads=2)


class Bench:
    """Runs hybrid queries with the models of a test."""

    def __init__(self, index: SmallIndex, inference: Inference, models: dict[str, Path | str]) -> None:
        self.index = index
        self.inference = inference
        self._generator = _or_why(Generator, models.get("expand", "no model that expands"), inference)
        self.tools = SearchDependencies(
            read=index.database.read,
            nearest=Nearest(),
            embed=self._embed_with(models.get("embed", "no embedding model")),
            expander=self._expander(),
            reranker=_or_why(Reranker, models.get("rerank", "no reranker"), inference),
            throughput=ThroughputEstimate(),
            backoff=Backoff(),
        )

    async def search(self, query: str, filters: Filters | None = None, **options: Any) -> HybridResult:
        wanted = HybridSettings(**{"budget_s": ENOUGH_S, "limit": 40, **options})
        return await hybrid.search(self.tools, parse_query(query), filters or Filters(), wanted)

    async def load(self, query: str = "boat") -> None:
        """Use all models once, so that no test measures their load time. A whole expansion takes ten seconds."""
        await self.search(query, expand=False)
        if isinstance(self._generator, Generator):
            await self._generator.generate([Message("user", query)], max_tokens=1)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the worker process, as if it hung."""
        pid = self.inference.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def _embed_with(self, model: Path | str) -> Embed | UnavailableModel:
        if isinstance(model, str):
            return UnavailableModel(model)
        embedder = made(Embedder, model, self.inference)

        async def embed(queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
            return QueryVectors({embedder.uri: await embedder.texts(queries, passages)}, {"notes": embedder.uri})

        return embed

    def _expander(self) -> Expander | UnavailableModel:
        if isinstance(self._generator, UnavailableModel):
            return self._generator
        return Expander(self._generator, self.index.database.read, self.index.database.write)


def _or_why(kind: Callable[..., T], model: Path | str, inference: Inference) -> T | UnavailableModel:
    return UnavailableModel(model) if isinstance(model, str) else made(kind, model, inference)


@asynccontextmanager
async def bench(index: SmallIndex, **models: Path | str) -> AsyncIterator[Bench]:
    inference = Inference(idle_unload_s=60)
    try:
        yield Bench(index, inference, models)
    finally:
        await inference.close()


def paths(index: SmallIndex, found: HybridResult) -> list[str]:
    ids = [each.id for each in found.ranked]
    by_id = index.database.submit_read(lambda c: documents.by_ids(c, ids)).result()
    return [by_id[id_].path for id_ in ids]


def stages(found: HybridResult) -> dict[str, Stage]:
    assert len({each.name for each in found.stages}) == len(found.stages)
    return {each.name: each for each in found.stages}


def fused_order(found: HybridResult) -> bool:
    """Return whether the documents are in the order of the fusion."""
    ranks = [each.components["fused_rank"] for each in found.ranked]
    return ranks == sorted(ranks)
