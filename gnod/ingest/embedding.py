"""Embed the pending chunks of one model: fetch chunks, call the model, store the vectors, in small steps.

The beginning of every document is embedded first, with its headings, so that vector search can find all documents after
a few per cent of the work. An interrupted run loses nothing, because the database records which chunks are pending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from gnod.ingest.text.outline import outline
from gnod.models.embedding_profiles import FEW_SENTENCES, EmbeddingText, cut
from gnod.models.run.inference import RequestFailed
from gnod.models.run.roles import Embedder
from gnod.store.database import Database
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import PendingChunk, StoredPiece

T = TypeVar("T")

# The size of one request. A small model needs about a second for it, so results are stored soon.
_REQUEST_CHARACTERS = 24_000
# Fetch only this many chunks for a request, so that new chunks are embedded next.
_FETCH_CHUNKS = 64
# The maximum length of the headings that are embedded with the beginning of a document, in characters.
_HEADINGS = FEW_SENTENCES // 3
# The first crash of the worker may not be due to the chunk.
_MAX_CRASHES = 2


class Step(NamedTuple):
    """The result of one step, in chunks."""

    embedded: int
    failed: int


class EmbeddingRun:
    """The backlog of one model for some collections."""

    def __init__(self, database: Database, embedder: Embedder, collections: Sequence[str]) -> None:
        self.collections = tuple(collections)
        self._database = database
        self._embedder = embedder
        self._waiting: list[list[PendingChunk]] = []
        self._crashes: Counter[str] = Counter()

    @property
    def uri(self) -> str:
        return self._embedder.uri

    async def count(self) -> int:
        return await self._database.read(lambda c: vectors.count_pending(c, self.uri, self.collections))

    async def step(self, *, oldest_first: bool = False) -> Step | None:
        """Embed and store some chunks, the newest or the oldest; None when nothing is pending.

        Raises the errors of `Embedder.documents`, except RequestFailed: it finds a chunk that the model cannot embed,
        or that crashes the worker, by halving the request, and records the chunk as failed.
        """
        if not self._waiting:
            find = partial(
                vectors.pending,
                uri=self.uri,
                collections=self.collections,
                limit=_FETCH_CHUNKS,
                oldest_first=oldest_first,
            )
            chunks = await self._database.read(find)
            if not chunks:
                return None
            self._waiting = [_request(chunks)]
        group = self._waiting.pop()
        texts = [beginning(c) if c.brief_due else c.text for c in group]
        try:
            found = await self._embedder.documents(
                [EmbeddingText(c.title, c.heading, text) for c, text in zip(group, texts, strict=True)]
            )
        except RequestFailed as error:
            return await self._halve(group, error)
        whole: dict[str, list[StoredPiece]] = {}
        briefs: dict[str, StoredPiece] = {}
        for chunk, text, pieces in zip(group, texts, found, strict=True):
            if text != chunk.text:
                briefs[chunk.embed_hash] = StoredPiece(pieces[0].vector)
            else:
                whole[chunk.embed_hash] = [StoredPiece(*piece) for piece in pieces]
        stored = await self._database.write(lambda c: vectors.put(c, self.uri, whole, briefs))
        return Step(stored, 0)

    async def _halve(self, group: list[PendingChunk], error: RequestFailed) -> Step:
        middle = len(group) // 2
        if middle:
            self._waiting += [group[middle:], group[:middle]]
            return Step(0, 0)
        embed_hash = group[0].embed_hash
        self._crashes[embed_hash] += 1
        if self._crashes[embed_hash] < _MAX_CRASHES:
            self._waiting.append(group)
            return Step(0, 0)
        await self._database.write(lambda c: vectors.note_failed(c, self.uri, embed_hash, error.message))
        return Step(0, 1)


def beginning(chunk: PendingChunk) -> str:
    """Return the first text to embed of a document, given its first chunk: its first sentences, and its headings, which
    outline the rest."""
    if len(chunk.document) <= FEW_SENTENCES:
        return chunk.text
    headings = [each.text for each in outline(chunk.document).headings if each.text != chunk.title]
    listed = "; ".join(headings)[:_HEADINGS]
    text = chunk.text[: cut(chunk.text, FEW_SENTENCES - len(listed) - 1)[0].end]
    return f"{text}\n{listed}" if listed else text


def _request(chunks: list[PendingChunk]) -> list[PendingChunk]:
    """Return as many chunks as fit into one request, but at least one."""
    size = 0
    for number, chunk in enumerate(chunks):
        size += min(len(chunk.text), FEW_SENTENCES) if chunk.brief_due else len(chunk.text)
        if number and size > _REQUEST_CHARACTERS:
            return chunks[:number]
    return chunks
