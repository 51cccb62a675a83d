"""One generative model: takes a conversation and yields the assistant's text in pieces."""

from __future__ import annotations

import codecs
import ctypes
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.errors import InferenceFailed, ModelRejected
from gnod.models.run.engines import Stop
from gnod.models.run.llama import library
from gnod.models.run.llama.chat import Chat, Messages
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.messages import GENERATION_WINDOW, ModelSpec

# The number of prompt tokens in a step. Larger steps are not faster on a processor. The result of a step depends
# slightly on its length, so only whole steps are kept for the next request: an answer never depends on earlier
# requests.
_STEP_TOKENS = 64
_THINK, _END_THINK = "<think>", "</think>"
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class GeneratedPiece(NamedTuple):
    """`text` may be empty. `prompt_tokens` (read or cached) and `tokens` (generated) count from the start. `finish` is
    set in the last piece."""

    text: str
    finish: Literal["stop", "length"] | None
    prompt_tokens: int
    tokens: int


class GenerationEngine:
    """Use it from one thread only. Raises ModelCorrupt if the file cannot be loaded, and ModelRejected if the model
    cannot generate."""

    def __init__(self, spec: ModelSpec) -> None:
        self._model = library.load(spec)
        self._to_free = ExitStack()
        self._to_free.callback(llama_cpp.llama_model_free, self._model)
        try:
            self._vocabulary = llama_cpp.llama_model_get_vocab(self._model)
            if not library.is_causal(self._model) or llama_cpp.llama_model_has_encoder(self._model):
                raise ModelRejected("the model does not write text: it is not a generator")
            trained = llama_cpp.llama_model_n_ctx_train(self._model)
            self.window = min(spec.window or GENERATION_WINDOW, trained, GENERATION_WINDOW)
            step = min(self.window, _STEP_TOKENS)
            self._context = library.new_context(
                self._model,
                "to write text",
                threads=spec.threads,
                n_ctx=self.window,
                n_batch=step,
                n_ubatch=step,
                n_seq_max=1,
                n_outputs_max=1,  # only the last token's output is used
            )
            self._to_free.callback(llama_cpp.llama_free, self._context)
            self._chat = Chat(self._model, llama_cpp.llama_model_chat_template(self._model, None))
        except BaseException:
            self.close()
            raise
        # The prompt's tokens in the context's memory. Many requests have the same beginning, which is not read twice.
        self._cached: list[int] = []
        self._stop = Stop()

    def close(self) -> None:
        self._to_free.close()

    def generate(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        grammar: str | None = None,
        stop: Stop,
    ) -> Iterator[GeneratedPiece]:
        """Generate the assistant's next message until it ends or `stop` is set. Raises InferenceFailed."""
        prompt = self._chat.tokens(messages)
        if len(prompt) >= self.window:
            raise InferenceFailed(f"the prompt has {len(prompt):,} tokens and the model takes {self.window:,}")
        with closing(Sampler(self._vocabulary, grammar)) as sampler:
            self._stop = stop
            library.watch(stop, self._context)
            yield from self._read(prompt)
            if not stop():
                yield from self._write(sampler, len(prompt), max_tokens, VisibleText(may_think=grammar is None))

    def _read(self, prompt: list[int]) -> Iterator[GeneratedPiece]:
        # Always read the last token, because its output is needed.
        shared = _shared_length(self._cached, prompt[:-1])
        self._forget_after(shared - shared % _STEP_TOKENS)
        for at in range(len(self._cached), len(prompt), _STEP_TOKENS):
            tokens = prompt[at : at + _STEP_TOKENS]
            if not self._step(tokens):
                return
            self._cached += tokens
            yield GeneratedPiece("", None, len(self._cached), 0)

    def _write(
        self, sampler: Sampler, prompt_tokens: int, max_tokens: int, visible: VisibleText
    ) -> Iterator[GeneratedPiece]:
        count = 0
        while (token := sampler.next(self._context)) is not None:
            count += 1
            text = visible.add(self._bytes(token))
            if count >= max_tokens or prompt_tokens + count >= self.window:
                yield GeneratedPiece(text + visible.rest(), "length", prompt_tokens, count)
                return
            yield GeneratedPiece(text, None, prompt_tokens, count)
            if not self._step([token]):
                return
        yield GeneratedPiece(visible.rest(), "stop", prompt_tokens, count)

    def _step(self, tokens: list[int]) -> bool:
        """Process the next tokens; False if stopped. Raises InferenceFailed."""
        if self._stop():
            return False
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(array, len(tokens)))
        if status == library.ABORTED and self._stop():
            return False
        if status:
            raise InferenceFailed(f"the model failed on a prompt (llama.cpp's status {status})")
        return True

    def _forget_after(self, length: int) -> None:
        """Truncate the context's memory, which also holds the last reply and the rest of a stopped step."""
        memory = llama_cpp.llama_get_memory(self._context)
        if not llama_cpp.llama_memory_seq_rm(memory, 0, length, -1):
            llama_cpp.llama_memory_clear(memory, True)  # a recurrent model cannot go back
            length = 0
        del self._cached[length:]

    def _bytes(self, token: int) -> bytes:
        # Special tokens have no text, except those that VisibleText needs.
        name = llama_cpp.llama_vocab_get_text(self._vocabulary, token)
        is_shown = name in (_THINK.encode(), _END_THINK.encode())
        room = 64
        while True:
            piece = ctypes.create_string_buffer(room)
            length = llama_cpp.llama_token_to_piece(self._vocabulary, token, piece, room, 0, is_shown)
            if length >= 0:
                return piece.raw[:length]
            room = -length


class Sampler:
    """Chooses the next token of one request: of the tokens that the grammar permits, the one with the highest logit.
    Raises InferenceFailed for an invalid grammar."""

    def __init__(self, vocabulary: llama_cpp.llama_vocab_p, grammar: str | None) -> None:
        self._size = llama_cpp.llama_vocab_n_tokens(vocabulary)
        self._vocabulary = vocabulary
        self._grammar = _grammar(vocabulary, grammar) if grammar is not None else None

    def close(self) -> None:
        if self._grammar:
            llama_cpp.llama_sampler_free(self._grammar)

    def next(self, context: llama_cpp.llama_context_p) -> int | None:
        """Choose the next token and return it; None at the end."""
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (self._size,))
        token = int(logits.argmax())
        # Checking one token against the grammar costs nothing; checking all takes 20 ms.
        if self._grammar and not np.isfinite(self._permitted(np.array([token]), logits)).all():
            permitted = self._permitted(np.arange(self._size), logits)
            if not np.isfinite(permitted).any():
                return None
            token = int(permitted.argmax())
        if llama_cpp.llama_vocab_is_eog(self._vocabulary, token):
            return None
        if self._grammar:
            llama_cpp.llama_sampler_accept(self._grammar, token)
        return token

    def _permitted(self, tokens: NDArray[np.int64], logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the logits of the tokens, with -inf for tokens that the grammar forbids."""
        candidates = np.zeros(len(tokens), _CANDIDATE)
        candidates["id"], candidates["logit"] = tokens, logits[tokens]
        array = llama_cpp.llama_token_data_array(
            data=ctypes.cast(candidates.ctypes.data, llama_cpp.llama_token_data_p),
            size=len(candidates),
            selected=-1,
            sorted=False,
        )
        llama_cpp.llama_sampler_apply(self._grammar, ctypes.byref(array))
        return candidates["logit"]


class VisibleText:
    """The visible text, from the bytes of the tokens: whole characters only. With `may_think`, it omits a `<think>`
    block at the beginning."""

    def __init__(self, *, may_think: bool) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_beginning = may_think
        self._held_back = ""

    def add(self, piece: bytes) -> str:
        """Return the text that these bytes make visible.

        >>> visible = VisibleText(may_think=True)
        >>> [visible.add(piece) for piece in (b"<thi", b"nk>Hm.</think>", b" Caf", b"\\xc3", b"\\xa9")]
        ['', '', 'Caf', '', 'é']
        """
        text = self._decoder.decode(piece)
        if not self._is_beginning:
            return text
        self._held_back += text
        beginning = self._held_back.lstrip()
        if beginning.startswith(_THINK):
            beginning = beginning.partition(_END_THINK)[2].lstrip()
            if not beginning:
                return ""
            self._held_back = beginning
        elif _THINK.startswith(beginning):
            return ""  # the bytes may become a character
        return self._release()

    def rest(self) -> str:
        """Return the text held back so far, without an incomplete character or thought. Call it at the end."""
        return "" if self._held_back.lstrip().startswith(_THINK) else self._release()

    def _release(self) -> str:
        self._is_beginning = False
        text, self._held_back = self._held_back, ""
        return text


def _shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def _grammar(vocabulary: llama_cpp.llama_vocab_p, grammar: str) -> llama_cpp.llama_sampler_p:
    text = grammar.encode().partition(b"\0")[0]
    # An empty grammar would permit everything.
    sampler: llama_cpp.llama_sampler_p | None = (
        llama_cpp.llama_sampler_init_grammar(vocabulary, text, b"root") if text else None
    )
    if not sampler:
        raise InferenceFailed("the grammar is invalid: llama.cpp needs GBNF with a rule `root`")
    return sampler
