"""One embedding model: computes the vectors of texts.

The model is loaded once. Lanes compute with it and never wait for each other (docs/adr/0012): one serves interactive
requests, and one for each core the rest.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import wait
from functools import partial
from queue import Empty, SimpleQueue

import numpy as np

from gnod.models.encoder import Matrix, unit
from gnod.models.run.engines import Rest, TextEmbedder, packed
from gnod.models.run.llama import library
from gnod.models.run.llama.lane import MAX_PARTS, STEP_TOKENS, Lane
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.llama.tokenization import tokenization
from gnod.models.run.messages import ModelSpec

# A context is sized to the work: with 32,768 tokens at once, a model would need gigabytes.
MAX_WINDOW = 2048
# Decoders keep the keys and values of every token, and queries are short.
_INTERACTIVE_TOKENS = 512
# llama.cpp reserves 4 bytes for each word of the vocabulary and each token of an encoder's step, in every lane. All
# lanes together may use a gigabyte, half of it at once (`release_logits`).
_MAX_LOGITS = 1 << 28


class EmbeddingEngine(TextEmbedder):
    """Raises ModelCorrupt if the file cannot be loaded, and ModelRejected if it does not return useful vectors."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = library.load(spec)
        self._lanes: list[Lane] = []
        try:
            most = min(llama_cpp.llama_model_n_ctx_train(self._model), MAX_WINDOW)
            if not library.is_causal(self._model):
                most = min(most, _MAX_LOGITS // 2 // self._words)  # for the interactive lane and one more
            super().__init__(tokenization(self._model), min(spec.window or most, most))
            self._interactive, self._background = self._make_lanes(spec)
            self.self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()
        llama_cpp.llama_model_free(self._model)

    def _vectors(self, parts: Sequence[Sequence[int]], rest: Rest | None) -> Matrix:
        lanes = self._background if rest else self._interactive_lanes(parts)
        steps: SimpleQueue[list[int]] = SimpleQueue()
        # Batch parts of similar length: the attention of a step costs the square of its longest part.
        longest_first = sorted(range(len(parts)), key=lambda number: -len(parts[number]))
        lengths = [len(part) for part in parts]
        for numbers in packed(longest_first, lengths.__getitem__, limit=STEP_TOKENS, most=MAX_PARTS):
            steps.put(numbers)
        vectors = np.empty((len(parts), llama_cpp.llama_model_n_embd(self._model)), np.float32)

        def work(lane: Lane) -> None:
            while True:
                try:
                    numbers = steps.get_nowait()
                except Empty:
                    return
                started = time.monotonic()
                vectors[numbers] = lane.run([parts[number] for number in numbers])
                if rest:
                    rest(time.monotonic() - started)

        done = [lane.submit(partial(work, lane)) for lane in lanes]
        wait(done)  # wait for all, because they write into an array that is then released
        for future in done:
            future.result()
        return unit(vectors)

    def _interactive_lanes(self, parts: Sequence[Sequence[int]]) -> list[Lane]:
        return [self._interactive] if max(map(len, parts)) <= self._interactive.tokens else self._background

    def _make_lanes(self, spec: ModelSpec) -> tuple[Lane, list[Lane]]:
        is_encoder = not library.is_causal(self._model)
        step = max(STEP_TOKENS, self.window)
        tokens = step if is_encoder else min(step, _INTERACTIVE_TOKENS)
        interactive = self._lane(tokens, spec.threads)
        if not is_encoder:
            return interactive, [self._lane(step, spec.threads, background=True)]
        on_card = spec.gpu and library.has_graphics_card()
        lanes = 1 if on_card else min(spec.threads, max(1, _MAX_LOGITS // (self._words * step) - 1))
        per_lane = max(1, spec.threads // lanes)
        return interactive, [self._lane(step, per_lane, background=True) for _ in range(lanes)]

    @property
    def _words(self) -> int:
        words: int = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))
        return words

    def _lane(self, tokens: int, threads: int, *, background: bool = False) -> Lane:
        lane = Lane(self._model, tokens=tokens, threads=threads, background=background)
        self._lanes.append(lane)
        return lane
