"""What every engine for embeddings does: text in, vector out. How a model computes is for the engines to know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelRejected
from gnod.models.encoder import unit
from gnod.models.run.tokenization import Tokenization

Matrix = NDArray[np.float32]
Rest = Callable[[float], None]
"""Called after each computation that nobody waits for, with its seconds; returns when the next one may begin."""

# The self-test: two questions with their answers, which a model for retrieval must match correctly.
KNOWN_PAIRS = (
    ("How do I bake bread at home?", "Knead flour, water and yeast, let the dough rise, and bake the loaf."),
    ("Why does my program crash?", "A null pointer was dereferenced; the stack trace shows the faulty function."),
)


class TextEmbedder(ABC):
    """Several threads may use it. `window`: tokens at once, special tokens included."""

    def __init__(self, tokenization: Tokenization, window: int) -> None:
        self._tokenization = tokenization
        self.window = window
        specials = tokenization.specials
        self._room = window - len(specials.prefix) - len(specials.suffix)

    @abstractmethod
    def _vectors(self, parts: Sequence[Sequence[int]], rest: Rest | None) -> Matrix:
        """Return the vector of each part, of length 1. Raises InferenceFailed."""

    @abstractmethod
    def close(self) -> None:
        """Free what the model holds."""

    def embed(self, texts: Sequence[str], rest: Rest | None = None) -> Matrix:
        """Return one vector of length 1 for each text. A text longer than the window is embedded in windows; their
        vectors are averaged by length. Without `rest`, somebody waits for them. Raises InferenceFailed."""
        prefix, suffix, *_ = self._tokenization.specials
        parts: list[list[int]] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            for window in windows(self._tokenization.tokens(text), self._room):
                parts.append([*prefix, *window, *suffix])
                owners.append(number)
        vectors = self._vectors(parts, rest)
        lengths = np.array([len(part) for part in parts], np.float32)
        sums = np.zeros((len(texts), vectors.shape[1]), np.float32)
        np.add.at(sums, owners, vectors * lengths[:, None])
        return unit(sums)

    def self_test(self) -> None:
        """Raise ModelRejected unless each known question is nearest to its answer."""
        vectors = self.embed([text for pair in KNOWN_PAIRS for text in pair])
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
