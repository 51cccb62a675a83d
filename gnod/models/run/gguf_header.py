"""Reads the header of a GGUF file with llama.cpp's own reader.

The reader is in C, and a file may come from anyone. So the daemon starts a separate process:
`python -m gnod.models.run.gguf_header FILE` prints the number of parameters of the model.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gnod.errors import ModelCorrupt

_LIMIT_S = 60.0


class GgufHeader(NamedTuple):
    """`elements`: of all tensors. `needed_bytes`: the end of the last tensor. `parts`: the number of files of the
    model."""

    tensors: frozenset[str]
    elements: int
    needed_bytes: int
    parts: int


class _Params(ctypes.Structure):
    """gguf.h's gguf_init_params. With both fields unset, it reads no weights."""

    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


def read_header(path: Path) -> GgufHeader:
    """Read the header in this process. Raises ModelCorrupt."""
    names: list[str] = []
    elements = needed = 0
    with _opened(path) as (gguf, file):
        for number in range(gguf.gguf_get_n_tensors(file)):
            names.append(gguf.gguf_get_tensor_name(file, number).decode("utf-8", "replace"))
            kind, size = gguf.gguf_get_tensor_type(file, number), gguf.gguf_get_tensor_size(file, number)
            # A matrix that input and output share is stored once.
            elements += size // gguf.ggml_type_size(kind) * gguf.ggml_blck_size(kind)
            needed = max(needed, gguf.gguf_get_tensor_offset(file, number) + size)
        key = gguf.gguf_find_key(file, b"split.count")
        parts = gguf.gguf_get_val_u16(file, key) if key >= 0 and gguf.gguf_get_kv_type(file, key) == _U16 else 1
        return GgufHeader(frozenset(names), elements, gguf.gguf_get_data_offset(file) + needed, parts)


def parameters(path: Path) -> int:
    """Return the number of parameters of a model. The first call for a file may take a second. Raises ModelCorrupt."""
    try:
        status = path.stat()
    except OSError as error:
        raise ModelCorrupt(f"the model {path} cannot be read: {error.strerror}", {"path": str(path)}) from None
    return _parameters(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _parameters(path: Path, _size: int, _modified_ns: int) -> int:
    command = [sys.executable, "-P", "-m", __name__, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=True)
        return int(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        raise ModelCorrupt(f"the model {path} cannot be read: it is damaged", {"path": str(path)}) from None


_SIZE, _NUMBER = ctypes.c_size_t, ctypes.c_int64
_U16 = 2  # gguf.h's GGUF_TYPE_UINT16
# The result types and, after the pointer to the header, the argument types of gguf.h's functions.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "get_n_tensors": (_NUMBER, []),
    "get_tensor_name": (ctypes.c_char_p, [_NUMBER]),
    "get_tensor_type": (ctypes.c_int, [_NUMBER]),
    "get_tensor_size": (_SIZE, [_NUMBER]),
    "get_tensor_offset": (_SIZE, [_NUMBER]),
    "get_data_offset": (_SIZE, []),
    "find_key": (_NUMBER, [ctypes.c_char_p]),
    "get_kv_type": (ctypes.c_int, [_NUMBER]),
    "get_val_u16": (ctypes.c_uint16, [_NUMBER]),
    "free": (None, []),
}


@contextmanager
def _opened(path: Path) -> Iterator[tuple[ctypes.CDLL, int]]:
    """Yield the library and a pointer to the file's header."""
    from gnod.models.run.llama import library  # noqa: F401  (it keeps llama.cpp quiet)
    from gnod.models.run.llama.library import libggml

    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(libggml, f"gguf_{name}")
        function.restype, function.argtypes = result, [ctypes.c_void_p, *arguments]
    libggml.gguf_init_from_file.restype = ctypes.c_void_p
    libggml.gguf_init_from_file.argtypes = [ctypes.c_char_p, _Params]
    libggml.ggml_type_size.restype, libggml.ggml_blck_size.restype = _SIZE, _NUMBER
    file = libggml.gguf_init_from_file(str(path).encode(), _Params(no_alloc=True, context=None))
    if not file:
        raise ModelCorrupt(f"llama.cpp cannot read {path}: it is damaged, cut off, or newer than llama.cpp")
    try:
        yield libggml, file
    finally:
        libggml.gguf_free(file)


if __name__ == "__main__":
    print(read_header(Path(sys.argv[1])).elements)  # noqa: T201
