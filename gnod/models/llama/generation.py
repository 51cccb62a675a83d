"""One model that writes: a conversation in, the assistant's text out, piece by piece."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Literal, NamedTuple

import llama_cpp

from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.llama import library
from gnod.models.llama.chat import Chat, Messages
from gnod.models.llama.sampling import Sampler
from gnod.models.llama.speech import Speech
from gnod.models.llama.stop import Stop
from gnod.models.messages import GENERATION_WINDOW, ModelSpec

# Tokens of the prompt in one step; larger steps are not faster on a processor. What a step computes depends a little
# on its length, so only whole steps are kept for the next request: no answer depends on what was asked before.
_STEP_TOKENS = 64
_ABORTED = 2
_THOUGHTS = (b"<think>", b"</think>")


class Spoken(NamedTuple):
    """`text` may be empty. `prompt_tokens` (read, or still known) and `tokens` (said): so far. `finish`: it is over."""

    text: str
    finish: Literal["stop", "length"] | None
    prompt_tokens: int
    tokens: int


class GenerationEngine:
    """For one thread. Raises ModelCorrupt when the file cannot be loaded, ModelRejected when it cannot write."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = library.load(spec)
        self._to_free = ExitStack()
        self._to_free.callback(llama_cpp.llama_model_free, self._model)
        try:
            self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)
            if not library.is_causal(self._model) or llama_cpp.llama_model_has_encoder(self._model):
                raise ModelRejected("the model does not write text: it is not a generator")
            trained = llama_cpp.llama_model_n_ctx_train(self._model)
            self.window = min(spec.window or GENERATION_WINDOW, trained, GENERATION_WINDOW)
            self._context = _context(self._model, self.window, spec.threads)
            self._to_free.callback(llama_cpp.llama_free, self._context)
            self._chat = Chat(self._vocabulary, llama_cpp.llama_model_chat_template(self._model, None))
        except BaseException:
            self.close()
            raise
        # What the context's memory holds of the prompt. Requests begin alike: what they share is not read twice.
        self._read_before: list[int] = []
        self._stop = Stop()

    def close(self) -> None:
        self._to_free.close()

    def generate(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        grammar: str | None = None,
        temperature: float = 0.0,
        seed: int = 0,
        stop: Stop,
    ) -> Iterator[Spoken]:
        """Speak as the assistant, until there is nothing more to say or `stop` is raised. Raises InferenceFailed."""
        prompt = self._chat.tokens(messages)
        if len(prompt) >= self.window:
            raise InferenceFailed(f"the prompt has {len(prompt):,} tokens and the model takes {self.window:,}")
        with closing(Sampler(self._vocabulary, grammar=grammar, temperature=temperature, seed=seed)) as sampler:
            self._watch(stop)
            yield from self._read(prompt)
            if not stop():
                yield from self._speak(sampler, len(prompt), max_tokens, Speech(may_think=grammar is None))

    def _read(self, prompt: list[int]) -> Iterator[Spoken]:
        shared = _shared(self._read_before, prompt[:-1])  # one is read again: what is said first comes from it
        self._forget_after(shared - shared % _STEP_TOKENS)
        for at in range(len(self._read_before), len(prompt), _STEP_TOKENS):
            tokens = prompt[at : at + _STEP_TOKENS]
            if not self._step(tokens):
                return
            self._read_before += tokens
            yield Spoken("", None, len(self._read_before), 0)

    def _speak(self, sampler: Sampler, prompt_tokens: int, max_tokens: int, speech: Speech) -> Iterator[Spoken]:
        said = 0
        while (token := sampler.next(self._context)) is not None:
            said += 1
            text = speech.take(self._bytes(token))
            if said >= max_tokens or prompt_tokens + said >= self.window:
                yield Spoken(text + speech.rest(), "length", prompt_tokens, said)
                return
            yield Spoken(text, None, prompt_tokens, said)
            if not self._step([token]):
                return
        yield Spoken(speech.rest(), "stop", prompt_tokens, said)

    def _step(self, tokens: list[int]) -> bool:
        """Compute with the next tokens; False when it was stopped. Raises InferenceFailed."""
        if self._stop():
            return False
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(array, len(tokens)))
        if status == _ABORTED and self._stop():
            return False
        if status:
            raise InferenceFailed(f"the model failed on a prompt (llama.cpp's status {status})")
        return True

    def _forget_after(self, length: int) -> None:
        """Shorten the context's memory: by what was said, too, and by what a stopped step left there."""
        memory = llama_cpp.llama_get_memory(self._context)
        if not llama_cpp.llama_memory_seq_rm(memory, 0, length, -1):
            llama_cpp.llama_memory_clear(memory, True)  # a recurrent model cannot go back
            length = 0
        del self._read_before[length:]

    def _watch(self, stop: Stop) -> None:
        self._stop = stop
        stop.watch(self._context)

    def _bytes(self, token: int) -> bytes:
        # Specials are silent, but for those that Speech has to see.
        is_shown = llama_cpp.llama_vocab_get_text(self._vocabulary, token) in _THOUGHTS
        room = 64
        while True:
            piece = ctypes.create_string_buffer(room)
            length = llama_cpp.llama_token_to_piece(self._vocabulary, token, piece, room, 0, is_shown)
            if length >= 0:
                return piece.raw[:length]
            room = -length


def _shared(some: Sequence[int], others: Sequence[int]) -> int:
    """Return how many tokens are alike at the beginning."""
    pairs = enumerate(zip(some, others, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(some), len(others)))


def _context(model: llama_cpp.llama_model_p, tokens: int, threads: int) -> llama_cpp.llama_context_p:
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = tokens
    settings.n_batch = settings.n_ubatch = min(tokens, _STEP_TOKENS)
    settings.n_seq_max = 1
    settings.n_outputs_max = 1  # only what the last token says is wanted
    settings.n_threads = settings.n_threads_batch = threads
    settings.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    settings.no_perf = True
    context: llama_cpp.llama_context_p = llama_cpp.llama_init_from_model(model, settings)
    if not context:
        raise ModelRejected("llama.cpp cannot run the model to write text; perhaps there is not enough memory")
    return context
