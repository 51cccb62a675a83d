"""Choose the next token: a grammar permits tokens, the model rates them."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from gnod.errors import InferenceFailed
from gnod.models.run.llama.bindings import llama_cpp

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
# With a temperature, tokens less likely than this share of the most likely one are excluded.
_MIN_SHARE = 0.05


class Sampler:
    """Serves one request. Raises InferenceFailed for an invalid grammar."""

    def __init__(
        self, vocabulary: llama_cpp.llama_vocab_p, *, grammar: str | None, temperature: float, seed: int
    ) -> None:
        self._size = llama_cpp.llama_vocab_n_tokens(vocabulary)
        self._vocabulary = vocabulary
        self._grammar = _grammar(vocabulary, grammar) if grammar is not None else None
        self._chain = _chain(temperature, seed) if temperature > 0 else None

    def close(self) -> None:
        for sampler in (self._grammar, self._chain):
            if sampler:
                llama_cpp.llama_sampler_free(sampler)

    def next(self, context: llama_cpp.llama_context_p) -> int | None:
        """Choose the next token and return it; None at the end."""
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (self._size,))
        token = self._choose(logits)
        # Checking one token against the grammar costs nothing; checking all takes 20 ms.
        if self._grammar and not np.isfinite(self._permitted(np.array([token]), logits)).all():
            permitted = self._permitted(np.arange(self._size), logits)
            if not np.isfinite(permitted).any():
                return None
            token = self._choose(permitted)
        if llama_cpp.llama_vocab_is_eog(self._vocabulary, token):
            return None
        if self._grammar:
            llama_cpp.llama_sampler_accept(self._grammar, token)
        return token

    def _choose(self, logits: NDArray[np.float32]) -> int:
        if self._chain is None:
            return int(logits.argmax())
        candidates = _candidates(np.arange(self._size), logits)
        selected = _apply(self._chain, candidates)
        return int(candidates["id"][selected])

    def _permitted(self, tokens: NDArray[np.int64], logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the tokens' logits: -inf for those that the grammar forbids."""
        candidates = _candidates(tokens, logits[tokens])
        _apply(self._grammar, candidates)
        return candidates["logit"]


def _candidates(tokens: NDArray[np.int64], logits: NDArray[np.float32]) -> NDArray[np.void]:
    candidates = np.zeros(len(tokens), _CANDIDATE)
    candidates["id"] = tokens
    candidates["logit"] = logits
    return candidates


def _apply(sampler: llama_cpp.llama_sampler_p | None, candidates: NDArray[np.void]) -> int:
    """Apply a sampler to the candidates in place. Returns the one that it selected, if any."""
    array = llama_cpp.llama_token_data_array(
        data=ctypes.cast(candidates.ctypes.data, llama_cpp.llama_token_data_p),
        size=len(candidates),
        selected=-1,
        sorted=False,
    )
    llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
    return int(array.selected)


def _grammar(vocabulary: llama_cpp.llama_vocab_p, grammar: str) -> llama_cpp.llama_sampler_p:
    text = grammar.encode().partition(b"\0")[0]
    # An empty grammar would permit everything.
    sampler: llama_cpp.llama_sampler_p | None = (
        llama_cpp.llama_sampler_init_grammar(vocabulary, text, b"root") if text else None
    )
    if not sampler:
        raise InferenceFailed("the grammar is invalid: llama.cpp needs GBNF with a rule `root`")
    return sampler


def _chain(temperature: float, seed: int) -> llama_cpp.llama_sampler_p:
    chain: llama_cpp.llama_sampler_p = llama_cpp.llama_sampler_chain_init(
        llama_cpp.llama_sampler_chain_default_params()
    )
    for sampler in (
        llama_cpp.llama_sampler_init_min_p(_MIN_SHARE, 1),
        llama_cpp.llama_sampler_init_temp(temperature),
        llama_cpp.llama_sampler_init_dist(seed & 0xFFFFFFFF),
    ):
        llama_cpp.llama_sampler_chain_add(chain, sampler)
    return chain
