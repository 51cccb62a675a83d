"""One reranking model: a query and a document in, a score out.

Three kinds of model can do it: encoders with a classification head, Qwen3-Reranker with a head of two classes, and
Qwen3-Reranker with the head of its language model, of which only the words "yes" and "no" count.
"""

from __future__ import annotations

from pathlib import Path

from gnod.errors import ModelRejected
from gnod.models.run.gguf_header import read_header
from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.prompts import QWEN3_TEMPLATE, TemplatePrompts
from gnod.models.run.llama.reading import DecoderReading, EncoderReading
from gnod.models.run.llama.tokenization import tokenization
from gnod.models.run.messages import ModelSpec
from gnod.models.run.ranking import NO_HEAD, CrossEncoderPrompts, PairRanker, PairReading, Prompts

# The tokens of query and document together. A context is sized to the work: the maximum of a model would cost
# gigabytes, and on a processor minutes.
MAX_WINDOW = 2048
# llama.cpp reserves 4 bytes for each word of the vocabulary and each token that an encoder reads, until
# `release_logits`. This allows a gigabyte, so 1,073 tokens for a vocabulary of 250,000.
_MAX_LOGITS = 1 << 28
_HEADS = ("cls.weight", "cls.output.weight")


class RankingEngine(PairRanker):
    """Several threads may use it. Raises ModelCorrupt if the file cannot be loaded, and ModelRejected if it is not a
    reranker or fails the self-test."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = library.load(spec)
        try:
            trained = llama_cpp.llama_model_n_ctx_train(self._model)
            self.window = min(spec.window or MAX_WINDOW, trained, MAX_WINDOW)
            make = self._decoder if library.is_causal(self._model) else self._encoder
            super().__init__(*make(spec), self.window)
        except BaseException:
            llama_cpp.llama_model_free(self._model)
            raise
        try:
            self.self_test()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        super().close()
        llama_cpp.llama_model_free(self._model)

    def _encoder(self, spec: ModelSpec) -> tuple[Prompts, PairReading]:
        if not _has_head(spec):
            raise ModelRejected(NO_HEAD)
        if (classes := llama_cpp.llama_model_n_cls_out(self._model)) != 1:
            raise ModelRejected(f"the model sorts texts into {classes} classes; a reranker has one score")
        vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        words = llama_cpp.llama_vocab_n_tokens(vocabulary)
        self.window = min(self.window, _MAX_LOGITS // words)
        prompts = CrossEncoderPrompts(tokenization(self._model), window=self.window)
        return prompts, EncoderReading(self._model, window=self.window, threads=spec.threads)

    def _decoder(self, spec: ModelSpec) -> tuple[Prompts, PairReading]:
        if library.metadata(self._model, "general.architecture") != "qwen3":
            raise ModelRejected(
                "gnod cannot rerank with this language model: use Qwen3-Reranker, or a cross-encoder such as "
                "bge-reranker-v2-m3"
            )
        template = llama_cpp.llama_model_chat_template(self._model, b"rerank")
        prompts = TemplatePrompts(
            self._model, template.decode("utf-8", "replace") if template else QWEN3_TEMPLATE, window=self.window
        )
        has_head = _has_head(spec)
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


def _has_head(spec: ModelSpec) -> bool:
    """Tell whether the file has the weights of a classification head, which llama.cpp does not report."""
    return not read_header(Path(spec.path)).tensors.isdisjoint(_HEADS)
