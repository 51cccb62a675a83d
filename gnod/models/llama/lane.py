"""One llama.cpp context with the thread that it belongs to: a context must only ever be used by one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from gnod.child.priority import lower_thread
from gnod.errors import InferenceFailed, ModelRejected

T = TypeVar("T")
Matrix = NDArray[np.float32]

_Numbers = ctypes.POINTER(ctypes.c_int32)

# Sequences in one step.
MAX_PARTS = 64


class Lane:
    """Runs steps of at most `tokens` tokens on `threads` threads. `background`: what somebody waits for has the
    processor and the disk first. Raises ModelRejected."""

    def __init__(self, model: llama_cpp.llama_model_p, *, tokens: int, threads: int, background: bool) -> None:
        self.tokens = tokens
        self._dimensions = llama_cpp.llama_model_n_embd(model)
        self._context = _context(model, tokens, threads)
        self._batch = _Batch(tokens)
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="lane", initializer=lower_thread if background else None
        )

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Do something on the lane's thread."""
        return self._thread.submit(work)

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        llama_cpp.llama_free(self._context)

    def run(self, parts: Sequence[Sequence[int]]) -> Matrix:
        """Return the pooled vector of each part. On the lane's thread only. Raises InferenceFailed."""
        batch = self._batch.holding(parts)
        if memory := llama_cpp.llama_get_memory(self._context):  # decoders have one
            llama_cpp.llama_memory_clear(memory, True)
            status = llama_cpp.llama_decode(self._context, batch)
        else:
            status = llama_cpp.llama_encode(self._context, batch)
        if status:
            raise InferenceFailed(f"the model failed on a text (llama.cpp's status {status})")
        return np.stack([self._pooled(sequence) for sequence in range(len(parts))])

    def _pooled(self, sequence: int) -> Matrix:
        vector = llama_cpp.llama_get_embeddings_seq(self._context, sequence)
        if not vector:
            raise ModelRejected("the model gives no vector for a text: it is not an embedding model")
        return np.ctypeslib.as_array(vector, (self._dimensions,)).copy()


def _context(model: llama_cpp.llama_model_p, tokens: int, threads: int) -> llama_cpp.llama_context_p:
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = settings.n_batch = settings.n_ubatch = tokens
    settings.n_seq_max = MAX_PARTS
    settings.n_threads = settings.n_threads_batch = threads
    settings.embeddings = True
    settings.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    settings.kv_unified = True  # else each of the MAX_PARTS has its share only
    settings.no_perf = True
    context: llama_cpp.llama_context_p = llama_cpp.llama_init_from_model(model, settings)
    if not context:
        raise ModelRejected("llama.cpp cannot run the model for embeddings")
    return context


class _Batch:
    """llama.cpp's batch over arrays of ours, which NumPy fills at once."""

    def __init__(self, tokens: int) -> None:
        self._token = np.zeros(tokens, np.int32)
        self._position = np.zeros(tokens, np.int32)
        self._sequence = np.zeros(tokens, np.int32)
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

    def holding(self, parts: Sequence[Sequence[int]]) -> llama_cpp.llama_batch:
        """Return the batch with these sequences in it."""
        at = 0
        for number, tokens in enumerate(parts):
            end = at + len(tokens)
            self._token[at:end] = tokens
            self._position[at:end] = np.arange(len(tokens))
            self._sequence[at:end] = number
            at = end
        self._batch.n_tokens = at
        return self._batch
