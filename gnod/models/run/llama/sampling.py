"""Choose the next token: the one that the model rates highest, of those that a grammar permits."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from gnod.errors import InferenceFailed
from gnod.models.run.llama.bindings import llama_cpp

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Sampler:
    """Serves one request. Raises InferenceFailed for an invalid grammar."""

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
        """Return the tokens' logits: -inf for those that the grammar forbids."""
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


def _grammar(vocabulary: llama_cpp.llama_vocab_p, grammar: str) -> llama_cpp.llama_sampler_p:
    text = grammar.encode().partition(b"\0")[0]
    # An empty grammar would permit everything.
    sampler: llama_cpp.llama_sampler_p | None = (
        llama_cpp.llama_sampler_init_grammar(vocabulary, text, b"root") if text else None
    )
    if not sampler:
        raise InferenceFailed("the grammar is invalid: llama.cpp needs GBNF with a rule `root`")
    return sampler
