"""The vectors of a query, begun before it is known whether its words are corrected: embedding takes longer than that.

Must not depend on models.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from gnod.models.readability import Readability, is_read_by_every_model, script_of
from gnod.search.hybrid.budget import StageSkipped, TimeBudget
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.query.parsing import QueryLine
from gnod.types import UnavailableModel


class Embed(Protocol):
    """Returns the vectors of queries, and below them those of passages, by each model that answers for a collection of
    the filters. Raises GnoError."""

    def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> Awaitable[QueryVectors]: ...


@asynccontextmanager
async def ahead(embed: Embed, queries: Sequence[str], passages: Sequence[str]) -> AsyncIterator[Embed]:
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


def vector_lines(lines: Sequence[QueryLine]) -> list[QueryLine]:
    """Return the lines that have a vector, in the order of the vectors: questions, then passages."""
    return sorted((line for line in lines if not line.is_lexical), key=lambda line: line.subquery.kind == "hyde")


def embedded_texts(lines: Sequence[QueryLine]) -> tuple[list[str], list[str]]:
    """Return the queries and the passages among the lines that have a vector."""
    queries = [line.subquery.text for line in lines if line.subquery.kind == "vec"]
    return queries, [line.subquery.text for line in lines if line.subquery.kind == "hyde"]


async def embed_lines(
    embed: Embed | UnavailableModel,
    lines: Sequence[QueryLine],
    readability: Callable[[str], Readability | None],
    budget: TimeBudget,
    stage: str,
) -> QueryVectors | None:
    """Return the vectors of the lines that have one; None, which the budget notes, if there are none."""
    queries, passages = embedded_texts(lines)
    if not queries and not passages:
        return None
    started = time.monotonic()
    try:
        if isinstance(embed, UnavailableModel):
            raise StageSkipped(embed.reason)
        found = await budget.within("the embedding model", embed(queries, passages))
        vectors = await _readable(found, "\n".join((*queries, *passages)), readability)
    except StageSkipped as skipped:
        budget.note(stage, started, {}, why=str(skipped), ran=False)
        return None
    details: dict[str, object] = {"models": sorted(vectors.rows), "texts": len(queries) + len(passages)}
    budget.note(stage, started, details, why="; ".join(vectors.left_out) or None)
    return vectors


async def _readable(vectors: QueryVectors, text: str, readability: Callable[[str], Readability | None]) -> QueryVectors:
    """Leave out the models that cannot read the script of the query. Raises Skipped when none is left."""
    script = script_of(text)
    if is_read_by_every_model(None, script):
        return vectors
    # Run it in a thread: it may read a file, or measure the model.
    known = {uri: await asyncio.to_thread(readability, uri) for uri in vectors.rows}
    unread = [uri for uri, reads in known.items() if reads and not reads.can_read(text)]
    kept = vectors.without(unread)
    if not kept.rows:
        named = f"the model {', '.join(unread)} cannot read this script ({str(script).lower()})"
        raise StageSkipped(f"{named}: `gnoctl models list` shows what other models read")
    return kept
