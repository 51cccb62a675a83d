"""Read safetensors: an 8-byte length, a JSON header, then the tensors. Checks everything in the header.

A model may have several files. Their headers are enough to check a model before its weights are downloaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt

LENGTH_BYTES = 8
# This is the format's own limit.
_MAX_HEADER_BYTES = 100_000_000
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}

_Natural = Annotated[int, msgspec.Meta(ge=0)]


class _TensorEntry(msgspec.Struct, frozen=True):
    dtype: str
    shape: Annotated[list[_Natural], msgspec.Meta(max_length=8)]
    data_offsets: tuple[_Natural, _Natural]


class _Stored(NamedTuple):
    path: Path
    start: int  # an offset in the data of the tensors
    entry: _TensorEntry


class SafeTensors:
    """The tensors of some files, read on demand. Raises ModelCorrupt."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._stored: dict[str, _Stored] = {}
        for path in paths:
            try:
                size = path.stat().st_size
                with path.open("rb") as file:
                    length = header_length(path.name, file.read(LENGTH_BYTES), size)
                    self.add(path, file.read(length), size)
            except OSError as error:
                raise ModelCorrupt(f"{path.name} cannot be read: {error.strerror}") from None

    def add(self, path: Path, header: bytes, size: int) -> None:
        """Add the tensors of a file of `size` bytes, which need not be there yet."""
        try:
            raw = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
            raw.pop("__metadata__", None)
            entries = {name: msgspec.json.decode(entry, type=_TensorEntry) for name, entry in raw.items()}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ModelCorrupt(f"the header of {path.name} is damaged: {error}") from None
        data = LENGTH_BYTES + len(header)
        for name, entry in entries.items():
            start, end = entry.data_offsets
            if not start <= end <= size - data:
                raise ModelCorrupt(f"{path.name} is cut off: tensor {name} lies beyond its end")
            self._stored[name] = _Stored(path, data, entry)

    def __contains__(self, name: str) -> bool:
        return name in self._stored

    def check(self, name: str, shape: tuple[int, ...]) -> None:
        """Raise ModelCorrupt unless a tensor exists and has that shape."""
        if name not in self._stored:
            raise ModelCorrupt(f"the weights lack tensor {name}")
        entry = self._stored[name].entry
        if tuple(entry.shape) != shape:
            raise ModelCorrupt(f"tensor {name} has shape {tuple(entry.shape)}; the model's configuration needs {shape}")
        if entry.dtype not in _TYPES:
            raise ModelCorrupt(
                f"tensor {name} is of type {entry.dtype}, which is not supported (only F32, F16 and BF16)"
            )
        taken = entry.data_offsets[1] - entry.data_offsets[0]
        needed = math.prod(shape) * np.dtype(_TYPES[entry.dtype]).itemsize
        if taken != needed:
            raise ModelCorrupt(f"tensor {name} takes {taken} bytes, not the {needed} of its shape")

    def read(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return a tensor as float32, mapped from its file where possible. Raises what `check` raises."""
        self.check(name, shape)
        path, data, entry = self._stored[name]
        if math.prod(shape) == 0:
            return np.zeros(shape, np.float32)
        try:
            values = np.memmap(path, _TYPES[entry.dtype], "r", data + entry.data_offsets[0], shape)
        except (OSError, ValueError):
            raise ModelCorrupt(f"{path.name} cannot be read, or is cut off") from None
        if entry.dtype == "BF16":
            # bfloat16 is the upper half of a float32.
            return (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32, copy=False)


def header_length(name: str, start: bytes, size: int) -> int:
    """Return the length of the header by the first bytes of a file of `size` bytes. Raises ModelCorrupt."""
    length = int.from_bytes(start, "little")
    if len(start) < LENGTH_BYTES or length > min(size - LENGTH_BYTES, _MAX_HEADER_BYTES):
        raise ModelCorrupt(f"{name} is cut off or not a safetensors file")
    return length
