"""Reranking models: score a document for a query.

There are three kinds: encoders with a classification head, Qwen3-Reranker with a head of two classes, and
Qwen3-Reranker with the language model's head, of which only the words "yes" and "no" count. A score does not depend on
earlier documents. Documents of the same step change it by less than 1e-3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Lock

from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.run.engines import NO_HEAD, CrossEncoderPrompts, PairRanker, Stop, half, packed, sigmoid
from gnod.models.run.gguf_header import read_header
from gnod.models.run.llama import library
from gnod.models.run.llama.lane import MAX_PARTS, STEP_TOKENS, Lane, Stopped
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.llama.tokenization import MarkedText, tokenization
from gnod.models.run.messages import ModelSpec

# The most tokens of query and document together. A context is sized to the work: the model's own maximum would cost
# gigabytes, and minutes on a processor.
MAX_WINDOW = 2048
# Until `release_logits`, llama.cpp reserves 4 bytes for each word of the vocabulary and each token that an encoder
# reads. This limit allows a gigabyte: 1,073 tokens for a vocabulary of 250,000.
_MAX_LOGITS = 1 << 28
_HEADS = ("cls.weight", "cls.output.weight")

# The template of Qwen3-Reranker (https://huggingface.co/Qwen/Qwen3-Reranker-0.6B), as llama.cpp's converter writes it
# into a file.
QWEN3_TEMPLATE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
    "<Query>: {query}\n<Document>: {document}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n"
)
_QUERY, _DOCUMENT = "{query}", "{document}"


def ranking_engine(spec: ModelSpec) -> PairRanker:
    """Load a reranker. Raises ModelCorrupt if the file cannot be loaded, and ModelRejected if it is not a reranker or
    fails the self-test."""
    model = library.load(spec)
    try:
        engine = _DecoderRanker(model, spec) if library.is_causal(model) else _EncoderRanker(model, spec)
    except BaseException:
        llama_cpp.llama_model_free(model)
        raise
    try:
        engine.self_test()
    except BaseException:
        engine.close()
        raise
    return engine


class _EncoderRanker(PairRanker):
    """A cross-encoder whose head returns one logit. It reads several short documents in one step. Raises
    ModelRejected."""

    def __init__(self, model: llama_cpp.llama_model_p, spec: ModelSpec) -> None:
        if not _has_head(spec):
            raise ModelRejected(NO_HEAD)
        if (classes := llama_cpp.llama_model_n_cls_out(model)) != 1:
            raise ModelRejected(f"the model sorts texts into {classes} classes; a reranker has one score")
        words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        window = min(_window(model, spec), _MAX_LOGITS // words)
        super().__init__(CrossEncoderPrompts(tokenization(model), window=window), window)
        self._model = model
        self._lane = Lane(model, tokens=max(window, STEP_TOKENS), threads=spec.threads, ranks=True)

    def close(self) -> None:
        self._lane.close()
        llama_cpp.llama_model_free(self._model)

    def _read(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        pairs = ([*opening, *rest] for rest in rests)
        for pack in packed(pairs, len, limit=STEP_TOKENS, most=MAX_PARTS):
            try:
                logits = self._lane.submit(partial(self._lane.run, pack, stop)).result()
            except Stopped:
                return
            for tokens, logit in zip(pack, logits[:, 0], strict=True):
                if stop():
                    return
                yield sigmoid(float(logit)), len(tokens)


class _DecoderRanker(PairRanker):
    """A language model that answers yes or no, with a class of its head or a token. It reads one document at a time;
    their common beginning stays in memory. Raises ModelRejected."""

    def __init__(self, model: llama_cpp.llama_model_p, spec: ModelSpec) -> None:
        if library.metadata(model, "general.architecture") != "qwen3":
            raise ModelRejected(
                "gnod cannot rerank with this language model: use Qwen3-Reranker, or a cross-encoder such as "
                "bge-reranker-v2-m3"
            )
        window = _window(model, spec)
        own = llama_cpp.llama_model_chat_template(model, b"rerank")
        prompts = TemplatePrompts(model, own.decode("utf-8", "replace") if own else QWEN3_TEMPLATE, window=window)
        super().__init__(prompts, window)
        self._model = model
        self._has_head = _has_head(spec)
        self._yes, self._no = _classes(model) if self._has_head else (prompts.word("yes"), prompts.word("no"))
        self._step_tokens = step = min(STEP_TOKENS, window)  # larger steps cost memory
        self._context = library.new_context(
            model,
            "for reranking",
            threads=spec.threads,
            n_ctx=window,
            n_batch=step,
            n_ubatch=step,
            n_seq_max=1,
            n_outputs_max=1,
            pooling_type=llama_cpp.LLAMA_POOLING_TYPE_RANK if self._has_head else llama_cpp.LLAMA_POOLING_TYPE_NONE,
            # With 16-bit memory, flash attention also sums in 16 bits, which makes the error in a score ten times as
            # large.
            flash_attn_type=llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        )
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._opening: list[int] = []
        self._stop = Stop()  # keep a reference, because llama.cpp reads it
        self._one_at_a_time = Lock()

    def close(self) -> None:
        llama_cpp.llama_free(self._context)
        llama_cpp.llama_model_free(self._model)

    def _read(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        for rest in rests:
            with self._one_at_a_time:
                self._stop = stop
                library.watch(stop, self._context)
                score = self._score(opening, rest)
            if score is None or stop():
                return
            yield score, len(opening) + len(rest)

    def _score(self, opening: Sequence[int], rest: Sequence[int]) -> float | None:
        """Return the score of a document; None if stopped."""
        if not self._open(list(opening)) or not self._compute(rest[:-1]):
            return None
        # While llama.cpp returns embeddings, it computes all logits of its input: gigabytes for a document.
        llama_cpp.llama_set_embeddings(self._context, self._has_head)
        is_read = self._compute(rest[-1:])
        llama_cpp.llama_set_embeddings(self._context, False)
        return self._answer() if is_read else None

    def _open(self, opening: list[int]) -> bool:
        """Keep only the opening in memory, which all documents of a query share; False if stopped."""
        if opening == self._opening:
            llama_cpp.llama_memory_seq_rm(self._memory, 0, len(opening), -1)
            return True
        self._opening = []
        llama_cpp.llama_memory_clear(self._memory, True)
        if not self._compute(opening):
            return False
        self._opening = opening
        return True

    def _compute(self, tokens: Sequence[int]) -> bool:
        # Check the flag first: on a card, a step cannot be stopped.
        steps = range(0, len(tokens), self._step_tokens)
        return all(not self._stop() and self._step(tokens[at : at + self._step_tokens]) for at in steps)

    def _step(self, tokens: Sequence[int]) -> bool:
        """Compute one step with tokens that follow the ones in memory; False if stopped. Raises InferenceFailed."""
        # Keep the array until the step is done, because the batch only points to it.
        numbers = (llama_cpp.llama_token * len(tokens))(*tokens)
        status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(numbers, len(tokens)))
        if status not in (0, library.ABORTED):
            raise InferenceFailed(f"the model failed on a text (llama.cpp's status {status})")
        return bool(status == 0)

    def _answer(self) -> float:
        if self._has_head:  # these are already probabilities
            values = llama_cpp.llama_get_embeddings_seq(self._context, 0)
            if not values:
                raise InferenceFailed("the model gave no score for a text")
            return float(values[self._yes])
        logits = llama_cpp.llama_get_logits_ith(self._context, -1)
        return sigmoid(logits[self._yes] - logits[self._no])  # this is the softmax of the two


class TemplatePrompts:
    """A template with `{query}` and, after it, `{document}`. A text never becomes a special token. A text that is too
    long is cut at its end, so that the prompt stays complete."""

    def __init__(self, model: llama_cpp.llama_model_p, template: str, *, window: int) -> None:
        before, separator, after = template.partition(_DOCUMENT)
        if not separator or before.count(_QUERY) != 1 or _QUERY in after or _DOCUMENT in after:
            raise ModelRejected("gnod cannot use the model's prompt for reranking")
        self._text = MarkedText(model)
        # A space belongs to the token of the next word, which is the document's first word.
        self._space = " " if before.endswith(" ") else ""
        self._before = before.removesuffix(" ")
        self._closing = self._text.tokens(after, {})
        opening = self._text.tokens(self._before, {_QUERY: ""})
        self._most = half(window - len(opening) - len(self._closing))

    def opening(self, query: str) -> list[int]:
        return self._text.tokens(self._before, {_QUERY: self._shortened(query)})

    def rest(self, document: str, room: int) -> list[int]:
        tokens = self._text.plain(self._space + document)
        return [*tokens[: room - len(self._closing)], *self._closing]

    def word(self, text: str) -> int:
        """Return the token of an answer that is one token long. Raises ModelRejected."""
        tokens = self._text.plain(text)
        if len(tokens) != 1:
            raise ModelRejected(f"the model's vocabulary has no token for the answer {text!r}")
        return tokens[0]

    def _shortened(self, query: str) -> str:
        # Shorten the text, not its tokens: the last tokens depend on the text after them.
        while (length := len(self._text.plain(query))) > self._most:
            query = query[: len(query) * self._most // length]
        return query


def _window(model: llama_cpp.llama_model_p, spec: ModelSpec) -> int:
    trained: int = llama_cpp.llama_model_n_ctx_train(model)
    return min(spec.window or MAX_WINDOW, trained, MAX_WINDOW)


def _classes(model: llama_cpp.llama_model_p) -> tuple[int, int]:
    """Return the indices of the classes "yes" and "no"."""
    count = llama_cpp.llama_model_n_cls_out(model)
    labels = [llama_cpp.llama_model_cls_label(model, number) for number in range(count)]
    if sorted(label or b"" for label in labels) != [b"no", b"yes"]:
        raise ModelRejected("the model's classification head has other classes than yes and no")
    return labels.index(b"yes"), labels.index(b"no")


def _has_head(spec: ModelSpec) -> bool:
    """Return whether the file has the weights of a classification head. llama.cpp does not report this."""
    return not read_header(Path(spec.path)).tensors.isdisjoint(_HEADS)
