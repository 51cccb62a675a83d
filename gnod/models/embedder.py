"""One embedding model, ready to be asked: knows its file, its profile and the worker that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.models.files import ModelFiles
from gnod.models.inference import Inference
from gnod.models.installed import InstalledModel
from gnod.models.messages import ModelSpec
from gnod.models.pieces import cut
from gnod.models.profiles import EmbeddingText, dress_document, dress_query, profile_of


class Piece(NamedTuple):
    """A part of a chunk, `text[start:end]`, with its vector of length 1. `line` and `last_line` count from the chunk's
    first line, which is 0."""

    vector: NDArray[np.float32]
    start: int
    end: int
    line: int
    last_line: int


class Documents(NamedTuple):
    """The pieces of each chunk, in order. `tokens`: of all together."""

    pieces: list[list[Piece]]
    tokens: int


class Embedder:
    """`threads`: of the processor, for one step of the model."""

    def __init__(self, uri: str, *, files: ModelFiles, inference: Inference, gpu: bool, threads: int) -> None:
        self.uri = uri
        self.profile = profile_of(uri)
        self._installed = InstalledModel(
            uri, files=files, pull="gnoctl models pull embed", gpu=gpu, threads=threads, window=self.profile.window
        )
        self._inference = inference

    def spec(self) -> ModelSpec:
        """Return how the model is loaded. Raises ModelNotPulled."""
        return self._installed.spec()

    async def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, of length 1. Raises what `texts` raises."""
        found = await self.texts([text])
        vector: NDArray[np.float32] = found[0]
        return vector

    async def texts(self, queries: Sequence[str], passages: Sequence[str] = ()) -> NDArray[np.float32]:
        """Return the vectors of queries, and below them those of passages that are asked for as an answer would read,
        of length 1; somebody waits for them, so they go ahead of documents.

        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        dressed = [dress_query(self.profile, text) for text in queries]
        dressed += [dress_document(self.profile, EmbeddingText("", "", text)) for text in passages]
        found = await self._inference.embed(self.spec(), dressed, interactive=True)
        return found.vectors

    async def passages(self, texts: Sequence[str], *, waits: bool) -> list[list[NDArray[np.float32]]]:
        """Return the vectors of the pieces of each text, which has no title. `waits`: whether somebody waits for them.
        Raises what `texts` raises."""
        pieces = [[text[start:end] for start, end in cut(text, self.profile.piece)] for text in texts]
        dressed = [
            dress_document(self.profile, EmbeddingText("", "", piece)) for of_text in pieces for piece in of_text
        ]
        vectors = iter((await self._inference.embed(self.spec(), dressed, interactive=waits)).vectors)
        return [[next(vectors) for _ in of_text] for of_text in pieces]

    async def documents(self, chunks: Sequence[EmbeddingText]) -> Documents:
        """Return the vectors of chunks, in their order. Raises what `texts` raises."""
        spans = [cut(chunk.text, self.profile.piece) for chunk in chunks]
        dressed = [
            dress_document(self.profile, chunk._replace(text=chunk.text[start:end]))
            for chunk, of_chunk in zip(chunks, spans, strict=True)
            for start, end in of_chunk
        ]
        found = await self._inference.embed(self.spec(), dressed, interactive=False)
        vectors = iter(found.vectors)
        pieces = [
            [_piece(next(vectors), chunk.text, start, end) for start, end in of_chunk]
            for chunk, of_chunk in zip(chunks, spans, strict=True)
        ]
        return Documents(pieces, found.tokens)


def _piece(vector: NDArray[np.float32], text: str, start: int, end: int) -> Piece:
    lines = text.count("\n", 0, start)
    return Piece(vector, start, end, lines, lines + text[start:end].rstrip().count("\n"))
