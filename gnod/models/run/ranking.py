"""What every reranking engine does: a query and a document in, a score out. How a model computes is for the engines to
know."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.run.embedding import KNOWN_PAIRS
from gnod.models.run.stop import Stop
from gnod.models.run.tokenization import Tokenization

NO_HEAD = "the model has no classification head: use a cross-encoder such as bge-reranker-v2-m3, or Qwen3-Reranker"
# Long enough to measure a speed. Short texts are slower per token.
_MEASURED_S, _MEASURED_TOKENS = 0.03, 64


class Prompts(Protocol):
    """The model reads the tokens of `opening`, then those of `rest`; together they fit the window."""

    def opening(self, query: str) -> list[int]:
        """Return the tokens that all documents of a query share."""

    def rest(self, document: str, room: int) -> list[int]:
        """Return the document and the end of the prompt, in at most `room` tokens."""


class PairReading(Protocol):
    """Several threads may use it. `at_once`: how many documents it reads side by side."""

    at_once: int

    def scores(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        """Yield the score of each document, in [0, 1], and the number of its tokens, in order, until `stop` is set. A
        document is what follows the opening. Raises InferenceFailed."""

    def close(self) -> None: ...


class CrossEncoderPrompts:
    """`[CLS] query [SEP] document [SEP]`, or with two separators between (`<s> query </s></s> document </s>`)."""

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


class PairRanker:
    """Several threads may use it. `window`: tokens of query and document together."""

    def __init__(self, prompts: Prompts, reading: PairReading, window: int) -> None:
        self._prompts, self._reading, self.window = prompts, reading, window

    def close(self) -> None:
        self._reading.close()

    def scores(self, query: str, documents: Sequence[str], *, stop: Stop | None = None) -> Iterator[tuple[float, int]]:
        """Yield the score of each document, in [0, 1], and the number of tokens read for it, in order, until `stop` is
        set. Raises InferenceFailed."""
        opening = self._prompts.opening(query)
        room = self.window - len(opening)
        rests = (self._prompts.rest(document, room) for document in documents)
        for score, tokens in self._reading.scores(opening, rests, stop or Stop()):
            if not math.isfinite(score):
                raise InferenceFailed("the model's score for a text is not a number")
            yield score, tokens

    @property
    def room(self) -> int:
        """Return how many tokens of query and document fit into the window."""
        return self.window - len(self._prompts.opening("")) - 1

    def characters_per_s(self) -> float:
        """Measure how fast the model reads: texts that are doubled until they take long enough to tell."""
        query, text = KNOWN_PAIRS[0]
        count = self._reading.at_once
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
    """Return how many tokens a query may have. Raises ModelRejected."""
    if room < 2:
        raise ModelRejected("the model's window has no room for a query and a document")
    return room // 2


def sigmoid(value: float) -> float:
    """Return the logistic function, without overflow."""
    return 0.5 * (1 + math.tanh(value / 2))
