"""Keep arrays out of swap and core dumps where the system allows it. For `gnoctl memory lock`, overwrite decrypted
texts in freed memory.

Python and the C library do not erase freed memory. glibc can be configured to do so, but it skips the small blocks that
each thread keeps, and Python has its own allocator for blocks of up to 512 bytes. This module fills both kinds of
blocks with zeros. It cannot erase objects that are still referenced, or blocks that other threads keep.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_libc = ctypes.CDLL(None)
_M_PERTURB = -6
_FILL = 0xFF
_STATM = Path("/proc/self/statm")
# Python's small blocks have sizes in these steps. A byte string has a header.
_STEP = 16
_LARGEST = 512
_HEADER = sys.getsizeof(b"")
_AT_A_TIME = 64
# The limit in case other threads free memory as fast as it is filled.
_MAX_BYTES = 256_000_000
# glibc's tcache: a thread keeps up to seven blocks of each size, up to 1032 bytes.
_KEPT = 7
_LARGEST_KEPT = 1032


class LockedArray:
    """An array of zeros in its own pages. `is_locked`: the pages are never swapped; it is False if the limit on locked
    memory (RLIMIT_MEMLOCK) is too small. `values` must not be used after `wipe`."""

    def __init__(self, length: int, dtype: DTypeLike) -> None:
        kind = np.dtype(dtype)
        self._pages = mmap.mmap(-1, max(length * kind.itemsize, 1))
        if hasattr(mmap, "MADV_DONTDUMP"):  # only Linux has it
            with contextlib.suppress(OSError):
                self._pages.madvise(mmap.MADV_DONTDUMP)
        self._bytes = np.frombuffer(self._pages, np.uint8)
        self.is_locked = _call("mlock", self._bytes)
        self.values: NDArray[Any] = self._bytes[: length * kind.itemsize].view(kind)

    def wipe(self) -> None:
        """Overwrite the array with zeros and unlock its pages."""
        self._bytes[:] = 0
        if self.is_locked:
            _call("munlock", self._bytes)
            self.is_locked = False


def _call(name: str, values: NDArray[np.uint8]) -> bool:
    function = getattr(_libc, name, None)
    if function is None:
        return False
    return int(function(ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes))) == 0


def overwrite_what_is_freed() -> None:
    """Make glibc overwrite each block that is freed from now on. This slows the process down, so call it only when
    memories are opened."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # musl does not have it
            _libc.mallopt(_M_PERTURB, _FILL)


def overwrite_kept_blocks() -> None:
    """Overwrite the free blocks that glibc keeps for this thread."""
    if sys.platform != "linux":
        return
    _libc.malloc.restype, _libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    for size in range(_STEP + _STEP // 2, _LARGEST_KEPT + 1, _STEP):
        blocks = [_libc.malloc(size) for _ in range(_KEPT)]
        for block in filter(None, blocks):
            ctypes.memset(block, 0, size)
        for block in blocks:
            _libc.free(block)


def overwrite_small_blocks() -> None:
    """Fill Python's free blocks with zeros. This may take a tenth of a second, so call it in a thread."""
    gc.collect()
    if not _STATM.exists():
        return
    filled: list[list[bytes]] = []
    for size in range(_LARGEST, _HEADER, -_STEP):
        filled += _fill(size - _HEADER)


def _fill(length: int) -> list[list[bytes]]:
    """Fill all free blocks of this size with byte strings, until the process needs more memory; return the strings."""
    filled: list[list[bytes]] = []
    before = _pages()
    while _pages() <= before and len(filled) * _AT_A_TIME * length < _MAX_BYTES:
        filled.append([bytes(length) for _ in range(_AT_A_TIME)])
    return filled


def _pages() -> int:
    """Return the size of the process's address space."""
    return int(_STATM.read_bytes().split()[0])
