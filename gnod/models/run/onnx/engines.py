"""Encoders for embeddings, and cross-encoders for reranking, in ONNX Runtime."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np

from gnod.errors import ModelRejected
from gnod.models.encoder import unit
from gnod.models.run.embedding import KNOWN_PAIRS, Matrix, Rest, TextEmbedder
from gnod.models.run.messages import ModelSpec
from gnod.models.run.onnx.session import EncoderSession, threads
from gnod.models.run.ranking import NO_HEAD, CrossEncoderPrompts, PairRanker, sigmoid
from gnod.models.run.stop import Stop

# The distance of a right answer's logit from a wrong one's: scores of .98 and .02.
_SPREAD = 8.0


class OnnxEmbedding(TextEmbedder):
    """Texts are spread over the cores: those that somebody waits for on threads of their own. Raises ModelCorrupt and
    ModelRejected."""

    def __init__(self, spec: ModelSpec) -> None:
        self._session = session = EncoderSession(spec)
        if session.settings.ranks:
            raise ModelRejected(
                "the model is a reranker, which scores pairs and returns no vectors: use it as `rerank`"
            )
        super().__init__(session.tokenization, session.window)
        self._interactive, self._background = threads(spec.threads), threads(spec.threads, background=True)
        try:
            self.self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for pool in (self._interactive, self._background):
            pool.shutdown()

    def _vectors(self, parts: Sequence[Sequence[int]], rest: Rest | None) -> Matrix:
        pool = self._background if rest else self._interactive
        compute = partial(self._in_turn, rest) if rest else self._session.run
        # The longest first, so that at the end no thread has much left.
        order = sorted(range(len(parts)), key=lambda number: -len(parts[number]))
        rows = dict(zip(order, pool.map(lambda number: compute(parts[number]), order), strict=True))
        return unit(np.stack([rows[number] for number in range(len(parts))]))

    def _in_turn(self, rest: Rest, part: Sequence[int]) -> Matrix:
        with self._session.room_for(part):
            started = time.monotonic()
            vector = self._session.run(part)
        rest(time.monotonic() - started)
        return vector


class OnnxRanking(PairRanker):
    """Raises ModelCorrupt and ModelRejected."""

    def __init__(self, spec: ModelSpec) -> None:
        session = EncoderSession(spec)
        if not session.settings.ranks:
            raise ModelRejected(NO_HEAD)
        prompts = CrossEncoderPrompts(session.tokenization, window=session.window)
        self._pairs = _Pairs(session, spec.threads)
        super().__init__(prompts, self._pairs, session.window)
        try:
            self._fit()
            self.self_test()
        except BaseException:
            self.close()
            raise

    def _fit(self) -> None:
        """Scale the logits of a model whose good documents would all get 1: those of ettin reach from -12 to 22."""
        right: list[float] = []
        wrong: list[float] = []
        for query, answer in KNOWN_PAIRS:
            opening = self._prompts.opening(query)
            for _, document in KNOWN_PAIRS:
                rest = self._prompts.rest(document, self.window - len(opening))
                (right if document == answer else wrong).append(self._pairs.logit(opening, rest))
        spread = float(np.mean(right) - np.mean(wrong))
        if spread > _SPREAD:
            self._pairs.scale, self._pairs.centre = _SPREAD / spread, float(np.mean([*right, *wrong]))


class _Pairs:
    """Reads as many documents at once as there are threads. `scale`, `centre`: of the logits, before they become
    scores."""

    def __init__(self, session: EncoderSession, count: int) -> None:
        self._session = session
        self.at_once = count
        self.scale, self.centre = 1.0, 0.0
        self._has_types = bool(session.tokenization.specials.second)
        self._pool = threads(count)

    def close(self) -> None:
        self._pool.shutdown()

    def scores(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        waiting = iter(rests)
        while texts := list(islice(waiting, self.at_once)):
            found = self._pool.map(lambda rest: None if stop() else self.logit(opening, rest), texts)
            for rest, logit in zip(texts, found, strict=True):
                if logit is None or stop():
                    return
                yield sigmoid((logit - self.centre) * self.scale), len(opening) + len(rest)

    def logit(self, opening: Sequence[int], rest: Sequence[int]) -> float:
        """Return what the model says of a document."""
        second_from = len(opening) if self._has_types else None
        tokens = [*opening, *rest]
        with self._session.room_for(tokens):
            return float(self._session.run(tokens, second_from)[0])
