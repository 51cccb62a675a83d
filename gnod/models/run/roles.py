"""The uses of a model: as an embedder, a reranker or a generator. The inference worker of this machine or a server runs
it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gnod.config.model_uris import endpoint_of
from gnod.errors import ModelNotPulled
from gnod.models.embedding_profiles import (
    EmbeddingText,
    Profile,
    apply_document_template,
    apply_query_template,
    cut,
    profile_of,
)
from gnod.models.files import Installed, ModelFiles
from gnod.models.readability import LanguageSample
from gnod.models.run import gguf_header
from gnod.models.run.messages import (
    GENERATION_WINDOW,
    DocumentScored,
    Generate,
    Measure,
    ModelSpec,
    Rank,
    ResultChunk,
    RoomMeasured,
    StreamedWork,
    TextGenerated,
)
from gnod.models.run.repetition import repetition_start

# This holds for most scripts.
_CHARACTERS_PER_TOKEN = 3

C = TypeVar("C", bound=ResultChunk)


class Runner(Protocol):
    """The inference worker of this machine, or a server that an endpoint names."""

    async def embed(self, model: ModelSpec, texts: Sequence[str], *, interactive: bool) -> NDArray[np.float32]:
        """Return the vectors of the texts, as rows of length 1. `interactive`: a user waits for them. Raises
        GnoError."""

    async def run(self, work: StreamedWork, on_chunk: Callable[[ResultChunk], None] = ...) -> object:
        """Do `work`; `on_chunk` receives each chunk of the result. Cancelling the task stops the work. Raises GnoError,
        and what `on_chunk` raises."""


class InstalledModel:
    """`inference`: the worker of this machine, or the server at the model's address. `threads`: processor threads for
    one step. The file need not exist before `spec` is called."""

    pull_command = "gnoctl models pull"

    def __init__(self, uri: str, *, files: ModelFiles, inference: Runner, gpu: bool, threads: int) -> None:
        self.uri = uri
        self._files = files
        self._inference = inference
        self._gpu = gpu
        self._threads = threads

    def spec(self) -> ModelSpec:
        """Return how to load the model. Raises ModelNotPulled."""
        if endpoint_of(self.uri):
            return ModelSpec(path=self.uri)
        installed = self._files.find(self.uri)
        if installed is None:
            raise ModelNotPulled(
                f"the model {self.uri} is not on this machine yet: run `{self.pull_command}`", {"uri": self.uri}
            )
        window = self._window(installed)
        return ModelSpec(path=str(installed.path), window=window, gpu=self._gpu, threads=self._threads)

    def _window(self, installed: Installed) -> int | None:
        """Return the maximum number of tokens at once; None: what the model's file says."""
        return installed.profile.window if installed.profile else None

    async def _chunks(self, kind: type[C], work: StreamedWork, limit_s: float | None) -> list[C]:
        """Return the chunks of the result that arrived within the limit."""
        found: list[C] = []

        def on_chunk(chunk: ResultChunk) -> None:
            assert isinstance(chunk, kind)
            found.append(chunk)

        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._inference.run(work, on_chunk)
        return found


class PieceVector(NamedTuple):
    """A part of a chunk, `text[start:end]`, with its vector of length 1. `line` and `last_line` count from 0 at the
    chunk's first line."""

    vector: NDArray[np.float32]
    start: int
    end: int
    line: int
    last_line: int


class Embedder(InstalledModel):
    pull_command = "gnoctl models pull embed"

    @property
    def profile(self) -> Profile:
        """Return the profile that the installed model's repository states, or that its name implies."""
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
        """Return the vectors, of length 1, of queries and, below them, of possible answers. If `waits`, a user waits
        for them, so they precede documents.

        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        profile = self.profile
        prompts = [apply_query_template(profile, text) for text in queries]
        prompts += [apply_document_template(profile, EmbeddingText("", "", text)) for text in passages]
        return await self._inference.embed(self.spec(), prompts, interactive=waits)

    async def sentences(self, sentences: Sequence[EmbeddingText]) -> NDArray[np.float32]:
        """Return a vector for each short text, with its title and headings; a user waits for them. Raises what `texts`
        raises."""
        prompts = [apply_document_template(self.profile, sentence) for sentence in sentences]
        return await self._inference.embed(self.spec(), prompts, interactive=True)

    async def passages(self, texts: Sequence[str], *, waits: bool) -> list[list[NDArray[np.float32]]]:
        """Return the vectors of the pieces of each text. The texts have no title. `waits`: a user waits for them.
        Raises what `texts` raises."""
        found = await self.documents([EmbeddingText("", "", text) for text in texts], waits=waits)
        return [[piece.vector for piece in of_text] for of_text in found]

    async def documents(self, chunks: Sequence[EmbeddingText], *, waits: bool = False) -> list[list[PieceVector]]:
        """Return the pieces of each chunk. `waits` and the errors are the same as for `texts`."""
        profile = self.profile
        spans = [cut(chunk.text, profile.piece) for chunk in chunks]
        prompts = [
            apply_document_template(profile, chunk._replace(text=chunk.text[start:end]))
            for chunk, of_chunk in zip(chunks, spans, strict=True)
            for start, end in of_chunk
        ]
        vectors = iter(await self._inference.embed(self.spec(), prompts, interactive=waits))
        return [
            [_piece(next(vectors), chunk.text, start, end) for start, end in of_chunk]
            for chunk, of_chunk in zip(chunks, spans, strict=True)
        ]

    async def sample(self, sample: LanguageSample) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Embed sample texts, for `readability.measure`. Raises what `texts` raises."""
        found = await self.texts(sample.questions, sample.statements, waits=False)
        return found[: len(sample.questions)], found[len(sample.questions) :]


def _piece(vector: NDArray[np.float32], text: str, start: int, end: int) -> PieceVector:
    lines = text.count("\n", 0, start)
    return PieceVector(vector, start, end, lines, lines + text[start:end].rstrip().count("\n"))


class Speed(NamedTuple):
    """`window_characters`: a cautious estimate for query and document together. The engine cuts what is longer at its
    end."""

    window_characters: int
    characters_per_s: float


class RerankScores(NamedTuple):
    """`values`: in [0, 1]. If time ran out, only the first documents have one. `tokens`: read for them. `took_s`:
    without loading."""

    values: list[float]
    tokens: int
    took_s: float


class Reranker(InstalledModel):
    pull_command = "gnoctl models pull rerank"

    async def measure(self, *, limit_s: float) -> Speed | None:
        """Return how much the model reads, and how fast on this machine; None if it did not load within the limit (it
        then still finishes loading). Raises what `score` raises."""
        found = await self._chunks(RoomMeasured, Measure(model=self.spec()), limit_s)
        if not found:
            return None
        return Speed(found[0].room * _CHARACTERS_PER_TOKEN, found[0].characters_per_s)

    async def score(self, query: str, documents: Sequence[str], *, limit_s: float | None = None) -> RerankScores:
        """Score documents in order; at the limit, return the scores so far.

        The limit counts from the call. A model that is still loading then finishes loading for the next call. Raises
        ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed, ShuttingDown.
        """
        work = Rank(model=self.spec(), query=query, documents=list(documents))
        scored = await self._chunks(DocumentScored, work, limit_s)
        last = scored[-1] if scored else None
        return RerankScores([chunk.score for chunk in scored], last.tokens if last else 0, last.took_s if last else 0.0)


class Message(NamedTuple):
    """The content is plain text. No part of it counts as the model's markup."""

    role: Literal["system", "user", "assistant"]
    content: str


class GeneratedText(NamedTuple):
    """`finish`: the model ended, `max_tokens` or its window was full, time ran out, or the text only repeated itself.
    The repeated end is then cut off. `prompt_tokens`: tokens read so far. `took_s`: without loading."""

    text: str
    finish: Literal["stop", "length", "time", "repetition"]
    prompt_tokens: int
    tokens: int
    took_s: float


class Generator(InstalledModel):
    # The tokens of prompt and answer together. Models trained on fewer refuse a longer prompt.
    context_tokens = GENERATION_WINDOW

    def parameters(self) -> int | None:
        """Return the number of parameters stated by the model's file; None for a server's model. May read the disk.
        Raises ModelNotPulled, ModelCorrupt."""
        return None if endpoint_of(self.uri) else gguf_header.parameters(Path(self.spec().path))

    async def generate(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        grammar: str | None = None,
        limit_s: float | None = None,
        yields_after_s: float | None = None,
        on_text: Callable[[str], None] | None = None,
        may_repeat: bool = True,
    ) -> GeneratedText:
        """Return the assistant's next message; at the limit, its text so far. `on_text` receives each part as it comes.
        `grammar`: GBNF, from `root`. After `yields_after_s`, requests of waiting users go first. Unless it
        `may_repeat`, text that repeats itself ends the generation. Cancelling the task stops the model.

        The limit counts from the call. A model that is still loading then finishes loading for the next call. Raises
        ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed (including for a prompt that is too long),
        ShuttingDown, and what `on_text` raises.
        """
        chunks: list[TextGenerated] = []
        text = ""
        repeated_from: int | None = None

        def on_chunk(chunk: ResultChunk) -> None:
            nonlocal text, repeated_from
            assert isinstance(chunk, TextGenerated)
            chunks.append(chunk)
            text += chunk.text
            if chunk.text and on_text:
                on_text(chunk.text)
            if chunk.text and not may_repeat and (start := repetition_start(text)) is not None:
                repeated_from = start
                raise _Repetition  # this cancels the request in the worker

        request = Generate(
            model=self.spec(),
            messages=[(message.role, message.content) for message in messages],
            max_tokens=max_tokens,
            grammar=grammar,
            yields_after_s=yields_after_s,
        )
        with suppress(TimeoutError, _Repetition):
            async with asyncio.timeout(limit_s):
                await self._inference.run(request, on_chunk)
        if not chunks:
            return GeneratedText("", "time", 0, 0, 0.0)
        last = chunks[-1]
        finish: Literal["stop", "length", "time", "repetition"] = last.finish or "time"
        if repeated_from is not None:
            text, finish = text[:repeated_from].rstrip(), "repetition"
        return GeneratedText(text, finish, last.prompt_tokens, last.tokens, last.took_s)


class _Repetition(Exception):
    """The text only repeats itself."""
