"""One llama.cpp context for whole texts. It has its own thread, because only one thread may use a context."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np

from gnod.child.priority import lower_thread
from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.encoder import Matrix
from gnod.models.run.engines import Stop
from gnod.models.run.llama import library
from gnod.models.run.llama.library import llama_cpp

T = TypeVar("T")

# The number of tokens in a step of the model. Larger steps are not faster.
STEP_TOKENS = 256
# The maximum number of sequences in a step.
MAX_PARTS = 64

_Numbers = ctypes.POINTER(ctypes.c_int32)


class Stopped(Exception):
    """The step was stopped."""


class Lane:
    """Runs steps of at most `tokens` tokens. `background`: at lower priority for the processor and the disk. `ranks`:
    the output of a part is one number from the model's head, not a vector. Raises ModelRejected."""

    def __init__(
        self,
        model: llama_cpp.llama_model_p,
        *,
        tokens: int,
        threads: int,
        background: bool = False,
        ranks: bool = False,
    ) -> None:
        self.tokens = tokens
        # llama.cpp applies the language model's head to every token with an output, and keeps the result: a gigabyte
        # for long texts, and a third of the time. These models need only the output of the last token.
        self._needs_last_only = not ranks and library.pools_last(model)
        # llama-cpp-python reads as many numbers as a vector has, even if a head returns only one.
        self._dimensions = 1 if ranks else llama_cpp.llama_model_n_embd(model)
        self._context = library.new_context(
            model,
            "for reranking" if ranks else "for embeddings",
            threads=threads,
            n_ctx=tokens,
            n_batch=tokens,
            n_ubatch=min(tokens, STEP_TOKENS) if self._needs_last_only else tokens,
            n_outputs_max=MAX_PARTS if self._needs_last_only else 0,  # 0: as many as tokens
            n_seq_max=MAX_PARTS,
            embeddings=True,
            kv_unified=True,  # otherwise each of the MAX_PARTS has only its share
            # Not every file states that its model has a head.
            **({"pooling_type": llama_cpp.LLAMA_POOLING_TYPE_RANK} if ranks else {}),
        )
        if not ranks and llama_cpp.llama_pooling_type(self._context) == llama_cpp.LLAMA_POOLING_TYPE_RANK:
            llama_cpp.llama_free(self._context)
            raise ModelRejected(
                "the model is a reranker, which scores pairs and returns no vectors: use it as `rerank`"
            )
        self._batch = _LlamaBatch(tokens)
        self._stop: Stop | None = None  # keep a reference, because llama.cpp reads it
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="lane", initializer=lower_thread if background else None
        )
        if not llama_cpp.llama_get_memory(self._context):
            batch = self._batch.holding([[0] * tokens])
            self.submit(partial(library.release_logits, model, self._context, batch)).result()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run `work` on the lane's thread."""
        return self._thread.submit(work)

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        llama_cpp.llama_free(self._context)

    def run(self, parts: Sequence[Sequence[int]], stop: Stop | None = None) -> Matrix:
        """Return the output of each part: a vector, or one number. Call it only on the lane's thread. Raises
        InferenceFailed, and Stopped if `stop` was set, even in the middle of the step."""
        if stop:
            if stop():
                raise Stopped
            self._stop = stop
            library.watch(stop, self._context)
        status = self._compute(parts)
        if status == library.ABORTED and stop and stop():
            raise Stopped
        if status:
            raise InferenceFailed(f"the model failed on a text (llama.cpp's status {status})")
        return np.stack([self._pooled(sequence) for sequence in range(len(parts))])

    def _compute(self, parts: Sequence[Sequence[int]]) -> int:
        """Return llama.cpp's status."""
        memory = llama_cpp.llama_get_memory(self._context)
        if not memory:  # only decoders have one
            return int(llama_cpp.llama_encode(self._context, self._batch.holding(parts)))
        llama_cpp.llama_memory_clear(memory, True)
        if not self._needs_last_only:
            return int(llama_cpp.llama_decode(self._context, self._batch.holding(parts)))
        lengths = [len(part) - 1 for part in parts]
        status = self._decode([part[:-1] for part in parts], outputs=False) if any(lengths) else 0
        return status or self._decode([part[-1:] for part in parts], starts=lengths)

    def _decode(self, parts: Sequence[Sequence[int]], *, starts: Sequence[int] = (), outputs: bool = True) -> int:
        llama_cpp.llama_set_embeddings(self._context, outputs)
        return int(llama_cpp.llama_decode(self._context, self._batch.holding(parts, starts=starts, outputs=outputs)))

    def _pooled(self, sequence: int) -> Matrix:
        vector = llama_cpp.llama_get_embeddings_seq(self._context, sequence)
        if not vector:
            raise ModelRejected("the model returns nothing for a text: it cannot be used for this role")
        return np.ctypeslib.as_array(vector, (self._dimensions,)).copy()


class _LlamaBatch:
    """llama.cpp's batch, backed by arrays that NumPy fills in one operation."""

    def __init__(self, tokens: int) -> None:
        self._token, self._position, self._sequence = (np.zeros(tokens, np.int32) for _ in range(3))
        self._sequences = np.ones(tokens, np.int32)
        self._output = np.ones(tokens, np.int8)
        first = self._sequence.ctypes.data
        self._sequence_of = (_Numbers * tokens)(*(ctypes.cast(first + 4 * n, _Numbers) for n in range(tokens)))
        self._batch = llama_cpp.llama_batch(
            n_tokens=0,
            token=self._token.ctypes.data_as(_Numbers),
            pos=self._position.ctypes.data_as(_Numbers),
            n_seq_id=self._sequences.ctypes.data_as(_Numbers),
            seq_id=ctypes.cast(self._sequence_of, ctypes.POINTER(_Numbers)),
            logits=self._output.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )

    def holding(
        self, parts: Sequence[Sequence[int]], *, starts: Sequence[int] = (), outputs: bool = True
    ) -> llama_cpp.llama_batch:
        """Return the batch with these sequences. `starts`: how many tokens of each sequence were computed before.
        `outputs`: whether the tokens have outputs."""
        at = 0
        for number, tokens in enumerate(parts):
            end = at + len(tokens)
            self._token[at:end] = tokens
            start = starts[number] if starts else 0
            self._position[at:end] = np.arange(start, start + len(tokens))
            self._sequence[at:end] = number
            at = end
        self._output[:at] = outputs
        self._batch.n_tokens = at
        return self._batch
