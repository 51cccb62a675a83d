"""Writes an ONNX file: a graph of operators and constants, as protobuf.

It encodes the messages itself: the package `onnx` takes 20 MB, and gnod needs only these messages of onnx.proto3.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# The oldest versions that have gnod's operators, for older runtimes.
_IR_VERSION, _OPSET = 8, 18
# ONNX Runtime's own operators.
FUSED = "com.microsoft"
FLOAT = 1
_TYPES = {"float32": FLOAT, "int8": 3, "int64": 7}


class GraphValue(NamedTuple):
    """An input or an output. A named dimension may have any size."""

    name: str
    kind: str
    shape: Sequence[int | str]


class OnnxGraph:
    """Collects constants and nodes in computing order."""

    def __init__(self) -> None:
        self._parts: list[bytes] = [_bytes(2, "gnod")]

    def constant(self, name: str, values: NDArray[Any]) -> str:
        dimensions = b"".join(_number(1, size) for size in values.shape)
        data = _bytes(9, np.ascontiguousarray(values).tobytes())
        self._parts.append(_bytes(5, dimensions + _number(2, _TYPES[values.dtype.name]) + _bytes(8, name) + data))
        return name

    def node(self, kind: str, *inputs: str, out: str, domain: str = "", **attributes: float) -> str:
        """Add an operator and return the name of its output."""
        data = b"".join([*(_bytes(1, name) for name in inputs), _bytes(2, out), _bytes(4, kind)])
        data += b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
        self._parts.append(_bytes(1, data + _bytes(7, domain)))
        return out

    def write(self, path: Path, inputs: Iterable[GraphValue], outputs: Iterable[GraphValue]) -> None:
        parts = [*self._parts, *(_bytes(11, _value(value)) for value in inputs)]
        graph = b"".join([*parts, *(_bytes(12, _value(value)) for value in outputs)])
        versions = (("", _OPSET), (FUSED, 1))
        operators = [_bytes(8, _bytes(1, domain) + _number(2, version)) for domain, version in versions]
        path.write_bytes(b"".join([_number(1, _IR_VERSION), _bytes(7, graph), *operators]))


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, 2)
    return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)


def _value(value: GraphValue) -> bytes:
    sizes = [_number(1, size) if isinstance(size, int) else _bytes(2, size) for size in value.shape]
    shape = b"".join(_bytes(1, size) for size in sizes)
    return _bytes(1, value.name) + _bytes(2, _bytes(1, _number(1, _TYPES[value.kind]) + _bytes(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Return a number in groups of seven bits, lowest first.

    >>> _varint(300), _varint(-1)[-1]
    (b'\\xac\\x02', 1)
    """
    value &= (1 << 64) - 1
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
