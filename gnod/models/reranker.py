"""One reranking model, ready to be asked: knows its file and the worker that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gnod.models.files import ModelFiles
from gnod.models.inference import Inference
from gnod.models.installed import InstalledModel
from gnod.models.messages import ModelSpec, Piece, Rank, Scored

# The engine's window is 2,048 tokens at most, some of them its own; most scripts have three characters a token.
_WINDOW_CHARACTERS = 5_400


class Scores(NamedTuple):
    """`values`: in [0, 1], of the first documents that were asked for: of all, unless the time was up. `tokens`: read
    for them. `took_s`: computing only, without the loading."""

    values: list[float]
    tokens: int
    took_s: float


class Reranker:
    """`threads`: of the processor, for one step of the model."""

    def __init__(self, uri: str, *, files: ModelFiles, inference: Inference, gpu: bool, threads: int) -> None:
        self.uri = uri
        # Characters of query and document together; a cautious estimate. The engine cuts what is too long at its end.
        self.window_characters = _WINDOW_CHARACTERS
        self._installed = InstalledModel(uri, files=files, pull="gnoctl models pull rerank", gpu=gpu, threads=threads)
        self._inference = inference

    def spec(self) -> ModelSpec:
        """Return how the model is loaded. Raises ModelNotPulled."""
        return self._installed.spec()

    async def score(self, query: str, documents: Sequence[str], *, limit_s: float | None = None) -> Scores:
        """Score documents in their order, one after the other; at the limit, return what is scored.

        The limit counts from the call. A model whose loading takes longer is loaded to the end, for the next call.
        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        scored: list[Scored] = []

        def hear(piece: Piece) -> None:
            assert isinstance(piece, Scored)
            scored.append(piece)

        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._inference.ask(Rank(model=self.spec(), query=query, documents=list(documents)), hear)
        last = scored[-1] if scored else None
        return Scores([each.score for each in scored], last.tokens if last else 0, last.took_s if last else 0.0)
