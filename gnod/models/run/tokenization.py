"""From text to tokens with Hugging Face's library, for encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tokenizers import Tokenizer

from gnod.errors import ModelRejected


class Specials(NamedTuple):
    """The special tokens around a text, and between and after two texts. `second`: the type of the second text's
    tokens, 0 or 1."""

    prefix: list[int]
    suffix: list[int]
    between: list[int]
    ending: list[int]
    second: int = 0


class Tokenization(Protocol):
    specials: Specials

    def tokens(self, text: str) -> Sequence[int]:
        """Return the text's tokens, without special tokens, even if the text contains their names."""


class HuggingFace:
    def __init__(self, tokenizer: Tokenizer, specials: Specials) -> None:
        self._tokenizer = tokenizer
        self.specials = specials
        self.words: int = tokenizer.get_vocab_size()

    def tokens(self, text: str) -> Sequence[int]:
        # Convert it through bytes, because the library does not accept lone surrogates.
        clean = text.encode("utf-8", "replace").decode()
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids


def from_json(text: str) -> HuggingFace:
    """Return the tokenizer of a `tokenizer.json`. Raises ModelRejected."""
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception:  # the library raises nothing more specific
        raise ModelRejected("the model's tokenizer.json is damaged; pull the model again") from None
    tokenizer.encode_special_tokens = True  # the names of special tokens are plain text inside a text
    return HuggingFace(tokenizer, _specials(tokenizer))


def _specials(tokenizer: Tokenizer) -> Specials:
    (plain,) = tokenizer.encode("a", add_special_tokens=False).ids[:1] or [-1]
    one, two = tokenizer.encode("a"), tokenizer.encode("a", "a")
    # The places of the texts among the special tokens, for one text and for two.
    places = [at for at, special in enumerate(two.special_tokens_mask) if not special]
    own = [at for at, special in enumerate(one.special_tokens_mask) if not special]
    if plain < 0 or len(places) < 2 or two.ids[places[0]] != plain:
        raise ModelRejected("gnod cannot use the model's tokenizer")
    half = len(places) // 2
    return Specials(
        prefix=one.ids[: own[0]],
        suffix=one.ids[own[-1] + 1 :],
        between=two.ids[places[half - 1] + 1 : places[half]],
        ending=two.ids[places[-1] + 1 :],
        second=two.type_ids[places[-1]],
    )
