"""A repository's tokenizer, as Hugging Face's library writes it: `tokenizer.json`."""

from __future__ import annotations

from pathlib import Path

import msgspec
from tokenizers import Tokenizer, normalizers

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.supply.encoders.files import optional, read_json


class _Settings(msgspec.Struct, frozen=True):
    """The file `tokenizer_config.json`. `model_max_length` is a huge number if there is no limit."""

    model_max_length: float | None = None


def read(folder: Path, vocabulary: int | None, *, lowercase: bool = False) -> Tokenizer:
    """Return the tokenizer, for a model with a `vocabulary` of that size. `lowercase`: every text is lowercased first.
    Raises ModelCorrupt, ModelRejected."""
    if not (folder / "tokenizer.json").exists():
        raise ModelRejected("the repository has no tokenizer.json, and gnod cannot read its tokenizer in another form")
    tokenizer = _from_json(folder / "tokenizer.json")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids = tokenizer.get_vocab(with_added_tokens=True).values()
    if not ids or (vocabulary and max(ids) >= vocabulary):
        raise ModelCorrupt(f"the tokenizer has {len(ids)} tokens, more than the model's vocabulary of {vocabulary}")
    if lowercase:
        own = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return tokenizer


def longest(folder: Path) -> float | None:
    """Return how many tokens the model takes, by its tokenizer's settings."""
    return optional(folder / "tokenizer_config.json", _Settings).model_max_length


def _from_json(path: Path) -> Tokenizer:
    text = read_json(path, msgspec.Raw)  # this checks that it is JSON
    try:
        return Tokenizer.from_str(bytes(text).decode())
    except Exception as error:  # the library raises nothing more specific
        raise ModelCorrupt(f"{path.name} is damaged, or newer than the tokenizers library: {error}") from None
