"""One embedding model of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.models.embedding_profiles import (
    EmbeddingText,
    Profile,
    apply_document_template,
    apply_query_template,
    profile_of,
)
from gnod.models.files import Installed
from gnod.models.pieces import cut
from gnod.models.readability import LanguageSample
from gnod.models.run.installed import InstalledModel


class PieceVector(NamedTuple):
    """A part of a chunk, `text[start:end]`, with its vector of length 1. `line` and `last_line` count from the chunk's
    first line, which is 0."""

    vector: NDArray[np.float32]
    start: int
    end: int
    line: int
    last_line: int


class Embedder(InstalledModel):
    pull_command = "gnoctl models pull embed"

    @property
    def profile(self) -> Profile:
        """Return what the installed model's repository states, or what the model's name tells."""
        installed = self._files.find(self.uri)
        return (installed and installed.profile) or profile_of(self.uri)

    def _window(self, installed: Installed) -> int | None:
        return (installed.profile or profile_of(self.uri)).window

    async def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, of length 1. Raises what `texts` raises."""
        vector: NDArray[np.float32] = (await self.texts([text]))[0]
        return vector

    async def texts(
        self, queries: Sequence[str], passages: Sequence[str] = (), *, waits: bool = True
    ) -> NDArray[np.float32]:
        """Return the vectors, of length 1, of queries and, below them, of passages that could answer. Unless no request
        `waits` for them, they go ahead of documents.

        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        profile = self.profile
        prompts = [apply_query_template(profile, text) for text in queries]
        prompts += [_passage(profile, text) for text in passages]
        return await self._inference.embed(self.spec(), prompts, interactive=waits)

    async def sentences(self, sentences: Sequence[EmbeddingText]) -> NDArray[np.float32]:
        """Return a vector of each short text, with its title and headings; a request waits for them. Raises what
        `texts` raises."""
        prompts = [apply_document_template(self.profile, sentence) for sentence in sentences]
        return await self._inference.embed(self.spec(), prompts, interactive=True)

    async def passages(self, texts: Sequence[str], *, waits: bool) -> list[list[NDArray[np.float32]]]:
        """Return the vectors of the pieces of each text. The texts have no title. `waits`: whether a request waits for
        them. Raises what `texts` raises."""
        profile = self.profile
        pieces = [[text[start:end] for start, end in cut(text, profile.piece)] for text in texts]
        prompts = [_passage(profile, piece) for of_text in pieces for piece in of_text]
        vectors = iter(await self._inference.embed(self.spec(), prompts, interactive=waits))
        return [[next(vectors) for _ in of_text] for of_text in pieces]

    async def documents(self, chunks: Sequence[EmbeddingText]) -> list[list[PieceVector]]:
        """Return the pieces of chunks, in their order. Raises what `texts` raises."""
        profile = self.profile
        spans = [cut(chunk.text, profile.piece) for chunk in chunks]
        prompts = [
            apply_document_template(profile, chunk._replace(text=chunk.text[start:end]))
            for chunk, of_chunk in zip(chunks, spans, strict=True)
            for start, end in of_chunk
        ]
        vectors = iter(await self._inference.embed(self.spec(), prompts, interactive=False))
        return [
            [_piece(next(vectors), chunk.text, start, end) for start, end in of_chunk]
            for chunk, of_chunk in zip(chunks, spans, strict=True)
        ]

    async def sample(self, sample: LanguageSample) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Embed sample texts, for `readability.measure`. Raises what `texts` raises."""
        found = await self.texts(sample.questions, sample.statements, waits=False)
        return found[: len(sample.questions)], found[len(sample.questions) :]


def _passage(profile: Profile, text: str) -> str:
    return apply_document_template(profile, EmbeddingText("", "", text))


def _piece(vector: NDArray[np.float32], text: str, start: int, end: int) -> PieceVector:
    lines = text.count("\n", 0, start)
    return PieceVector(vector, start, end, lines, lines + text[start:end].rstrip().count("\n"))
