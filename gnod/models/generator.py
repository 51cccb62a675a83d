"""One model that writes, ready to be asked: knows its file and the worker that runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from gnod.models.files import ModelFiles
from gnod.models.inference import Inference
from gnod.models.installed import InstalledModel
from gnod.models.messages import GENERATION_WINDOW, Generate, ModelSpec, Piece, Said


class Message(NamedTuple):
    """What somebody has said. The content is text: nothing in it counts as the model's own markup."""

    role: Literal["system", "user", "assistant"]
    content: str


class Generated(NamedTuple):
    """`finish`: the model had said all, `max_tokens` or its window was full, or the time was up. `prompt_tokens` are
    those read until then. `took_s`: computing only, without the loading."""

    text: str
    finish: Literal["stop", "length", "time"]
    prompt_tokens: int
    tokens: int
    took_s: float


class Generator:
    """`threads`: of the processor, for one step of the model."""

    def __init__(self, uri: str, *, files: ModelFiles, inference: Inference, gpu: bool, threads: int) -> None:
        self.uri = uri
        # Tokens of prompt and answer together. Models that were trained on fewer refuse a longer prompt.
        self.context_tokens = GENERATION_WINDOW
        self._installed = InstalledModel(uri, files=files, pull="gnoctl models pull", gpu=gpu, threads=threads)
        self._inference = inference

    def spec(self) -> ModelSpec:
        """Return how the model is loaded. Raises ModelNotPulled."""
        return self._installed.spec()

    async def generate(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        grammar: str | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        limit_s: float | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Generated:
        """Return what the assistant says next; at the limit, what it has said until then. `on_text` is called with each
        piece as it comes. `grammar`: GBNF, from `root`. To cancel the task ends the computation.

        The limit counts from the call. A model whose loading takes longer is loaded to the end, for the next call.
        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed (also for a prompt that is too long),
        ShuttingDown, and what `on_text` raises.
        """
        said: list[Said] = []

        def hear(piece: Piece) -> None:
            assert isinstance(piece, Said)
            said.append(piece)
            if piece.text and on_text:
                on_text(piece.text)

        request = Generate(
            model=self.spec(),
            messages=[(message.role, message.content) for message in messages],
            max_tokens=max_tokens,
            grammar=grammar,
            temperature=temperature,
            seed=seed,
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._inference.ask(request, hear)
        if not said:
            return Generated("", "time", 0, 0, 0.0)
        text, last = "".join(piece.text for piece in said), said[-1]
        return Generated(text, last.finish or "time", last.prompt_tokens, last.tokens, last.took_s)
