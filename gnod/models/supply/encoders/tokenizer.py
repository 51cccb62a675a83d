"""A repository's tokenizer, as Hugging Face's library writes it: `tokenizer.json`, or BERT's `vocab.txt`."""

from __future__ import annotations

from pathlib import Path

import msgspec
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.supply.encoders.files import read_json

_SPECIALS = {"cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]"}


class Settings(msgspec.Struct, frozen=True):
    """The file `tokenizer_config.json`. `model_max_length` is a huge number if there is no limit."""

    do_lower_case: bool = True
    strip_accents: bool | None = None
    tokenize_chinese_chars: bool = True
    model_max_length: float | None = None


class _Special(msgspec.Struct, frozen=True):
    content: str


class _SpecialTokens(msgspec.Struct, frozen=True):
    cls_token: str | _Special = _SPECIALS["cls"]
    sep_token: str | _Special = _SPECIALS["sep"]
    unk_token: str | _Special = _SPECIALS["unk"]
    pad_token: str | _Special = _SPECIALS["pad"]
    mask_token: str | _Special = _SPECIALS["mask"]


def read(folder: Path, vocabulary: int | None, *, lowercase: bool = False) -> Tokenizer:
    """Return the tokenizer, for a model with a `vocabulary` of that size. `lowercase`: every text is lowercased first.
    Raises ModelCorrupt, ModelRejected."""
    if (folder / "tokenizer.json").exists():
        tokenizer = _from_json(folder / "tokenizer.json")
    elif (folder / "vocab.txt").exists():
        tokenizer = _word_pieces(folder)
    else:
        raise ModelRejected("the repository has no tokenizer.json, and gnod cannot read its tokenizer in another form")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids = tokenizer.get_vocab(with_added_tokens=True).values()
    if not ids or (vocabulary and max(ids) >= vocabulary):
        raise ModelCorrupt(f"the tokenizer has {len(ids)} tokens, more than the model's vocabulary of {vocabulary}")
    if lowercase:
        own = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return tokenizer


def settings(folder: Path) -> Settings:
    path = folder / "tokenizer_config.json"
    return read_json(path, Settings) if path.exists() else Settings()


def _from_json(path: Path) -> Tokenizer:
    text = read_json(path, msgspec.Raw)  # this checks that it is JSON
    try:
        return Tokenizer.from_str(bytes(text).decode())
    except Exception as error:  # the library raises nothing more specific
        raise ModelCorrupt(f"{path.name} is damaged, or newer than the tokenizers library: {error}") from None


def _word_pieces(folder: Path) -> Tokenizer:
    """Return BERT's tokenizer, with the words of `vocab.txt`."""
    try:
        text = (folder / "vocab.txt").read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ModelCorrupt(f"vocab.txt cannot be read: {error}") from None
    # Do not use splitlines(): some pieces are line separators in Unicode.
    words = [word.removesuffix("\r") for word in text.removesuffix("\n").split("\n")]
    ids = {word: number for number, word in enumerate(words)}
    if len(ids) != len(words):
        raise ModelCorrupt("the vocabulary contains a piece twice")
    path = folder / "special_tokens_map.json"
    named = read_json(path, _SpecialTokens) if path.exists() else _SpecialTokens()
    specials = {role: _text(getattr(named, f"{role}_token")) for role in _SPECIALS}
    for role in ("cls", "sep", "unk"):
        if specials[role] not in ids:
            raise ModelCorrupt(f"the vocabulary lacks the special token {specials[role]}")
    tokenizer = Tokenizer(WordPiece(ids, unk_token=specials["unk"], max_input_chars_per_word=100))
    own = settings(folder)
    tokenizer.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=own.tokenize_chinese_chars,
        strip_accents=own.strip_accents,
        lowercase=own.do_lower_case,
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens([word for word in specials.values() if word in ids])
    first, last = specials["cls"], specials["sep"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(first, ids[first]), (last, ids[last])],
    )
    return tokenizer


def _text(special: str | _Special) -> str:
    return special if isinstance(special, str) else special.content
