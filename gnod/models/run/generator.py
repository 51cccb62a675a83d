"""One generative model of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from gnod.models.run import gguf_header
from gnod.models.run import messages as m
from gnod.models.run.installed import InstalledModel
from gnod.models.run.repetition import repetition_start
from gnod.models.uris import endpoint_of


class Message(NamedTuple):
    """The content is text: nothing in it counts as the model's markup."""

    role: Literal["system", "user", "assistant"]
    content: str


class GeneratedText(NamedTuple):
    """`finish`: the model ended, `max_tokens` or its window was full, the time was up, or the text only repeated
    itself; the repeated end is then cut off. `prompt_tokens`: read until then. `took_s`: without the loading."""

    text: str
    finish: Literal["stop", "length", "time", "repetition"]
    prompt_tokens: int
    tokens: int
    took_s: float


class Generator(InstalledModel):
    # The tokens of prompt and answer together. Models that were trained on fewer refuse a longer prompt.
    context_tokens = m.GENERATION_WINDOW

    def parameters(self) -> int | None:
        """Return how many parameters the model has, by its file; None for a model of a server. May read the disk.
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
        `grammar`: GBNF, from `root`. After `yields_after_s`, requests that somebody waits for go first. Unless
        it `may_repeat`, text that repeats itself ends the generation. Cancelling the task stops the model.

        The limit counts from the call. A model that is still loading then is loaded to the end, for the next call.
        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed (also for a prompt that is too long),
        ShuttingDown, and what `on_text` raises.
        """
        chunks: list[m.TextGenerated] = []
        text = ""
        repeated_from: int | None = None

        def on_chunk(chunk: m.ResultChunk) -> None:
            nonlocal text, repeated_from
            assert isinstance(chunk, m.TextGenerated)
            chunks.append(chunk)
            text += chunk.text
            if chunk.text and on_text:
                on_text(chunk.text)
            if chunk.text and not may_repeat and (start := repetition_start(text)) is not None:
                repeated_from = start
                raise _Repetition  # this cancels the request in the worker

        request = m.Generate(
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
