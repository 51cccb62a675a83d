"""How a reranker reads the tokens of a query and a document and scores them. Knows tokens, no texts.

Uses llama.cpp's own functions: llama-cpp-python reads a whole vector where a head gives one number. A reading belongs
to one thread. Its scores do not depend on what it read before.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import llama_cpp

from gnod.errors import InferenceFailed
from gnod.models.llama import library

# Tokens of a decoder's step; larger steps are not faster on a processor, and cost memory.
_STEP = 256

Ended = Callable[[], bool]


class Reading(ABC):
    """A llama.cpp context of one sequence, whose steps can be aborted (on the processor only). Raises ModelRejected."""

    def __init__(
        self, model: llama_cpp.llama_model_p, *, window: int, step: int, threads: int, **settings: int
    ) -> None:
        self._context = library.new_context(
            model, "for reranking", threads=threads, n_ctx=window, n_batch=step, n_ubatch=step, n_seq_max=1, **settings
        )
        self._ended: Ended = lambda: False
        self._callback = llama_cpp.ggml_abort_callback(lambda _: self._ended())  # kept as long as the context
        llama_cpp.llama_set_abort_callback(self._context, self._callback, None)

    def score(self, opening: Sequence[int], rest: Sequence[int], ended: Ended) -> float | None:
        """Return the score of a document, in [0, 1]; None when it ended early. Raises InferenceFailed."""
        self._ended = ended
        return self._score(opening, rest)

    def close(self) -> None:
        llama_cpp.llama_free(self._context)

    @abstractmethod
    def _score(self, opening: Sequence[int], rest: Sequence[int]) -> float | None: ...

    def _step(self, tokens: Sequence[int]) -> bool:
        """Compute one step, of tokens that follow those in memory; False when it was aborted. Raises
        InferenceFailed."""
        numbers = (llama_cpp.llama_token * len(tokens))(*tokens)  # kept until it is done: the batch only points there
        # Encoders have no memory; for them this is llama_encode.
        status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(numbers, len(tokens)))
        if status not in (0, library.ABORTED):
            raise InferenceFailed(f"the model failed on a text (llama.cpp's status {status})")
        return bool(status == 0)

    def _head(self, number: int) -> float:
        """Return one output of the model's head."""
        values = llama_cpp.llama_get_embeddings_seq(self._context, 0)
        if not values:
            raise InferenceFailed("the model gave no score for a text")
        return float(values[number])


class EncoderReading(Reading):
    """A cross-encoder, whose head gives one logit."""

    def __init__(self, model: llama_cpp.llama_model_p, *, window: int, threads: int) -> None:
        super().__init__(
            model,
            window=window,
            step=window,
            threads=threads,
            n_outputs_max=window,
            pooling_type=llama_cpp.LLAMA_POOLING_TYPE_RANK,  # files do not always say that the model has a head
        )
        llama_cpp.llama_set_embeddings(self._context, True)

    def _score(self, opening: Sequence[int], rest: Sequence[int]) -> float | None:
        return _sigmoid(self._head(0)) if self._step([*opening, *rest]) else None


class DecoderReading(Reading):
    """A language model that answers yes or no. `answers`: their numbers, among the head's classes or the tokens."""

    def __init__(
        self, model: llama_cpp.llama_model_p, answers: Sequence[int], *, has_head: bool, window: int, threads: int
    ) -> None:
        super().__init__(
            model,
            window=window,
            step=min(_STEP, window),
            threads=threads,
            n_outputs_max=1,
            pooling_type=llama_cpp.LLAMA_POOLING_TYPE_RANK if has_head else llama_cpp.LLAMA_POOLING_TYPE_NONE,
            # Flash attention sums up in 16 bits where memory is in 16 bits: ten times the error in a score.
            flash_attn_type=llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        )
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._step_tokens = min(_STEP, window)
        self._yes, self._no = answers
        self._has_head = has_head
        self._opening: list[int] = []

    def _score(self, opening: Sequence[int], rest: Sequence[int]) -> float | None:
        if not self._open(list(opening)) or not self._read(rest[:-1]):
            return None
        # While llama.cpp gives embeddings, it computes all logits for what it reads: gigabytes for a document.
        llama_cpp.llama_set_embeddings(self._context, self._has_head)
        is_read = self._read(rest[-1:])
        llama_cpp.llama_set_embeddings(self._context, False)
        return self._answer() if is_read else None

    def _open(self, opening: list[int]) -> bool:
        """Leave only the opening in memory, which all documents of a query share; False when it was aborted."""
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
        # `_ended` first: elsewhere than on the processor a step cannot be aborted.
        steps = range(0, len(tokens), self._step_tokens)
        return all(not self._ended() and self._step(tokens[at : at + self._step_tokens]) for at in steps)

    def _answer(self) -> float:
        if self._has_head:  # probabilities already
            return self._head(self._yes)
        logits = llama_cpp.llama_get_logits_ith(self._context, -1)
        return _sigmoid(logits[self._yes] - logits[self._no])  # the softmax of the two


def _sigmoid(value: float) -> float:
    """Return the logistic function, without overflow."""
    return 0.5 * (1 + math.tanh(value / 2))
