"""Embed what is pending for one model: fetch chunks, ask the model, store the vectors, a little at a time.

What is not done when it is cut short is still pending: the database alone knows what is left.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from gnod.models.embedder import Embedder
from gnod.models.inference import RequestFailed
from gnod.models.profiles import EmbeddingText
from gnod.store import vectors
from gnod.store.database import Connection, Database
from gnod.store.vectors import PendingChunk

T = TypeVar("T")

# One request to the model: about a second's work for a small one, so that what is done is stored soon.
_REQUEST_CHARACTERS = 24_000
# Fetched for each request anew: what came last is embedded next.
_FETCH_CHUNKS = 64
# A worker may die of something else, once.
_DEATHS = 2


class Step(NamedTuple):
    """What one step did, in chunks and tokens."""

    embedded: int
    failed: int
    tokens: int


class EmbeddingRun:
    """The backlog of one model for some collections."""

    def __init__(self, database: Database, embedder: Embedder, collections: Sequence[str]) -> None:
        self.collections = tuple(collections)
        self._database = database
        self._embedder = embedder
        self._waiting: list[list[PendingChunk]] = []
        self._deaths: Counter[str] = Counter()

    @property
    def uri(self) -> str:
        return self._embedder.uri

    async def count(self) -> int:
        """Return how many chunks are pending."""
        return await self._read(lambda c: vectors.count_pending(c, self.uri, self.collections))

    async def step(self, *, oldest_first: bool = False) -> Step | None:
        """Embed and store some chunks, those that came last or those that came first; None when nothing is pending.

        Raises what `Embedder.documents` raises, but for RequestFailed: a chunk that the model cannot take, or that
        kills the worker, is found by halving, noted as failed, and left out.
        """
        if not self._waiting:
            find = partial(
                vectors.pending,
                uri=self.uri,
                collections=self.collections,
                limit=_FETCH_CHUNKS,
                oldest_first=oldest_first,
            )
            chunks = await self._read(find)
            if not chunks:
                return None
            self._waiting = [_request(chunks)]
        group = self._waiting.pop()
        try:
            found = await self._embedder.documents([EmbeddingText(c.title, c.heading, c.text) for c in group])
        except RequestFailed as error:
            return await self._halve(group, error)
        by_hash = {
            chunk.embed_hash: [vectors.Piece(*piece) for piece in pieces]
            for chunk, pieces in zip(group, found.pieces, strict=True)
        }
        stored = await self._write(lambda c: vectors.put(c, self.uri, by_hash))
        return Step(stored, 0, found.tokens)

    async def _halve(self, group: list[PendingChunk], error: RequestFailed) -> Step:
        middle = len(group) // 2
        if middle:
            self._waiting += [group[middle:], group[:middle]]
            return Step(0, 0, 0)
        embed_hash = group[0].embed_hash
        self._deaths[embed_hash] += 1
        if self._deaths[embed_hash] < _DEATHS:
            self._waiting.append(group)
            return Step(0, 0, 0)
        await self._write(partial(_note_failed, self.uri, embed_hash, error.message))
        return Step(0, 1, 0)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self._database.read(work))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        return await asyncio.wrap_future(self._database.write(work))


def _note_failed(uri: str, embed_hash: str, message: str, connection: Connection) -> None:
    vectors.note_failed(connection, uri, embed_hash, message)


def _request(chunks: list[PendingChunk]) -> list[PendingChunk]:
    """Return as many as go into one request, one at least."""
    size = 0
    for number, chunk in enumerate(chunks):
        size += len(chunk.text)
        if number and size > _REQUEST_CHARACTERS:
            return chunks[:number]
    return chunks
