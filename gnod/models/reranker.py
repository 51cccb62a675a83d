"""One reranking model of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gnod.models.installed import InstalledModel
from gnod.models.messages import Rank, ResultChunk, Scored

# The engine's window is 2,048 tokens at most, some of them its own; most scripts have three characters a token.
_WINDOW_CHARACTERS = 5_400


class Scores(NamedTuple):
    """`values`: in [0, 1], of the first documents; of all, unless the time was up. `tokens`: read for them. `took_s`:
    without the loading."""

    values: list[float]
    tokens: int
    took_s: float


class Reranker(InstalledModel):
    pull_command = "gnoctl models pull rerank"
    # Characters of query and document together; a cautious estimate. The engine cuts what is longer at its end.
    window_characters = _WINDOW_CHARACTERS

    async def score(self, query: str, documents: Sequence[str], *, limit_s: float | None = None) -> Scores:
        """Score documents one after the other; at the limit, return the scores so far.

        The limit counts from the call. A model that is still loading then is loaded to the end, for the next call.
        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        scored: list[Scored] = []

        def on_chunk(chunk: ResultChunk) -> None:
            assert isinstance(chunk, Scored)
            scored.append(chunk)

        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._inference.run(Rank(model=self.spec(), query=query, documents=list(documents)), on_chunk)
        last = scored[-1] if scored else None
        return Scores([each.score for each in scored], last.tokens if last else 0, last.took_s if last else 0.0)
