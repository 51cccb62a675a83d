"""Read a BERT vocabulary in llama.cpp's form: word starts marked with `▁`, continuations not marked.

llama.cpp always lowercases and strips accents, so a case-sensitive vocabulary would not work.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import gguf
import msgspec

from gnod.errors import ModelCorrupt
from gnod.models.convert.encoder import Tokens

_WORD_START = "▁"
_CONTINUATION = "##"
_SPECIALS = {"cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]"}

_T = TypeVar("_T")


class _Special(msgspec.Struct, frozen=True):
    """A special token with its properties."""

    content: str


class _SpecialTokens(msgspec.Struct, frozen=True):
    cls_token: str | _Special = _SPECIALS["cls"]
    sep_token: str | _Special = _SPECIALS["sep"]
    unk_token: str | _Special = _SPECIALS["unk"]
    pad_token: str | _Special = _SPECIALS["pad"]
    mask_token: str | _Special = _SPECIALS["mask"]


class _TokenizerConfig(msgspec.Struct, frozen=True):
    do_lower_case: bool = True


class _WordPiece(msgspec.Struct, frozen=True):
    type: str
    vocab: dict[str, int]
    continuing_subword_prefix: str = _CONTINUATION


class _Normalizer(msgspec.Struct, frozen=True):
    type: str = ""
    lowercase: bool = True


class _Tokenizer(msgspec.Struct, frozen=True):
    model: _WordPiece
    normalizer: _Normalizer | None = None


def read_json(path: Path, shape: type[_T]) -> _T:
    """Return a JSON file's validated content. Raises ModelCorrupt, also for a missing file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except OSError as error:
        raise ModelCorrupt(f"{path.name} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelCorrupt(f"{path.name} is damaged: {error}") from None


def read(folder: Path) -> Tokens:
    """Return the vocabulary of a model's folder (`vocab.txt`, else `tokenizer.json`)."""
    if _keeps_case(folder):
        raise ModelCorrupt(
            "the model's vocabulary distinguishes upper and lower case, which llama.cpp does not support for BERT"
        )
    words = _words(folder)
    ids = {word: number for number, word in enumerate(words)}
    path = folder / "special_tokens_map.json"
    named = read_json(path, _SpecialTokens) if path.exists() else _SpecialTokens()
    specials = {role: _text(getattr(named, f"{role}_token")) for role in _SPECIALS}
    for role, word in specials.items():
        if word not in ids and role != "mask":
            raise ModelCorrupt(f"the vocabulary lacks the special token {word}")
    control = set(specials.values())
    return Tokens(
        model="bert",
        pieces=[_piece(word, control).encode() for word in words],
        types=[gguf.TokenType.CONTROL if word in control else gguf.TokenType.NORMAL for word in words],
        first=ids[specials["cls"]],
        last=ids[specials["sep"]],
        unknown=ids[specials["unk"]],
        pad=ids[specials["pad"]],
        mask=ids.get(specials["mask"]),
    )


def _text(special: str | _Special) -> str:
    return special if isinstance(special, str) else special.content


def _piece(word: str, control: set[str]) -> str:
    if word in control:
        return word
    return word.removeprefix(_CONTINUATION) if word.startswith(_CONTINUATION) else _WORD_START + word


def _keeps_case(folder: Path) -> bool:
    tokenizer, settings = folder / "tokenizer.json", folder / "tokenizer_config.json"
    if tokenizer.exists():
        normalizer = read_json(tokenizer, _Tokenizer).normalizer
        if normalizer is not None:
            return not normalizer.lowercase
    return settings.exists() and not read_json(settings, _TokenizerConfig).do_lower_case


def _words(folder: Path) -> list[str]:
    path = folder / "vocab.txt"
    if not path.exists():
        model = read_json(folder / "tokenizer.json", _Tokenizer).model
        if model.type != "WordPiece" or model.continuing_subword_prefix != _CONTINUATION:
            raise ModelCorrupt(f"the tokenizer is {model.type}, not BERT's WordPiece")
        return _by_id(model.vocab)
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelCorrupt(f"vocab.txt cannot be read: {error}") from None
    # Not splitlines(): some pieces are line separators in Unicode.
    return [word.removesuffix("\r") for word in text.removesuffix("\n").split("\n")]


def _by_id(vocabulary: Mapping[str, int]) -> list[str]:
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    if [vocabulary[word] for word in words] != list(range(len(words))):
        raise ModelCorrupt("tokenizer.json numbers its vocabulary with gaps")
    return words
