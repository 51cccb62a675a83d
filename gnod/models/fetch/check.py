"""Check that a model's file is complete: compare GGUF's header with the length of the file.

The `gguf` library makes an array of every word of a vocabulary, which costs seconds and hundreds of MB. Only the table
of tensors is needed. Format: ggml/docs/gguf.md of llama.cpp.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Callable
from pathlib import Path

from gnod.errors import ModelCorrupt, ModelRejected

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_INTEGERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_MAX_DIMENSIONS = 8
_MAX_NESTING = 4
_HASH_BYTES = 1 << 22


def check_model(path: Path, name: str) -> None:
    """Raise ModelCorrupt unless `path` is a complete GGUF file, and ModelRejected for a part of a split model."""
    with path.open("rb") as file:
        start = file.read(512)
        if not start.startswith(_MAGIC):
            raise ModelCorrupt(f"{name} is not a model: it is {describe(start)}", {"path": str(path)})
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                needed, parts = _Header(data).read()
            except (struct.error, IndexError, ValueError) as error:
                raise ModelCorrupt(f"{name} is damaged or truncated: {error}", {"path": str(path)}) from None
            size = len(data)
    if needed > size:
        raise ModelCorrupt(
            f"{name} is truncated: it has {size:,} bytes and its tensors need {needed:,}",
            {"path": str(path), "bytes": size, "needed_bytes": needed},
        )
    if parts > 1:
        raise ModelRejected(
            f"{name} is one of {parts} parts of a model, which gnod does not join; choose one in a single file",
            {"path": str(path), "parts": parts},
        )


def describe(start: bytes) -> str:
    """Return what a file is that is not a model, by its first bytes."""
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not start:
        return "empty"
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<script", b"<!--")):
        return "a web page (a login or error page: of the hub, of a proxy, or of this network)"
    if text.startswith((b'{"error', b"{'error")):
        return "an error message of the server"
    if start.startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS, without the file itself"
    if start.startswith((b"ggml", b"ggjt", b"lmgg", b"tjgg")):
        return "a model in a format that llama.cpp dropped in 2023; use a GGUF file"
    return "not a GGUF file"


def sha256_of(path: Path, progress: Callable[[int], None] = lambda _: None) -> str:
    """Return the hash in hex; `progress` receives the bytes done."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while data := file.read(_HASH_BYTES):
            digest.update(data)
            done += len(data)
            progress(done)
    return digest.hexdigest()


class _Header:
    """Reads the part before the tensors' data. Raises struct.error, IndexError or ValueError."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = len(_MAGIC)
        self._alignment = 32
        self._parts = 1

    def read(self) -> tuple[int, int]:
        """Return (expected bytes of the file, parts of the whole model)."""
        version = self._number("<I")
        if version not in _VERSIONS:
            raise ValueError(f"unknown version {version} of the format")
        tensors, entries = self._number("<Q"), self._number("<Q")
        for _ in range(entries):
            self._entry()
        ends = [self._tensor() for _ in range(tensors)]
        start = -(-self._at // self._alignment) * self._alignment
        return start + max(ends, default=0), self._parts

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

    def _tensor(self) -> int:
        """Return the end of the tensor's data, from the start of all data."""
        self._text()
        dimensions = self._number("<I")
        if dimensions > _MAX_DIMENSIONS:
            raise ValueError(f"a tensor of {dimensions} dimensions")
        elements = 1
        for _ in range(dimensions):
            elements *= self._number("<Q")
        kind, offset = self._number("<I"), self._number("<Q")
        return offset + _bytes_of(kind, elements)

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


def _bytes_of(kind: int, elements: int) -> int:
    """Return the size of a tensor; 0 for a type that the library does not know."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        block, size = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    except (ValueError, KeyError):
        return 0
    return elements // block * size
