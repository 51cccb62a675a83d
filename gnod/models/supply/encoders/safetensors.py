"""Reads safetensors files: an 8-byte length, a JSON header, then the tensors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt

_LENGTH_BYTES = 8
# This is the format's own limit.
_MAX_HEADER_BYTES = 100_000_000
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}

_Natural = Annotated[int, msgspec.Meta(ge=0)]


class _Entry(msgspec.Struct, frozen=True):
    dtype: str
    shape: Annotated[list[_Natural], msgspec.Meta(max_length=8)]
    data_offsets: tuple[_Natural, _Natural]


class SafeTensors:
    """The tensors of a file, read on demand. Raises ModelCorrupt."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._size = path.stat().st_size
            with path.open("rb") as file:
                length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
                if length > min(self._size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
                    raise ModelCorrupt(f"{path.name} is cut off or not a safetensors file")
                raw = msgspec.json.decode(file.read(length), type=dict[str, msgspec.Raw])
            raw.pop("__metadata__", None)
            self._entries = {name: msgspec.json.decode(entry, type=_Entry) for name, entry in raw.items()}
        except OSError as error:
            raise ModelCorrupt(f"{path.name} cannot be read: {error.strerror}") from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ModelCorrupt(f"the header of {path.name} is damaged: {error}") from None
        self._start = _LENGTH_BYTES + length

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return a tensor as float32, mapped from its file where possible."""
        entry = self._checked(name, shape)
        try:
            values = np.memmap(self._path, _TYPES[entry.dtype], "r", self._start + entry.data_offsets[0], shape)
        except (OSError, ValueError):
            raise ModelCorrupt(f"{self._path.name} cannot be read, or is cut off") from None
        if entry.dtype == "BF16":
            # bfloat16 is the upper half of a float32.
            return (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32, copy=False)

    def _checked(self, name: str, shape: tuple[int, ...]) -> _Entry:
        entry = self._entries.get(name)
        if entry is None:
            raise ModelCorrupt(f"the weights lack tensor {name}")
        if tuple(entry.shape) != shape or entry.dtype not in _TYPES:
            raise ModelCorrupt(
                f"tensor {name} has shape {tuple(entry.shape)} and type {entry.dtype}; the model's configuration needs "
                f"{shape} in F32, F16 or BF16"
            )
        start, end = entry.data_offsets
        if end - start != math.prod(shape) * np.dtype(_TYPES[entry.dtype]).itemsize or end > self._size - self._start:
            raise ModelCorrupt(f"{self._path.name} is cut off, or the size of tensor {name} is wrong")
        return entry
