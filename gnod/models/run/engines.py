"""The parts that all engines share: from text to vector or score. onnx.py and llama/ compute the models."""

from __future__ import annotations

import ctypes
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.encoder import Matrix, unit

if TYPE_CHECKING:
    from tokenizers import Tokenizer

T = TypeVar("T")
Rest = Callable[[float], None]
"""Called after each background computation with the seconds it took; returns when the next one may start."""

# The self-test has two questions with their answers. A model for retrieval must match them correctly.
KNOWN_PAIRS = (
    ("How do I bake bread at home?", "Knead flour, water and yeast, let the dough rise, and bake the loaf."),
    ("Why does my program crash?", "A null pointer was dereferenced; the stack trace shows the faulty function."),
)

NO_HEAD = "the model has no classification head: use a cross-encoder such as bge-reranker-v2-m3, or Qwen3-Reranker"
# A measurement takes at least this many seconds and tokens. Short texts are slower per token.
_MEASURED_S, _MEASURED_TOKENS = 0.03, 64


class Stop:
    """A flag that one thread sets to stop the work of another. llama.cpp reads it within a step, without Python: `flag`
    is empty until it is set."""

    def __init__(self) -> None:
        self.flag = ctypes.create_string_buffer(2)

    def __call__(self) -> bool:
        """Return whether the flag is set."""
        return self.flag.raw[0] != 0

    def set(self) -> None:
        self.flag[0] = b"x"


class Specials(NamedTuple):
    """The special tokens around one text, and between and after two texts. `second`: the type of the second text's
    tokens, 0 or 1."""

    prefix: list[int]
    suffix: list[int]
    between: list[int]
    ending: list[int]
    second: int = 0


class Tokenization(Protocol):
    specials: Specials

    def tokens(self, text: str) -> Sequence[int]:
        """Return the text's tokens without special tokens, even if the text contains the names of special tokens."""


class HuggingFace:
    """Hugging Face's tokenizer library, for encoders."""

    def __init__(self, tokenizer: Tokenizer, specials: Specials) -> None:
        self._tokenizer = tokenizer
        self.specials = specials
        self.words: int = tokenizer.get_vocab_size()

    def tokens(self, text: str) -> Sequence[int]:
        # Replace lone surrogates, which the library does not accept.
        clean = text.encode("utf-8", "replace").decode()
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids


class TextEmbedder(ABC):
    """Several threads may use it. `window`: tokens at once, with special tokens."""

    def __init__(self, tokenization: Tokenization, window: int) -> None:
        self._tokenization = tokenization
        self.window = window
        specials = tokenization.specials
        self._room = window - len(specials.prefix) - len(specials.suffix)

    @abstractmethod
    def _vectors(self, parts: Sequence[Sequence[int]], rest: Rest | None) -> Matrix:
        """Return the vector of each part, scaled to length 1. Raises InferenceFailed."""

    @abstractmethod
    def close(self) -> None:
        """Release the model's resources."""

    def embed(self, texts: Sequence[str], rest: Rest | None = None) -> Matrix:
        """Return one vector of length 1 for each text. A text that exceeds the window is embedded in several windows;
        their vectors are averaged, weighted by length. Without `rest`, a user is waiting. Raises InferenceFailed."""
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
    """Split a text's tokens into the fewest parts of at most `room` tokens, of nearly equal length.

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


class Prompts(Protocol):
    """The model reads the tokens of `opening`, then those of `rest`; together they fit the window."""

    def opening(self, query: str) -> list[int]:
        """Return the tokens that all documents of a query share."""

    def rest(self, document: str, room: int) -> list[int]:
        """Return the document and the end of the prompt, in at most `room` tokens."""


class CrossEncoderPrompts:
    """`[CLS] query [SEP] document [SEP]`, or with two separators between them (`<s> query </s></s> document </s>`)."""

    def __init__(self, tokenization: Tokenization, *, window: int) -> None:
        self._tokenization = tokenization
        self._specials = specials = tokenization.specials
        if not specials.between or not specials.ending:
            raise ModelRejected("the model's vocabulary has no token that separates two texts")
        self._most = half(window - len(specials.prefix) - len(specials.between) - len(specials.ending))

    def opening(self, query: str) -> list[int]:
        tokens = self._tokenization.tokens(query)[: self._most]
        return [*self._specials.prefix, *tokens, *self._specials.between]

    def rest(self, document: str, room: int) -> list[int]:
        ending = self._specials.ending
        return [*self._tokenization.tokens(document)[: room - len(ending)], *ending]


class PairRanker(ABC):
    """Several threads may use it. `window`: tokens of query and document together. `at_once`: the number of documents
    it reads in parallel."""

    at_once = 1

    def __init__(self, prompts: Prompts, window: int) -> None:
        self._prompts, self.window = prompts, window

    @abstractmethod
    def _read(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        """Yield the score of each document, in [0, 1], and the number of its tokens, in order, until `stop` is set. A
        document is the part after the opening. Raises InferenceFailed."""

    @abstractmethod
    def close(self) -> None:
        """Release the model's resources."""

    def scores(self, query: str, documents: Sequence[str], *, stop: Stop | None = None) -> Iterator[tuple[float, int]]:
        """Yield the score of each document, in [0, 1], and the number of tokens read for it, in order, until `stop` is
        set. Raises InferenceFailed."""
        opening = self._prompts.opening(query)
        room = self.window - len(opening)
        rests = (self._prompts.rest(document, room) for document in documents)
        for score, tokens in self._read(opening, rests, stop or Stop()):
            if not math.isfinite(score):
                raise InferenceFailed("the model's score for a text is not a number")
            yield score, tokens

    @property
    def room(self) -> int:
        """Return the number of tokens of query and document that fit into the window."""
        return self.window - len(self._prompts.opening("")) - 1

    def characters_per_s(self) -> float:
        """Measure how fast the model reads: double the texts until they take long enough for a measurement."""
        query, text = KNOWN_PAIRS[0]
        count = self.at_once
        while True:
            started = time.monotonic()
            tokens = max(tokens for _, tokens in self.scores(query, [text] * count))
            took_s = time.monotonic() - started
            if tokens >= self.window // 2 or (took_s >= _MEASURED_S and tokens >= _MEASURED_TOKENS):
                return count * len(query + text) / took_s
            text += " " + text

    def self_test(self) -> None:
        """Raise ModelRejected unless each known question scores its answer highest."""
        documents = [document for _, document in KNOWN_PAIRS]
        for number, (query, _) in enumerate(KNOWN_PAIRS):
            values = [score for score, _ in self.scores(query, documents)]
            if any(value >= values[number] for other, value in enumerate(values) if other != number):
                raise ModelRejected("the model failed its self-test: it scores unrelated texts higher")


def half(room: int) -> int:
    """Return the maximum number of tokens in a query. Raises ModelRejected."""
    if room < 2:
        raise ModelRejected("the model's window has no room for a query and a document")
    return room // 2


def sigmoid(value: float) -> float:
    """Return the logistic function, without overflow."""
    return 0.5 * (1 + math.tanh(value / 2))


def packed(items: Iterable[T], length: Callable[[T], int], *, limit: int, most: int) -> Iterator[list[T]]:
    """Yield groups of successive items: at most `most` items, with a total length of at most `limit`. An item over the
    limit forms its own group.

    >>> list(packed(["aaaa", "aa", "a", "a"], len, limit=3, most=9))
    [['aaaa'], ['aa', 'a'], ['a']]
    """
    pack: list[T] = []
    used = 0
    for item in items:
        size = length(item)
        if pack and (used + size > limit or len(pack) == most):
            yield pack
            pack, used = [], 0
        pack.append(item)
        used += size
    if pack:
        yield pack
