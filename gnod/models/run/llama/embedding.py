"""One embedding model: text in, vector out.

The model is loaded once. Lanes compute with it (docs/adr/0012): one for interactive requests, another for short ones,
and one for each core for the rest. They never wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from functools import partial
from queue import Empty, SimpleQueue
from typing import NamedTuple

import numpy as np

from gnod.errors import ModelRejected
from gnod.models import gguf_keys
from gnod.models.output_layers import OutputLayers, unit
from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.lane import Lane, Matrix
from gnod.models.run.llama.packing import STEP_TOKENS, packed
from gnod.models.run.llama.tokenization import tokenization
from gnod.models.run.messages import ModelSpec

# A context is sized to the work: a model that takes 32,768 tokens at once would need gigabytes for it.
MAX_WINDOW = 2048
# Decoders keep keys and values of every token, and queries are short.
_INTERACTIVE_TOKENS = 512
# With fewer tokens, llama.cpp's flash attention computes row by row.
_SHORT_TOKENS = 64


class EngineVectors(NamedTuple):
    """`tokens` of all texts; `unknown`: those of them that stand for text that the vocabulary lacks, if counted."""

    vectors: Matrix
    tokens: int
    unknown: int


class EmbeddingEngine:
    """Several threads may use it. Raises ModelCorrupt if the file cannot be loaded, and ModelRejected if it does not
    return useful vectors."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = library.load(spec)
        self._lanes: list[Lane] = []
        try:
            self._tokenization = tokenization(self._model)
            trained = llama_cpp.llama_model_n_ctx_train(self._model)
            self.window = min(spec.window or MAX_WINDOW, trained, MAX_WINDOW)
            specials = self._tokenization.specials
            self._room = self.window - len(specials.prefix) - len(specials.suffix)
            dimensions = llama_cpp.llama_model_n_embd(self._model)
            self._output = OutputLayers(library.metadata(self._model, gguf_keys.OUTPUT_LAYERS), dimensions)
            self._short, self._interactive, self._background = self._make_lanes(spec)
            self._self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()
        llama_cpp.llama_model_free(self._model)

    def embed(self, texts: Sequence[str], *, interactive: bool = False, count_unknown: bool = False) -> EngineVectors:
        """Return one vector of length 1 for each text. A text longer than the window is embedded in windows; their
        vectors are averaged by length. Raises InferenceFailed."""
        prefix, suffix, *_ = self._tokenization.specials
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
        missing = self._tokenization.unknown if count_unknown else frozenset[int]()
        unknown = sum(token in missing for part in parts for token in part)
        return EngineVectors(unit(sums), int(lengths.sum()), unknown)

    def _vectors(self, parts: Sequence[Sequence[int]], *, interactive: bool) -> Matrix:
        """Return the vector of each part, of length 1."""
        lanes = self._interactive_lanes(parts) if interactive else self._background
        steps: SimpleQueue[list[int]] = SimpleQueue()
        # Put similar lengths together: the attention of a step costs the square of its longest part.
        longest_first = sorted(range(len(parts)), key=lambda number: -len(parts[number]))
        for numbers in packed(longest_first, lambda number: len(parts[number])):
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
        wait(done)  # wait for all of them: none may write into an array that is released
        for future in done:
            future.result()
        return unit(self._output(vectors))

    def _interactive_lanes(self, parts: Sequence[Sequence[int]]) -> list[Lane]:
        lengths = [len(part) for part in parts]
        if sum(lengths) <= self._short.tokens:
            return [self._short]
        return [self._interactive] if max(lengths) <= self._interactive.tokens else self._background

    def _make_lanes(self, spec: ModelSpec) -> tuple[Lane, Lane, list[Lane]]:
        is_encoder = not library.is_causal(self._model)
        step = max(STEP_TOKENS, self.window)
        tokens = step if is_encoder else min(step, _INTERACTIVE_TOKENS)
        interactive = self._lane(tokens, spec.threads)
        if not is_encoder:
            return interactive, interactive, [self._lane(step, spec.threads, background=True)]
        short = interactive
        if not library.is_quantised(self._model):
            short = self._lane(_SHORT_TOKENS, spec.threads, flash_attention=False)
        return short, interactive, [self._lane(step, 1, background=True) for _ in range(spec.threads)]

    def _lane(self, tokens: int, threads: int, *, background: bool = False, flash_attention: bool = True) -> Lane:
        lane = Lane(self._model, tokens=tokens, threads=threads, background=background, flash_attention=flash_attention)
        self._lanes.append(lane)
        return lane

    def _self_test(self) -> None:
        """Raise ModelRejected unless each known question is nearest to its answer."""
        vectors = self.embed([text for pair in library.KNOWN_PAIRS for text in pair], interactive=True).vectors
        similarities = vectors[0::2] @ vectors[1::2].T
        is_right = (similarities.argmax(axis=1) == np.arange(len(similarities))).all()
        if not (np.isfinite(vectors).all() and is_right):
            raise ModelRejected("the model failed its self-test: it gives related texts unrelated vectors")


def windows(tokens: Sequence[int], room: int) -> Iterator[Sequence[int]]:
    """Split a text's tokens into as few parts as fit into `room` each, of nearly equal length.

    >>> [list(part) for part in windows([1, 2, 3, 4, 5], 2)]
    [[1, 2], [3, 4], [5]]
    """
    count = max(1, -(-len(tokens) // room))
    length, longer = divmod(len(tokens), count)
    at = 0
    for number in range(count):
        end = at + length + (number < longer)
        yield tokens[at:end]
        at = end
