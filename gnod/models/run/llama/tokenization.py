"""From text to a model's tokens: with Hugging Face's library where the model's file has what it needs, else with
llama.cpp's own tokenizers.

A converted file has the original tokenizer. From other files, a WordPiece vocabulary is all that the library needs:
llama.cpp's WordPiece drops vowel signs of Indic scripts and cuts Hangul to its first letter (measured: cosine .34 to
the right vector for Tamil).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import msgspec
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordPiece

from gnod.errors import ModelRejected
from gnod.models import gguf_keys
from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp

_WORD_START = "▁"
_SPECIAL = re.compile(r"\[.+\]")


class Specials(NamedTuple):
    """The special tokens around a text, and between and after two texts. `second` is added to each of the second
    text's tokens."""

    prefix: list[int]
    suffix: list[int]
    between: list[int]
    ending: list[int]
    second: int = 0


class Tokenization(Protocol):
    """`unknown`: the tokens that stand for text that the vocabulary lacks."""

    specials: Specials

    @property
    def unknown(self) -> frozenset[int]: ...

    def tokens(self, text: str) -> Sequence[int]:
        """Return the text's tokens, without special tokens, even if the text contains their names."""


def tokenization(model: llama_cpp.llama_model_p) -> Tokenization:
    """Return the tokenizer of a loaded model. Raises ModelRejected."""
    vocabulary = llama_cpp.llama_model_get_vocab(model)
    if original := library.metadata(model, gguf_keys.TOKENIZER):
        return _Original(original, int(library.metadata(model, gguf_keys.SECOND_TEXT) or 0))
    is_bert = llama_cpp.llama_vocab_type(vocabulary) == llama_cpp.LLAMA_VOCAB_TYPE_WPM
    # Tokenizers join two texts like this: BERT's with one separator, RoBERTa's and XLM-RoBERTa's with two.
    has_one = is_bert or library.metadata(model, "tokenizer.ggml.add_sep_token") == "false"
    specials = _specials(vocabulary, separators=1 if has_one else 2)
    return _WordPieces(vocabulary, specials) if is_bert else _Native(model, specials)


class _Native:
    """llama.cpp's own."""

    def __init__(self, model: llama_cpp.llama_model_p, specials: Specials) -> None:
        self._vocabulary = llama_cpp.llama_model_get_vocab(model)
        self._composes = _composes(model)
        self.specials = specials

    @cached_property
    def unknown(self) -> frozenset[int]:
        numbers = range(llama_cpp.llama_vocab_n_tokens(self._vocabulary))
        mark = llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
        return frozenset(n for n in numbers if llama_cpp.llama_vocab_get_attr(self._vocabulary, n) & mark)

    def tokens(self, text: str) -> Sequence[int]:
        composed = unicodedata.normalize("NFC", text) if self._composes else text
        return _native_tokens(self._vocabulary, composed, with_specials=False)


class _HuggingFace:
    def __init__(self, tokenizer: Tokenizer, specials: Specials, unknown: frozenset[int]) -> None:
        self._tokenizer = tokenizer
        self.specials = specials
        self.unknown = unknown

    def tokens(self, text: str) -> Sequence[int]:
        # Convert it through bytes, because the library does not accept lone surrogates.
        clean = text.encode("utf-8", "replace").decode()
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids


class _TokenizerModel(msgspec.Struct, frozen=True):
    unk_token: str | None = None
    unk_id: int | None = None


class _TokenizerFile(msgspec.Struct, frozen=True):
    """Facts about a `tokenizer.json` that the library does not tell."""

    model: _TokenizerModel


class _Original(_HuggingFace):
    """The repository's own, from its JSON. `second`: how far the tokens of type 1 are shifted."""

    def __init__(self, text: str, second: int) -> None:
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception:  # the library raises nothing more specific
            raise ModelRejected("the tokenizer in the model's file is damaged; pull the model again") from None
        tokenizer.encode_special_tokens = True  # the names of special tokens are plain text inside a text
        model = msgspec.json.decode(text, type=_TokenizerFile).model
        unknown = tokenizer.token_to_id(model.unk_token) if model.unk_token else model.unk_id
        (plain,) = tokenizer.encode("a", add_special_tokens=False).ids[:1] or [-1]
        one, two = tokenizer.encode("a"), tokenizer.encode("a", "a")
        # The places of the texts among the special tokens, for one text and for two.
        places = [at for at, special in enumerate(two.special_tokens_mask) if not special]
        if plain < 0 or two.ids[places[0]] != plain:
            raise ModelRejected("gnod cannot use the model's tokenizer")
        ids = [token + second * kind for token, kind in zip(two.ids, two.type_ids, strict=True)]
        own = [at for at, special in enumerate(one.special_tokens_mask) if not special]
        half = len(places) // 2
        specials = Specials(
            prefix=one.ids[: own[0]],
            suffix=one.ids[own[-1] + 1 :],
            between=ids[places[half - 1] + 1 : places[half]],
            ending=ids[places[-1] + 1 :],
            second=second * two.type_ids[places[-1]],
        )
        super().__init__(tokenizer, specials, frozenset() if unknown is None else frozenset({unknown}))


class _WordPieces(_HuggingFace):
    """BERT's, with the vocabulary of the model's file."""

    def __init__(self, vocabulary: llama_cpp.llama_vocab_p, specials: Specials) -> None:
        pieces = _pieces(vocabulary)
        unknown = next((piece for piece in ("[UNK]", "<unk>") if piece in pieces), None)
        if unknown is None:
            raise ModelRejected("the model's vocabulary has no piece for unknown words")
        is_cased = any(piece != piece.lower() for piece in pieces if not _SPECIAL.fullmatch(piece))
        tokenizer = Tokenizer(WordPiece(pieces, unk_token=unknown, max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not is_cased)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        super().__init__(tokenizer, specials, frozenset({pieces[unknown]}))


class MarkedText:
    """Markup, in which special tokens count, with foreign texts in it, in which they do not."""

    def __init__(self, model: llama_cpp.llama_model_p) -> None:
        self._vocabulary = vocabulary = llama_cpp.llama_model_get_vocab(model)
        self._composes = _composes(model)
        self._specials: dict[str, int] = {}
        added: list[str] = []  # llama.cpp finds these in every text
        for number in range(llama_cpp.llama_vocab_n_tokens(vocabulary)):
            kind = llama_cpp.llama_vocab_get_attr(vocabulary, number)
            if kind & (llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED):
                text = llama_cpp.llama_vocab_get_text(vocabulary, number).decode("utf-8", "replace")
                self._specials[text] = number
                if kind & llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED:
                    added.append(text)
        self._special, self._added = _any_of(self._specials), _any_of(added)

    def tokens(self, markup: str, texts: Mapping[str, str]) -> list[int]:
        """Return the tokens of the markup, with each key of `texts` replaced by its text."""
        found: list[int] = []
        for part in self._special.split(markup):
            if part in self._specials:
                found.append(self._specials[part])
            else:
                for place, text in texts.items():
                    part = part.replace(place, text)
                found += self.plain(part)
        return found

    def plain(self, text: str) -> list[int]:
        """Return the tokens of a foreign text."""
        text = unicodedata.normalize("NFC", text) if self._composes else text
        found: list[int] = []
        at = 0
        for match in self._added.finditer(text):
            # Pass it in two parts, so that llama.cpp does not recognise it.
            found += _native_tokens(self._vocabulary, text[at : match.start() + 1], with_specials=False)
            at = match.start() + 1
        return found + _native_tokens(self._vocabulary, text[at:], with_specials=False)


def _composes(model: llama_cpp.llama_model_p) -> bool:
    """Tell whether the model's tokenizer brings text to form C first, which llama.cpp leaves out."""
    return library.metadata(model, "tokenizer.ggml.pre") in ("qwen2", "qwen35", "modern-bert")


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of one group that matches any of the words, the longest first; without words, nothing."""
    found = sorted((re.escape(word) for word in words if len(word) > 1), key=len, reverse=True)
    return re.compile(f"({'|'.join(found)})" if found else "(?!)()")


def _pieces(vocabulary: llama_cpp.llama_vocab_p) -> dict[str, int]:
    """Return the vocabulary in BERT's own form: llama.cpp's marks word starts, BERT's marks what continues a word."""
    pieces: dict[str, int] = {}
    for number in range(llama_cpp.llama_vocab_n_tokens(vocabulary)):
        text = llama_cpp.llama_vocab_get_text(vocabulary, number).decode("utf-8", "replace")
        if text.startswith(_WORD_START):
            piece = text.removeprefix(_WORD_START)
        else:
            piece = text if _SPECIAL.fullmatch(text) else f"##{text}"
        pieces.setdefault(piece, number)
    return pieces


def _specials(vocabulary: llama_cpp.llama_vocab_p, *, separators: int) -> Specials:
    plain = _native_tokens(vocabulary, "a", with_specials=False)
    whole = _native_tokens(vocabulary, "a", with_specials=True)
    for at in range(len(whole) - len(plain) + 1):
        if whole[at : at + len(plain)] == plain:
            suffix = whole[at + len(plain) :]
            return Specials(whole[:at], suffix, suffix * separators, suffix)
    raise ModelRejected("gnod cannot use the model's tokenizer")


def _native_tokens(vocabulary: llama_cpp.llama_vocab_p, text: str, *, with_specials: bool) -> list[int]:
    data = text.encode("utf-8", "replace")
    room = len(data) + 16
    while True:
        tokens = (llama_cpp.llama_token * room)()
        found = llama_cpp.llama_tokenize(vocabulary, data, len(data), tokens, room, with_specials, False)
        if found >= 0:
            return list(tokens[:found])
        room = -found
