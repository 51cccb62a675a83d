"""One generative model of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from gnod.models import messages as m
from gnod.models.installed import InstalledModel


class Message(NamedTuple):
    """The content is text: nothing in it counts as the model's markup."""

    role: Literal["system", "user", "assistant"]
    content: str


class Generated(NamedTuple):
    """`finish`: the model ended, `max_tokens` or its window was full, or the time was up. `prompt_tokens`: read until
    then. `took_s`: without the loading."""

    text: str
    finish: Literal["stop", "length", "time"]
    prompt_tokens: int
    tokens: int
    took_s: float


class Generator(InstalledModel):
    # Tokens of prompt and answer together. Models that were trained on fewer refuse a longer prompt.
    context_tokens = m.GENERATION_WINDOW

    async def generate(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        grammar: str | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        limit_s: float | None = None,
        yields_after_s: float | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Generated:
        """Return the assistant's next message; at the limit, its text so far. `on_text` receives each part as it comes.
        `grammar`: GBNF, from `root`. After `yields_after_s`, requests that somebody waits for go first. Cancelling the
        task stops the model.

        The limit counts from the call. A model that is still loading then is loaded to the end, for the next call.
        Raises ModelNotPulled, ModelCorrupt, ModelRejected, InferenceFailed (also for a prompt that is too long),
        ShuttingDown, and what `on_text` raises.
        """
        chunks: list[m.Generated] = []

        def on_chunk(chunk: m.ResultChunk) -> None:
            assert isinstance(chunk, m.Generated)
            chunks.append(chunk)
            if chunk.text and on_text:
                on_text(chunk.text)

        request = m.Generate(
            model=self.spec(),
            messages=[(message.role, message.content) for message in messages],
            max_tokens=max_tokens,
            grammar=grammar,
            temperature=temperature,
            seed=seed,
            yields_after_s=yields_after_s,
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._inference.run(request, on_chunk)
        if not chunks:
            return Generated("", "time", 0, 0, 0.0)
        last = chunks[-1]
        text = "".join(chunk.text for chunk in chunks)
        return Generated(text, last.finish or "time", last.prompt_tokens, last.tokens, last.took_s)
