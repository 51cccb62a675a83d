"""Have a reranker read its tokens and say how well they go together. Knows tokens, no texts.

With llama.cpp's own functions: llama-cpp-python's reads a whole vector where a head gives one number. A reading
belongs to one thread, and its scores do not depend on what it read before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import llama_cpp

from gnod.errors import InferenceFailed, ModelRejected

# Tokens of a decoder's step; larger steps are not faster on a processor, and cost memory.
_STEP = 256
_ABORTED = 2  # llama.cpp's status

Ended = Callable[[], bool]


class Reading(Protocol):
    """`score` returns None when it was ended early."""

    def score(self, opening: Sequence[int], rest: Sequence[int], ended: Ended) -> float | None: ...

    def close(self) -> None: ...


class _Context:
    """A llama.cpp context of one sequence, whose computation can be ended in its midst (on the processor only)."""

    def __init__(
        self,
        model: llama_cpp.llama_model_p,
        *,
        window: int,
        step: int,
        outputs: int,
        threads: int,
        pooling: int,
        flash: int,
    ) -> None:
        settings = llama_cpp.llama_context_default_params()
        settings.n_ctx = window
        settings.n_batch = settings.n_ubatch = step
        settings.n_seq_max = 1
        settings.n_outputs_max = outputs
        settings.n_threads = settings.n_threads_batch = threads
        settings.flash_attn_type = flash
        settings.pooling_type = pooling
        settings.no_perf = True
        self.pointer = llama_cpp.llama_init_from_model(model, settings)
        if not self.pointer:
            raise ModelRejected("llama.cpp cannot run the model for reranking")
        self.ended: Ended = lambda: False
        self._callback = llama_cpp.ggml_abort_callback(lambda _: self.ended())  # kept as long as the context
        llama_cpp.llama_set_abort_callback(self.pointer, self._callback, None)

    def read(self, tokens: Sequence[int]) -> bool:
        """Compute one step, of tokens that follow on those in memory. Returns False when it was ended early. Raises
        InferenceFailed."""
        numbers = (llama_cpp.llama_token * len(tokens))(*tokens)  # kept until it is done: the batch only points there
        # Encoders have no memory; for them this is llama_encode.
        status = llama_cpp.llama_decode(self.pointer, llama_cpp.llama_batch_get_one(numbers, len(tokens)))
        if status not in (0, _ABORTED):
            raise InferenceFailed(f"the model failed on a text (llama.cpp's status {status})")
        return bool(status == 0)

    def pooled(self, count: int) -> list[float]:
        """Return what the model's head says."""
        values = llama_cpp.llama_get_embeddings_seq(self.pointer, 0)
        if not values:
            raise InferenceFailed("the model gave no score for a text")
        return [float(value) for value in values[:count]]

    def close(self) -> None:
        llama_cpp.llama_free(self.pointer)


class EncoderReading:
    """A cross-encoder, whose head gives one logit. Raises ModelRejected."""

    def __init__(self, model: llama_cpp.llama_model_p, *, window: int, threads: int) -> None:
        # Files do not always say that the model has a head.
        pooling = llama_cpp.LLAMA_POOLING_TYPE_RANK
        self._context = _Context(
            model,
            window=window,
            step=window,
            outputs=window,
            threads=threads,
            pooling=pooling,
            flash=llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        )
        llama_cpp.llama_set_embeddings(self._context.pointer, True)

    def score(self, opening: Sequence[int], rest: Sequence[int], ended: Ended) -> float | None:
        self._context.ended = ended
        if not self._context.read([*opening, *rest]):
            return None
        return _sigmoid(self._context.pooled(1)[0])

    def close(self) -> None:
        self._context.close()


class DecoderReading:
    """A language model that answers yes or no. `answers`: the numbers of the two, among the head's classes or among
    the tokens. Raises ModelRejected."""

    def __init__(
        self, model: llama_cpp.llama_model_p, answers: Sequence[int], *, has_head: bool, window: int, threads: int
    ) -> None:
        pooling = llama_cpp.LLAMA_POOLING_TYPE_RANK if has_head else llama_cpp.LLAMA_POOLING_TYPE_NONE
        step = min(_STEP, window)
        self._context = _Context(
            model,
            window=window,
            step=step,
            outputs=1,
            threads=threads,
            pooling=pooling,
            # Flash attention sums up in 16 bits where memory is in 16 bits: ten times the error in a score.
            flash=llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        )
        self._memory = llama_cpp.llama_get_memory(self._context.pointer)
        self._step = step
        self._yes, self._no = answers
        self._has_head = has_head
        self._opening: list[int] = []

    def score(self, opening: Sequence[int], rest: Sequence[int], ended: Ended) -> float | None:
        self._context.ended = ended
        if not self._open(list(opening)) or not self._read(rest[:-1]):
            return None
        # Whatever is read while llama.cpp gives embeddings, it computes all logits for: gigabytes for a document.
        llama_cpp.llama_set_embeddings(self._context.pointer, self._has_head)
        is_read = self._read(rest[-1:])
        llama_cpp.llama_set_embeddings(self._context.pointer, False)
        return self._answer() if is_read else None

    def close(self) -> None:
        self._context.close()

    def _open(self, opening: list[int]) -> bool:
        """Make memory hold the opening and nothing else: all documents of a query have it in common."""
        if opening == self._opening:
            llama_cpp.llama_memory_seq_rm(self._memory, 0, len(opening), -1)
            return True
        self._opening = []
        llama_cpp.llama_memory_clear(self._memory, True)
        if not self._read(opening):
            return False
        self._opening = opening
        return True

    def _read(self, tokens: Sequence[int]) -> bool:
        for at in range(0, len(tokens), self._step):
            if self._context.ended():  # elsewhere than on the processor a step cannot be ended
                return False
            if not self._context.read(tokens[at : at + self._step]):
                return False
        return True

    def _answer(self) -> float:
        if self._has_head:  # shares already
            return self._context.pooled(2)[self._yes]
        logits = llama_cpp.llama_get_logits_ith(self._context.pointer, -1)
        return _sigmoid(logits[self._yes] - logits[self._no])  # the softmax of the two


def _sigmoid(value: float) -> float:
    """Return the logistic function, without overflow."""
    return 0.5 * (1 + math.tanh(value / 2))
