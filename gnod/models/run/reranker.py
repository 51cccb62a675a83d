"""One reranking model of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gnod.models.run.installed import InstalledModel
from gnod.models.run.messages import DocumentScored, Measure, Rank, ResultChunk, RoomMeasured

# This is true of most scripts.
_CHARACTERS_PER_TOKEN = 3


class Speed(NamedTuple):
    """`window_characters`: of query and document together, a cautious estimate; the engine cuts what is longer at its
    end."""

    window_characters: int
    characters_per_s: float


class RerankScores(NamedTuple):
    """`values`: in [0, 1], of the first documents; of all, unless the time was up. `tokens`: read for them. `took_s`:
    without the loading."""

    values: list[float]
    tokens: int
    took_s: float


class Reranker(InstalledModel):
    pull_command = "gnoctl models pull rerank"

    async def measure(self, *, limit_s: float) -> Speed | None:
        """Return how much the model reads, and how fast on this machine. None: it did not load within the limit; it is
        loaded to the end. Raises what `score` raises."""
        found: list[RoomMeasured] = []

        def on_chunk(chunk: ResultChunk) -> None:
            assert isinstance(chunk, RoomMeasured)
            found.append(chunk)

        with suppress(TimeoutError):
            async with asyncio.timeout(max(limit_s, 0.0)):
                await self._inference.run(Measure(model=self.spec()), on_chunk)
        if not found:
            return None
        return Speed(found[0].room * _CHARACTERS_PER_TOKEN, found[0].characters_per_s)

    async def score(self, query: str, documents: Sequence[str], *, limit_s: float | None = None) -> RerankScores:
        """Score documents one after the other; at the limit, return the scores so far.

        The limit counts from the call. A model that is still loading then is loaded to the end, for the next call.
        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        scored: list[DocumentScored] = []

        def on_chunk(chunk: ResultChunk) -> None:
            assert isinstance(chunk, DocumentScored)
            scored.append(chunk)

        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._inference.run(Rank(model=self.spec(), query=query, documents=list(documents)), on_chunk)
        last = scored[-1] if scored else None
        return RerankScores([each.score for each in scored], last.tokens if last else 0, last.took_s if last else 0.0)
