"""One reranking model: a query and a document in, a score out.

Three kinds of model can do it: encoders with a classification head, Qwen3-Reranker with a head of two classes, and
Qwen3-Reranker with the head of its language model, of which only the words "yes" and "no" count.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.library import Stop
from gnod.models.run.llama.packing import STEP_TOKENS
from gnod.models.run.llama.prompts import QWEN3_TEMPLATE, CrossEncoderPrompts, Prompts, TemplatePrompts
from gnod.models.run.llama.reading import DecoderReading, EncoderReading, LlamaReading
from gnod.models.run.llama.tokenization import tokenization
from gnod.models.run.messages import ModelSpec

# The tokens of query and document together. A context is sized to the work: the maximum of a model would cost
# gigabytes, and on a processor minutes.
MAX_WINDOW = 2048
MAX_WINDOW_ON_GPU = 32_768
# llama.cpp keeps 4 bytes for each word of the vocabulary and each token that an encoder reads, but never uses them.
# This allows a gigabyte, so 1,073 tokens for a vocabulary of 250,000.
_MAX_LOGITS = 1 << 28
# A small model is an eighth faster with two passages of 160 tokens in a step. A large one is not, and would often be
# stopped within a step, whose documents are then lost.
_SMALL_WEIGHTS = 40_000_000
_LARGE_STEP_TOKENS, _LARGE_STEP_LOGITS = 384, 1 << 25
# Long enough to measure a speed. Short texts are slower per token.
_MEASURED_S, _MEASURED_TOKENS = 0.03, 64
_HEADS = ("cls.weight", "cls.output.weight")


class RankingEngine:
    """Several threads may use it. Raises ModelCorrupt if the file cannot be loaded, and ModelRejected if it is not a
    reranker or fails the self-test."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = library.load(spec)
        self._reading: LlamaReading | None = None
        try:
            trained = llama_cpp.llama_model_n_ctx_train(self._model)
            most = MAX_WINDOW_ON_GPU if spec.gpu and library.has_graphics_card() else MAX_WINDOW
            self.window = min(spec.window or most, trained, most)
            make = self._decoder if library.is_causal(self._model) else self._encoder
            self._prompts, self._reading = make(spec)
            self._self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._reading:
            self._reading.close()
        llama_cpp.llama_model_free(self._model)

    def scores(self, query: str, documents: Sequence[str], *, stop: Stop | None = None) -> Iterator[tuple[float, int]]:
        """Yield the score of each document, in [0, 1], and the number of tokens read for it, in order, until `stop` is
        set. Raises InferenceFailed."""
        assert self._reading
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
        own: list[int] = self._prompts.opening("")
        return int(self.window) - len(own) - 1

    def characters_per_s(self) -> float:
        """Measure how fast the model reads: a text that is doubled until it takes long enough to tell."""
        query, text = library.KNOWN_PAIRS[0]
        while True:
            started = time.monotonic()
            [(_, tokens)] = self.scores(query, [text])
            took_s = time.monotonic() - started
            if tokens >= self.window // 2 or (took_s >= _MEASURED_S and tokens >= _MEASURED_TOKENS):
                return len(query + text) / took_s
            text += " " + text

    def _encoder(self, spec: ModelSpec) -> tuple[Prompts, LlamaReading]:
        if not library.has_tensor(spec, *_HEADS):
            raise ModelRejected(
                "the model has no classification head: use a cross-encoder such as bge-reranker-v2-m3, or "
                "Qwen3-Reranker"
            )
        if (classes := llama_cpp.llama_model_n_cls_out(self._model)) != 1:
            raise ModelRejected(f"the model sorts texts into {classes} classes; a reranker has one score")
        vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        words = llama_cpp.llama_vocab_n_tokens(vocabulary)
        self.window = min(self.window, _MAX_LOGITS // words)
        prompts = CrossEncoderPrompts(tokenization(self._model), window=self.window)
        weights = 12 * llama_cpp.llama_model_n_layer(self._model) * llama_cpp.llama_model_n_embd(self._model) ** 2
        is_small = weights <= _SMALL_WEIGHTS and words * _LARGE_STEP_TOKENS <= _LARGE_STEP_LOGITS
        step = _LARGE_STEP_TOKENS if is_small else STEP_TOKENS
        return prompts, EncoderReading(self._model, window=self.window, step=step, threads=spec.threads)

    def _decoder(self, spec: ModelSpec) -> tuple[Prompts, LlamaReading]:
        if library.metadata(self._model, "general.architecture") != "qwen3":
            raise ModelRejected(
                "gnod cannot rerank with this language model: use Qwen3-Reranker, or a cross-encoder such as "
                "bge-reranker-v2-m3"
            )
        library.require_vocabulary(self._model)
        template = llama_cpp.llama_model_chat_template(self._model, b"rerank")
        prompts = TemplatePrompts(
            self._model, template.decode("utf-8", "replace") if template else QWEN3_TEMPLATE, window=self.window
        )
        has_head = library.has_tensor(spec, *_HEADS)
        answers = self._classes() if has_head else [prompts.word("yes"), prompts.word("no")]
        reading = DecoderReading(self._model, answers, has_head=has_head, window=self.window, threads=spec.threads)
        return prompts, reading

    def _classes(self) -> list[int]:
        """Return the numbers of the classes "yes" and "no"."""
        count = llama_cpp.llama_model_n_cls_out(self._model)
        labels = [llama_cpp.llama_model_cls_label(self._model, number) for number in range(count)]
        if sorted(label or b"" for label in labels) != [b"no", b"yes"]:
            raise ModelRejected("the model's classification head has other classes than yes and no")
        return [labels.index(b"yes"), labels.index(b"no")]

    def _self_test(self) -> None:
        """Raise ModelRejected unless each known question scores its answer highest."""
        documents = [document for _, document in library.KNOWN_PAIRS]
        for number, (query, _) in enumerate(library.KNOWN_PAIRS):
            values = [score for score, _ in self.scores(query, documents)]
            if any(value >= values[number] for other, value in enumerate(values) if other != number):
                raise ModelRejected("the model failed its self-test: it scores unrelated texts higher")
