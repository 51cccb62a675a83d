"""Arrays that stay out of swap and core dumps where the system allows it, and that can be overwritten."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_libc = ctypes.CDLL(None, use_errno=True)


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
