"""Embed a query before it is known whether its words are corrected: that takes longer than correcting them. Must not
depend on models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from gnod.search.hybrid.stages import EmbedQueries
from gnod.search.meaning.vector_search import QueryVectors


@asynccontextmanager
async def ahead(embed: EmbedQueries, queries: Sequence[str], passages: Sequence[str]) -> AsyncIterator[EmbedQueries]:
    """Begin to embed texts that will probably be asked for. Yields what returns their vectors, or those of other texts
    if it is asked for these, and raises what `embed` raises."""
    if not queries and not passages:
        yield embed
        return
    begun = asyncio.ensure_future(embed(queries, passages))
    # Retrieve the exception, because the caller may never ask for the vectors.
    begun.add_done_callback(lambda task: task.cancelled() or task.exception())
    expected = [*queries], [*passages]
    await asyncio.sleep(0)  # send them before the other work begins

    async def embedded(queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        if begun.cancelled() or ([*queries], [*passages]) != expected:
            return await embed(queries, passages)
        return await begun

    try:
        yield embedded
    finally:
        begun.cancel()
