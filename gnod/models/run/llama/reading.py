"""How a reranker reads the tokens of a query and its documents and scores them. Knows tokens, no texts.

Uses llama.cpp's own functions: llama-cpp-python reads a whole vector where a head gives one number. A score does not
depend on what was read before, and by less than 1e-3 on what is read with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from threading import Lock

from gnod.errors import InferenceFailed
from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.lane import STEP_TOKENS, Lane, Stopped, packed
from gnod.models.run.ranking import sigmoid
from gnod.models.run.stop import Stop


class EncoderReading:
    """A cross-encoder, whose head gives one logit. It reads short documents that follow each other in one step. Raises
    ModelRejected."""

    at_once = 1

    def __init__(self, model: llama_cpp.llama_model_p, *, window: int, threads: int) -> None:
        self._lane = Lane(model, tokens=max(window, STEP_TOKENS), threads=threads, ranks=True)

    def close(self) -> None:
        self._lane.close()

    def scores(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        for pack in packed(([*opening, *rest] for rest in rests), len):
            try:
                logits = self._lane.submit(partial(self._lane.run, pack, stop)).result()
            except Stopped:
                return
            for tokens, logit in zip(pack, logits[:, 0], strict=True):
                if stop():
                    return
                yield sigmoid(float(logit)), len(tokens)


class DecoderReading:
    """A language model that answers yes or no. `answers`: their numbers, among the head's classes or the tokens. It
    reads one document after the other: what they share stays in memory. Raises ModelRejected."""

    at_once = 1

    def __init__(
        self, model: llama_cpp.llama_model_p, answers: Sequence[int], *, has_head: bool, window: int, threads: int
    ) -> None:
        self._step_tokens = step = min(STEP_TOKENS, window)  # larger steps cost memory
        self._context = library.new_context(
            model,
            "for reranking",
            threads=threads,
            n_ctx=window,
            n_batch=step,
            n_ubatch=step,
            n_seq_max=1,
            n_outputs_max=1,
            pooling_type=llama_cpp.LLAMA_POOLING_TYPE_RANK if has_head else llama_cpp.LLAMA_POOLING_TYPE_NONE,
            # Flash attention sums in 16 bits if memory is in 16 bits, which makes the error in a score ten times as
            # large.
            flash_attn_type=llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        )
        self._memory = llama_cpp.llama_get_memory(self._context)
        self._yes, self._no = answers
        self._has_head = has_head
        self._opening: list[int] = []
        self._stop = Stop()  # keep it, because llama.cpp reads it
        self._one_at_a_time = Lock()

    def close(self) -> None:
        llama_cpp.llama_free(self._context)

    def scores(self, opening: Sequence[int], rests: Iterable[Sequence[int]], stop: Stop) -> Iterator[tuple[float, int]]:
        for rest in rests:
            with self._one_at_a_time:
                self._stop = stop
                library.watch(stop, self._context)
                score = self._score(opening, rest)
            if score is None or stop():
                return
            yield score, len(opening) + len(rest)

    def _score(self, opening: Sequence[int], rest: Sequence[int]) -> float | None:
        """Return the score of a document; None when it was stopped."""
        if not self._open(list(opening)) or not self._read(rest[:-1]):
            return None
        # While llama.cpp returns embeddings, it computes all logits for what it reads: gigabytes for a document.
        llama_cpp.llama_set_embeddings(self._context, self._has_head)
        is_read = self._read(rest[-1:])
        llama_cpp.llama_set_embeddings(self._context, False)
        return self._answer() if is_read else None

    def _open(self, opening: list[int]) -> bool:
        """Leave only the opening in memory, which all documents of a query share; False when it was stopped."""
        if opening == self._opening:
            llama_cpp.llama_memory_seq_rm(self._memory, 0, len(opening), -1)
            return True
        self._opening = []
        llama_cpp.llama_memory_clear(self._memory, True)
        if not self._read(opening):
            return False
        self._opening = opening
        return True

    def _read(self, tokens: Sequence[int]) -> bool:
        # Check the flag first: on a card, a step cannot be stopped.
        steps = range(0, len(tokens), self._step_tokens)
        return all(not self._stop() and self._step(tokens[at : at + self._step_tokens]) for at in steps)

    def _step(self, tokens: Sequence[int]) -> bool:
        """Compute one step, of tokens that follow those in memory; False when it was stopped. Raises
        InferenceFailed."""
        # Keep it until the step is done, because the batch only points to it.
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
