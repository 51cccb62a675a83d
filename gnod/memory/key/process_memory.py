"""Arrays that stay out of swap and core dumps where the system allows it. For `gnoctl memory lock`: overwrite decrypted
texts in freed memory.

Python and the C library do not erase what is freed. glibc does when it is told to, but leaves out the small blocks that
each thread keeps, and Python has an allocator of its own for blocks of up to 512 bytes. These are filled with zeros
here. What is still referenced stays, and so does what other threads keep.
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
# Fill at most this much, if other threads free memory as fast as it is filled.
_MAX_BYTES = 256_000_000
# A thread keeps up to seven blocks of each size up to this one (glibc's tcache).
_KEPT = 7
_LARGEST_KEPT = 1032


class LockedArray:
    """An array of zeros in pages of its own. `is_locked`: they are never swapped; the limit on locked memory
    (RLIMIT_MEMLOCK) may be too small. `values` must not be used after `wipe`."""

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
    """Have glibc overwrite each block that is freed from now on. This takes time: call it when memories are opened."""
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
    """Fill Python's free blocks with zeros. Call it in a thread: it may take a tenth of a second."""
    gc.collect()
    if not _STATM.exists():
        return
    filled: list[list[bytes]] = []
    for size in range(_LARGEST, _HEADER, -_STEP):
        filled += _fill(size - _HEADER)


def _fill(length: int) -> list[list[bytes]]:
    """Return byte strings of this length in all free blocks of their size: until the process needs more memory."""
    filled: list[list[bytes]] = []
    before = _pages()
    while _pages() <= before and len(filled) * _AT_A_TIME * length < _MAX_BYTES:
        filled.append([bytes(length) for _ in range(_AT_A_TIME)])
    return filled


def _pages() -> int:
    """Return the size of the process's address space."""
    return int(_STATM.read_bytes().split()[0])
