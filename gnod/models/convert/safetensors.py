"""Read a safetensors file: an 8-byte length, a JSON header, then the tensors. Checks everything in the header."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt

# The format's own limit.
_MAX_HEADER_BYTES = 100_000_000
_LENGTH_BYTES = 8
_TYPES: dict[str, str] = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}

_Natural = Annotated[int, msgspec.Meta(ge=0)]


class _Entry(msgspec.Struct, frozen=True):
    dtype: str
    shape: Annotated[list[_Natural], msgspec.Meta(max_length=8)]
    data_offsets: tuple[_Natural, _Natural]


class SafeTensors:
    """The tensors of one file, read on demand."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
                if size < _LENGTH_BYTES or length > min(size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
                    raise ModelCorrupt(f"{path.name} is cut off or not a safetensors file")
                header = file.read(length)
        except OSError as error:
            raise ModelCorrupt(f"{path.name} cannot be read: {error.strerror}") from None
        self._start = _LENGTH_BYTES + length
        self._entries = self._decode(header, size - self._start)

    def _decode(self, header: bytes, data_bytes: int) -> dict[str, _Entry]:
        try:
            raw = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
            raw.pop("__metadata__", None)
            entries = {name: msgspec.json.decode(entry, type=_Entry) for name, entry in raw.items()}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ModelCorrupt(f"the header of {self._path.name} is damaged: {error}") from None
        for name, entry in entries.items():
            start, end = entry.data_offsets
            if not start <= end <= data_bytes:
                raise ModelCorrupt(f"{self._path.name} is cut off: tensor {name} lies beyond its end")
        return entries

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return a tensor as float32. Raises ModelCorrupt unless it exists and has that shape."""
        entry = self._entries.get(name)
        if entry is None:
            raise ModelCorrupt(f"{self._path.name} lacks tensor {name}")
        if tuple(entry.shape) != shape:
            raise ModelCorrupt(f"tensor {name} has shape {tuple(entry.shape)}; the model's configuration needs {shape}")
        stored: np.dtype[Any] | None = np.dtype(_TYPES[entry.dtype]) if entry.dtype in _TYPES else None
        if stored is None:
            raise ModelCorrupt(
                f"tensor {name} is of type {entry.dtype}, which is not supported (only F32, F16 and BF16)"
            )
        start, end = entry.data_offsets
        count = math.prod(shape)
        if end - start != count * stored.itemsize:
            raise ModelCorrupt(
                f"tensor {name} takes {end - start} bytes, not the {count * stored.itemsize} of its shape"
            )
        try:
            values = np.fromfile(self._path, stored, count, offset=self._start + start)
        except OSError as error:
            raise ModelCorrupt(f"{self._path.name} cannot be read: {error.strerror}") from None
        if len(values) != count:
            raise ModelCorrupt(f"{self._path.name} is cut off")
        if entry.dtype == "BF16":
            # bfloat16 is the upper half of a float32.
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(np.float32, copy=False).reshape(shape)
