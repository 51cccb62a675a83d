"""Read the header of a GGUF file: its tensors, and how many parameters the model has.

The `gguf` library makes an array of every word of a vocabulary, which costs seconds and hundreds of MB. Only the table
of tensors is needed. Format: ggml/docs/gguf.md of llama.cpp.
"""

from __future__ import annotations

import mmap
import struct
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gnod.errors import ModelCorrupt

MAGIC = b"GGUF"

_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_MAX_DIMENSIONS = 8
_MAX_NESTING = 4


class TensorHeader(NamedTuple):
    """`kind`: GGML's number of the data type. `offset`: from the start of all data."""

    elements: int
    kind: int
    offset: int


class GgufHeader(NamedTuple):
    """`data_start`: where the tensors' data begin. `parts`: of the whole model."""

    data_start: int
    parts: int
    tensors: list[TensorHeader]


def read_header(path: Path) -> GgufHeader:
    """Return what the header says. Raises OSError, and ValueError for a file that is damaged or no GGUF file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[: len(MAGIC)] != MAGIC:
            raise ValueError("it is not a GGUF file")
        try:
            return _HeaderReader(data).read()
        except (struct.error, IndexError) as error:
            raise ValueError(str(error)) from None


def parameters(path: Path) -> int:
    """Return how many parameters a model has. The first call for a file reads its vocabulary, in up to a second.
    Raises ModelCorrupt."""
    try:
        status = path.stat()
        return _parameters(path, status.st_size, status.st_mtime_ns)
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"the model {path} cannot be read: {error}", {"path": str(path)}) from None


@lru_cache(maxsize=64)
def _parameters(path: Path, _size: int, _modified_ns: int) -> int:
    # A matrix that input and output share is stored once.
    return sum(tensor.elements for tensor in read_header(path).tensors)


class _HeaderReader:
    """Reads the part before the tensors' data. Raises struct.error, IndexError or ValueError."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = len(MAGIC)
        self._alignment = 32
        self._parts = 1

    def read(self) -> GgufHeader:
        version = self._number("<I")
        if version not in _VERSIONS:
            raise ValueError(f"unknown version {version} of the format")
        tensors, entries = self._number("<Q"), self._number("<Q")
        for _ in range(entries):
            self._entry()
        found = [self._tensor() for _ in range(tensors)]
        return GgufHeader(-(-self._at // self._alignment) * self._alignment, self._parts, found)

    def _entry(self) -> None:
        key, kind = self._text(), self._number("<I")
        if kind not in _INTEGERS:
            self._skip(kind)
            return
        value = self._number(_INTEGERS[kind])
        if key == b"general.alignment":
            if not 0 < value <= 1 << 20:
                raise ValueError(f"an alignment of {value}")
            self._alignment = value
        elif key == b"split.count":
            self._parts = value

    def _skip(self, kind: int, nesting: int = 0) -> None:
        if kind == _STRING:
            self._text()
        elif kind == _ARRAY and nesting < _MAX_NESTING:
            inner, count = self._number("<I"), self._number("<Q")
            if inner in _SIZES:
                self._move(_SIZES[inner] * count)
                return
            for _ in range(count):
                self._skip(inner, nesting + 1)
        elif kind in _SIZES:
            self._move(_SIZES[kind])
        else:
            raise ValueError(f"unknown type of value {kind}")

    def _tensor(self) -> TensorHeader:
        self._text()
        dimensions = self._number("<I")
        if dimensions > _MAX_DIMENSIONS:
            raise ValueError(f"a tensor of {dimensions} dimensions")
        elements = 1
        for _ in range(dimensions):
            elements *= self._number("<Q")
        return TensorHeader(elements, self._number("<I"), self._number("<Q"))

    def _number(self, layout: str) -> int:
        value: int = struct.unpack_from(layout, self._data, self._at)[0]
        self._at += struct.calcsize(layout)
        return value

    def _text(self) -> bytes:
        length = self._number("<Q")
        start = self._at
        self._move(length)
        return self._data[start : self._at] if length < 64 else b""

    def _move(self, length: int) -> None:
        self._at += length
        if self._at > len(self._data):
            raise ValueError("the file ends inside its header")
