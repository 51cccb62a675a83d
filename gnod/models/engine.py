"""One embedding model in llama.cpp: text in, vector out. Lives in the inference worker and nowhere else.

Uses llama.cpp's C interface: the high-level class reads past its buffers with some poolings, and computes the texts
of a batch one by one. One context must only ever be used by one thread.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from gnod.errors import InferenceFailed, ModelCorrupt, ModelRejected
from gnod.models.batching import batches, windows
from gnod.models.messages import ModelSpec
from gnod.models.tokenization import tokenization

# Tokens in one step of the model. A query waits for at most one step of the backlog: 0.1 s on two cores with the
# smallest model. Larger steps are not faster (docs/BENCHMARKS.md).
BATCH_TOKENS = 512
_MAX_PARTS = 64
# A context is sized to the work: a model that takes 32,768 tokens at once would need gigabytes for it.
MAX_WINDOW = 2048

_PAIRS = (
    ("How do I bake bread at home?", "Knead flour, water and yeast, let the dough rise, and bake the loaf."),
    ("Why does my program crash?", "A null pointer was dereferenced; the stack trace shows the faulty function."),
)

Matrix = NDArray[np.float32]


def _quiet(_level: int, _text: bytes, _data: object) -> None:
    """llama.cpp prints pages while it loads."""


_QUIET = llama_cpp.llama_log_callback(_quiet)  # kept: llama.cpp calls it as long as the process lives
llama_cpp.llama_log_set(_QUIET, ctypes.c_void_p(0))
llama_cpp.llama_backend_init()


class EmbeddingEngine:
    """Raises ModelCorrupt when the file cannot be loaded, ModelRejected when it gives no sensible vectors."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = _load(spec)
        self._tokenization = tokenization(llama_cpp.llama_model_get_vocab(self._model))
        self._dimensions = llama_cpp.llama_model_n_embd(self._model)
        trained = llama_cpp.llama_model_n_ctx_train(self._model)
        self.window = min(spec.window or MAX_WINDOW, trained, MAX_WINDOW)
        self._step_tokens = max(BATCH_TOKENS, self.window)
        self._context = _context(self._model, spec, self._step_tokens)
        self._batch = llama_cpp.llama_batch_init(self._step_tokens, 0, 1)
        self._room = self.window - len(self._tokenization.prefix) - len(self._tokenization.suffix)
        self._self_test()

    def close(self) -> None:
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    def embed(self, texts: Sequence[str], between: Callable[[], None] = lambda: None) -> tuple[Matrix, int]:
        """Return one vector of length 1 a text, and how many tokens they had. A text longer than the window is
        embedded in windows, whose vectors are averaged by their lengths. `between` is called between two steps."""
        prefix, suffix = self._tokenization.prefix, self._tokenization.suffix
        parts: list[list[int]] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            for window in windows(self._tokenization.tokens(text), self._room):
                parts.append([*prefix, *window, *suffix])
                owners.append(number)
        sums = np.zeros((len(texts), self._dimensions), np.float32)
        for step, numbers in enumerate(batches(parts, budget=BATCH_TOKENS, most=_MAX_PARTS)):
            if step:
                between()
            vectors = _unit(self._run([parts[n] for n in numbers]))
            for vector, n in zip(vectors, numbers, strict=True):
                sums[owners[n]] += vector * len(parts[n])
        return _unit(sums), sum(map(len, parts))

    def _run(self, parts: list[list[int]]) -> Matrix:
        """Return the pooled vector of each part; one step of the model."""
        batch = self._batch
        at = 0
        for sequence, tokens in enumerate(parts):
            for position, token in enumerate(tokens):
                batch.token[at] = token
                batch.pos[at] = position
                batch.n_seq_id[at] = 1
                batch.seq_id[at][0] = sequence
                batch.logits[at] = 1
                at += 1
        batch.n_tokens = at
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

    def _self_test(self) -> None:
        """Two known pairs must rank the right way round. Raises ModelRejected."""
        vectors, _ = self.embed([text for pair in _PAIRS for text in pair])
        likeness = vectors[0::2] @ vectors[1::2].T
        if not np.isfinite(vectors).all() or not all(likeness[n].argmax() == n for n in range(len(_PAIRS))):
            raise ModelRejected("the model failed its self-test: it takes unlike texts for like ones")


def _load(spec: ModelSpec) -> llama_cpp.llama_model_p:
    settings = llama_cpp.llama_model_default_params()
    offloads = spec.gpu and llama_cpp.llama_supports_gpu_offload()
    settings.n_gpu_layers = 999 if offloads else 0
    model: llama_cpp.llama_model_p = llama_cpp.llama_model_load_from_file(spec.path.encode(), settings)
    if not model:
        raise ModelCorrupt(f"llama.cpp cannot load {spec.path}: it is damaged, or newer than llama.cpp")
    return model


def _context(model: llama_cpp.llama_model_p, spec: ModelSpec, tokens: int) -> llama_cpp.llama_context_p:
    settings = llama_cpp.llama_context_default_params()
    settings.n_ctx = settings.n_batch = settings.n_ubatch = tokens
    settings.n_seq_max = _MAX_PARTS
    settings.n_threads = settings.n_threads_batch = spec.threads
    settings.embeddings = True
    settings.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
    settings.kv_unified = True  # else each of the _MAX_PARTS has its share only
    settings.no_perf = True
    context: llama_cpp.llama_context_p = llama_cpp.llama_init_from_model(model, settings)
    if not context:
        llama_cpp.llama_model_free(model)
        raise ModelRejected(f"llama.cpp cannot run {spec.path} for embeddings")
    return context


def _unit(rows: Matrix) -> Matrix:
    """Scale each row to length 1; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
