"""One embedding model: text in, vector out.

The model is loaded once; what computes with it are lanes (docs/adr/0012): one in front for what somebody waits for, and
behind it one a processor core, which never wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from functools import partial
from queue import Empty, SimpleQueue

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelRejected
from gnod.models.llama import library
from gnod.models.llama.batching import batches, windows
from gnod.models.llama.lane import MAX_PARTS, Lane, Matrix
from gnod.models.llama.pairs import PAIRS
from gnod.models.llama.tokenization import tokenization
from gnod.models.messages import ModelSpec

# Tokens in one step of the model; larger steps are not faster.
BATCH_TOKENS = 256
# A context is sized to the work: a model that takes 32,768 tokens at once would need gigabytes for it.
MAX_WINDOW = 2048
# Decoders keep keys and values of every token; queries are short.
_FRONT_TOKENS = 512

Parts = Sequence[Sequence[int]]


class EmbeddingEngine:
    """For several threads. Raises ModelCorrupt when the file cannot be loaded, ModelRejected when it gives no sensible
    vectors."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = library.load(spec)
        self._lanes: list[Lane] = []
        try:
            self._tokenization = tokenization(llama_cpp.llama_model_get_vocab(self._model))
            trained = llama_cpp.llama_model_n_ctx_train(self._model)
            self.window = min(spec.window or MAX_WINDOW, trained, MAX_WINDOW)
            self._room = self.window - len(self._tokenization.prefix) - len(self._tokenization.suffix)
            self._front, self._back = self._make_lanes(spec)
            self._self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()
        llama_cpp.llama_model_free(self._model)

    def embed(self, texts: Sequence[str], *, interactive: bool = False) -> tuple[Matrix, int]:
        """Return one vector of length 1 a text, and how many tokens they had. A text longer than the window is
        embedded in windows, whose vectors are averaged by their lengths. Raises InferenceFailed."""
        prefix, suffix = self._tokenization.prefix, self._tokenization.suffix
        parts: list[list[int]] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            for window in windows(self._tokenization.tokens(text), self._room):
                parts.append([*prefix, *window, *suffix])
                owners.append(number)
        vectors = self._vectors(parts, interactive=interactive)
        lengths = np.array([len(part) for part in parts], np.float32)
        sums = np.zeros((len(texts), vectors.shape[1]), np.float32)
        np.add.at(sums, owners, vectors * lengths[:, None])
        return _unit(sums), int(lengths.sum())

    def _vectors(self, parts: Parts, *, interactive: bool) -> Matrix:
        """Return the vector of each part, of length 1."""
        in_front = interactive and all(len(part) <= self._front.tokens for part in parts)
        lanes = [self._front] if in_front else self._back
        steps: SimpleQueue[list[int]] = SimpleQueue()
        for numbers in batches(parts, budget=min(BATCH_TOKENS, lanes[0].tokens), most=MAX_PARTS):
            steps.put(numbers)
        vectors = np.empty((len(parts), llama_cpp.llama_model_n_embd(self._model)), np.float32)

        def work(lane: Lane) -> None:
            while True:
                try:
                    numbers = steps.get_nowait()
                except Empty:
                    return
                vectors[numbers] = lane.run([parts[number] for number in numbers])

        done = [lane.submit(partial(work, lane)) for lane in lanes]
        wait(done)  # all of them: none may write into what is given up
        for future in done:
            future.result()
        return _unit(vectors)

    def _make_lanes(self, spec: ModelSpec) -> tuple[Lane, list[Lane]]:
        is_encoder = not library.is_causal(self._model)
        step = max(BATCH_TOKENS, self.window)
        front = self._lane(step if is_encoder else min(step, _FRONT_TOKENS), spec.threads, background=False)
        if is_encoder:
            return front, [self._lane(step, 1, background=True) for _ in range(spec.threads)]
        return front, [self._lane(step, spec.threads, background=True)]

    def _lane(self, tokens: int, threads: int, *, background: bool) -> Lane:
        lane = Lane(self._model, tokens=tokens, threads=threads, background=background)
        self._lanes.append(lane)
        return lane

    def _self_test(self) -> None:
        """Two known pairs must rank the right way round. Raises ModelRejected."""
        vectors, _ = self.embed([text for pair in PAIRS for text in pair], interactive=True)
        likeness = vectors[0::2] @ vectors[1::2].T
        if not np.isfinite(vectors).all() or not all(likeness[n].argmax() == n for n in range(len(PAIRS))):
            raise ModelRejected("the model failed its self-test: it takes unlike texts for like ones")


def _unit(rows: NDArray[np.float32]) -> Matrix:
    """Scale each row to length 1; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
