"""Converts text to the tokens of a GGUF model: with llama.cpp's own tokenizers, but for WordPiece with Hugging Face's
library.

llama.cpp's WordPiece drops vowel signs of Indic scripts and cuts Hangul to its first letter (measured: cosine .34 to
the correct vector for Tamil).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordPiece

from gnod.errors import ModelRejected
from gnod.models.run.engines import HuggingFace, Specials, Tokenization
from gnod.models.run.llama import library
from gnod.models.run.llama.library import llama_cpp

_WORD_START = "▁"
_SPECIAL = re.compile(r"\[.+\]")


def tokenization(model: llama_cpp.llama_model_p) -> Tokenization:
    """Return the tokenizer of a loaded model. Raises ModelRejected."""
    vocabulary = llama_cpp.llama_model_get_vocab(model)
    is_bert = llama_cpp.llama_vocab_type(vocabulary) == llama_cpp.LLAMA_VOCAB_TYPE_WPM
    # Separators between two texts: BERT's tokenizer inserts one, those of RoBERTa and XLM-RoBERTa insert two.
    has_one = is_bert or library.metadata(model, "tokenizer.ggml.add_sep_token") == "false"
    specials = _specials(vocabulary, separators=1 if has_one else 2)
    return HuggingFace(_word_pieces(vocabulary), specials) if is_bert else _Native(model, specials)


class _Native:
    """llama.cpp's own tokenizer."""

    def __init__(self, model: llama_cpp.llama_model_p, specials: Specials) -> None:
        self._vocabulary = llama_cpp.llama_model_get_vocab(model)
        self._composes = _composes(model)
        self.specials = specials

    def tokens(self, text: str) -> Sequence[int]:
        composed = unicodedata.normalize("NFC", text) if self._composes else text
        return _native_tokens(self._vocabulary, composed, with_specials=False)


def _word_pieces(vocabulary: llama_cpp.llama_vocab_p) -> Tokenizer:
    """Return BERT's tokenizer with the vocabulary of the model's file."""
    pieces = _pieces(vocabulary)
    unknown = next((piece for piece in ("[UNK]", "<unk>") if piece in pieces), None)
    if unknown is None:
        raise ModelRejected("the model's vocabulary has no piece for unknown words")
    is_cased = any(piece != piece.lower() for piece in pieces if not _SPECIAL.fullmatch(piece))
    tokenizer = Tokenizer(WordPiece(pieces, unk_token=unknown, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not is_cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


class MarkedText:
    """Markup with foreign texts in it. Special tokens count in the markup, but not in the texts."""

    def __init__(self, model: llama_cpp.llama_model_p) -> None:
        self._vocabulary = vocabulary = llama_cpp.llama_model_get_vocab(model)
        self._composes = _composes(model)
        self._specials: dict[str, int] = {}
        added: list[str] = []  # llama.cpp recognises these in every text
        for number in range(llama_cpp.llama_vocab_n_tokens(vocabulary)):
            kind = llama_cpp.llama_vocab_get_attr(vocabulary, number)
            if kind & (llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED):
                text = llama_cpp.llama_vocab_get_text(vocabulary, number).decode("utf-8", "replace")
                self._specials[text] = number
                if kind & llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED:
                    added.append(text)
        self._special, self._added = _any_of(self._specials), _any_of(added)

    def tokens(self, markup: str, texts: Mapping[str, str]) -> list[int]:
        """Return the tokens of the markup, with each key of `texts` replaced by its value."""
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
            # Tokenize it in two parts, so that llama.cpp does not recognise it.
            found += _native_tokens(self._vocabulary, text[at : match.start() + 1], with_specials=False)
            at = match.start() + 1
        return found + _native_tokens(self._vocabulary, text[at:], with_specials=False)


def _composes(model: llama_cpp.llama_model_p) -> bool:
    """Return whether the model's tokenizer first normalises text to NFC, which llama.cpp omits."""
    return library.metadata(model, "tokenizer.ggml.pre") in ("qwen2", "qwen35", "modern-bert")


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern with one group that matches any of the words, longest first. Without words, it matches
    nothing."""
    found = sorted((re.escape(word) for word in words if len(word) > 1), key=len, reverse=True)
    return re.compile(f"({'|'.join(found)})" if found else "(?!)()")


def _pieces(vocabulary: llama_cpp.llama_vocab_p) -> dict[str, int]:
    """Return the vocabulary in BERT's own notation. llama.cpp's marks the starts of words, BERT's marks
    continuations."""
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
