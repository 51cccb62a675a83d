"""What runs a model: the inference worker of this machine, or a server that an endpoint names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from gnod.models.run.inference import Embeddings
from gnod.models.run.messages import ModelSpec, RequestDone, ResultChunk, TextsEmbedded, Work


class Runner(Protocol):
    async def embed(
        self, model: ModelSpec, texts: Sequence[str], *, interactive: bool, count_unknown: bool = False
    ) -> Embeddings:
        """Return the texts' vectors. `interactive`: a request waits for them. Raises GnoError."""

    async def run(self, work: Work, on_chunk: Callable[[ResultChunk], None] = ...) -> TextsEmbedded | RequestDone:
        """Do `work`; `on_chunk` receives each chunk of the result. Cancelling the task stops the work. Raises GnoError,
        and what `on_chunk` raises."""
