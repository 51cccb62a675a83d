"""The work of models in a query: its time budget, the result of each stage, the speed of models on this machine, and
the vectors of the query.

Embedding starts before the correction of the query, because it takes longer. Must not depend on models.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol, TypeVar

from gnod.errors import EgressForbidden, EndpointChanged, EndpointFailed, GnoError, RequestCancelled, ShuttingDown
from gnod.models.readability import Readability, is_read_by_every_model, script_of
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.query.parsing import QueryLine
from gnod.types import UnavailableModel

T = TypeVar("T")
ReadabilityOf = Callable[[str], Readability | None]
"""Returns what the model with this address can read; None: not measured. Called in a thread."""

# The time for the other stages and the reply.
MARGIN_S = 0.05

# Do not read less of a document than this, and do not reorder fewer documents: the result would be no better.
MIN_CHARACTERS = 400
MIN_DOCUMENTS = 3
# Plan to use this share of the time. The rest is a reserve.
_PLANNED = 0.8
_LEARNING_RATE = 0.3
_RECOVERY = 1.1
# A query and a model's template add about this much to each document.
FRAME_CHARACTERS = 200

_MAX_SKIPPED = 64
_PLAINLY_MORE = 1.5


class Stage(NamedTuple):
    """`why`: the reason why it did not run, or did not finish."""

    name: str
    ran: bool
    ms: float
    why: str | None
    details: dict[str, object]


def stage(name: str, started: float, details: Mapping[str, object]) -> Stage:
    """Return a stage that ran from `started`, a value of `time.perf_counter`, until now."""
    return Stage(name, True, milliseconds_since(started), None, dict(details))


def milliseconds_since(started: float) -> float:
    """Return the time since `started`, a value of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 3)


class StageSkipped(Exception):
    """A stage is left out. The message is the reason."""


class TimeBudget:
    """`stages`: in the order of their ends. `left_out`: why model servers were not used, or failed."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.stages: list[Stage] = []
        self.left_out: list[str] = []
        self._deadline = time.monotonic() + limit_s

    def left_s(self) -> float:
        return self._deadline - time.monotonic() - MARGIN_S

    def note(
        self, name: str, started: float, details: dict[str, object], *, why: str | None = None, ran: bool = True
    ) -> None:
        """Record the result of a stage that started at `started`, a value of `time.perf_counter`."""
        self.stages.append(Stage(name, ran, milliseconds_since(started), why, details))

    async def within(self, model: str, work: Awaitable[T], limit_s: float | None = None) -> T:
        """Wait for a model up to `limit_s`; None: for the rest of the budget. Raises StageSkipped with the reason."""
        try:
            async with asyncio.timeout(max(self.left_s(), 0.0) if limit_s is None else limit_s):
                return await work
        except TimeoutError:
            raise StageSkipped(f"{model} did not answer within the time budget; it may still be loading") from None
        except (ShuttingDown, RequestCancelled):
            raise
        except GnoError as error:
            if isinstance(error, EgressForbidden | EndpointFailed | EndpointChanged):
                self.left_out.append(error.message)
            raise StageSkipped(error.message) from None


class RerankPlan(NamedTuple):
    """The number of documents to read, and the maximum number of characters of each."""

    documents: int
    characters: int


class ThroughputEstimate:
    """The characters per second that a reranker reads on this machine: measured when it is loaded, and then updated
    from its work. `window_characters`: the maximum for query and document together."""

    def __init__(self) -> None:
        self.is_known = False
        self.characters_per_s = 0.0
        self.window_characters = 0

    def begin(self, characters_per_s: float, window_characters: int) -> None:
        """Set the measured values."""
        self.is_known = True
        self.characters_per_s = characters_per_s
        self.window_characters = window_characters

    def learn(self, characters: int, took_s: float) -> None:
        """Update the estimate. `characters`: 0 if nothing was read in that time."""
        if took_s > 0:
            self.characters_per_s += _LEARNING_RATE * (characters / took_s - self.characters_per_s)

    def plan(self, documents: int, query: str, limit_s: float) -> RerankPlan | None:
        """Return a plan that fits the time. It first shortens the passages, then reads fewer documents. None: too
        little fits."""
        enough = min(documents, MIN_DOCUMENTS)
        frame = len(query) + FRAME_CHARACTERS
        readable = self.characters_per_s * limit_s * _PLANNED
        room = self.window_characters - len(query)
        characters = min(room, int(readable / max(documents, 1)) - frame)
        if characters < MIN_CHARACTERS:
            characters = min(room, MIN_CHARACTERS)
            documents = min(documents, int(readable / (characters + frame)))
        if documents >= enough and characters > 0:
            return RerankPlan(documents, characters)
        # Without reading, the estimate is not updated. Without this recovery, one busy minute would stop reranking
        # forever.
        self.characters_per_s *= _RECOVERY
        return None


class Backoff:
    """Skips a model that timed out, first for one query, then for two, four, …: it would use up its share of the budget
    each time. Queries with much more time are not skipped."""

    def __init__(self) -> None:
        self._misses = 0
        self._skips = 0
        self._enough_s = 0.0

    def skips(self, limit_s: float) -> bool:
        """Return whether this query skips the model. Counts the query."""
        if self._skips == 0 or limit_s >= self._enough_s:
            return False
        self._skips -= 1
        return True

    def learn(self, limit_s: float, *, in_time: bool) -> None:
        self._misses = 0 if in_time else self._misses + 1
        self._skips = min(2 ** (self._misses - 1), _MAX_SKIPPED) if self._misses else 0
        self._enough_s = 0.0 if in_time else _PLAINLY_MORE * limit_s


class Embed(Protocol):
    """Returns the vectors of queries, followed by those of passages, from each model that serves a collection of the
    filters. Raises GnoError."""

    def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> Awaitable[QueryVectors]: ...


@asynccontextmanager
async def ahead(embed: Embed, queries: Sequence[str], passages: Sequence[str]) -> AsyncIterator[Embed]:
    """Start to embed texts that will probably be needed. Yields a function that returns the vectors, and embeds other
    texts if called with them. It raises the errors of `embed`."""
    if not queries and not passages:
        yield embed
        return
    embedding = asyncio.ensure_future(embed(queries, passages))
    # Retrieve the exception, because the caller may never request the vectors.
    embedding.add_done_callback(lambda task: task.cancelled() or task.exception())
    expected = [*queries], [*passages]
    await asyncio.sleep(0)  # send them before the other work starts

    async def embedded(queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        if embedding.cancelled() or ([*queries], [*passages]) != expected:
            return await embed(queries, passages)
        return await embedding

    try:
        yield embedded
    finally:
        embedding.cancel()


def vector_lines(lines: Sequence[QueryLine]) -> list[QueryLine]:
    """Return the lines that have a vector, in the order of the vectors: first queries, then passages."""
    return sorted((line for line in lines if not line.is_lexical), key=lambda line: line.subquery.kind == "hyde")


def embedded_texts(lines: Sequence[QueryLine]) -> tuple[list[str], list[str]]:
    """Return the queries and the passages among the lines that have a vector."""
    queries = [line.subquery.text for line in lines if line.subquery.kind == "vec"]
    return queries, [line.subquery.text for line in lines if line.subquery.kind == "hyde"]


async def embed_lines(
    embed: Embed | UnavailableModel,
    lines: Sequence[QueryLine],
    readability: ReadabilityOf,
    budget: TimeBudget,
    stage: str,
) -> QueryVectors | None:
    """Return the vectors of the lines that have one. If the model cannot be used, note the reason in the budget and
    return None."""
    queries, passages = embedded_texts(lines)
    if not queries and not passages:
        return None
    started = time.perf_counter()
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


async def _readable(vectors: QueryVectors, text: str, readability: ReadabilityOf) -> QueryVectors:
    """Leave out the models that cannot read the script of the query. Raises StageSkipped if no model is left."""
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
