"""Settings of the daemon's process: garbage collection, switches between threads, memory, open files, file modes.

Child processes inherit the environment, the umask and the limit of open files. Imports nothing slow.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys

# OpenBLAS's threads wait actively for some 20 ms after each product, on the processor that the embedding model needs. A
# product of a query with 40,000 vectors takes 5 ms in one thread. Read when NumPy is imported.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
# Python looks for unreachable cycles after this many new objects. A search makes some thousands, and leaves none. With
# Python's own 700, that took 2 % of a search, and ten milliseconds of one in a hundred.
_COLLECTED_FROM = 5000
# A search releases the interpreter at each step of SQLite, some dozens of times, and waits this long to get it back
# from a thread that walks over a hundred thousand files. With Python's own 5 ms, that would take a quarter of a second.
SWITCH_S = 0.0005
# OPEN_MAX of macOS, which refuses more, even where the hard limit is "unlimited".
_MOST_OPEN_FILES = 10_240

# Options of glibc's mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
# Larger blocks get pages of their own, which are returned at once. The system clears such pages, so the data of a
# search must be in smaller blocks: numbers of 65,536 documents or rows, or one byte for each of a million. With half of
# this, a vector search in a million took a fifth more.
_MMAP_BYTES = 1024 * 1024
# Keep this much free memory at the end of an arena for the next search.
_KEPT_BYTES = 8 * 1024 * 1024
# By default each thread can have an arena with free memory. Our threads wait for SQLite and numpy, not for the
# allocator.
_ARENAS = 4


def before_imports() -> None:
    """Collect no garbage: during the imports, that takes a sixth of their time and finds nothing."""
    os.environ.setdefault(*_ONE_THREAD)
    gc.disable()


def after_imports() -> None:
    """Set everything else, before threads are started."""
    from gnod.private import restrict_umask

    restrict_umask()
    gc.freeze()
    gc.set_threshold(_COLLECTED_FROM)
    gc.enable()
    sys.setswitchinterval(SWITCH_S)
    give_memory_back()
    raise_file_limit()


def give_memory_back() -> None:
    """Make glibc's allocator return memory to the system; no other C library needs or can do that.

    By default each freed block raises the size of the blocks that it keeps, up to 32 MB, among small ones that stay in
    use. Measured: 90 answers of 3 MB left 350 MB behind, with these settings 110 MB.
    """
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # musl
        return
    mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
    mallopt(_M_ARENA_MAX, _ARENAS)


def raise_file_limit() -> None:
    """Raise the soft limit of open files. On macOS it is 256, and each watched folder and each client takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # the system allows less, so the limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (file_limit(soft, hard), hard))


def file_limit(soft: int, hard: int) -> int:
    """Return the soft limit to set: never lower than now, nor higher than the hard limit."""
    most = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(_MOST_OPEN_FILES, hard)
    return soft if soft == resource.RLIM_INFINITY else max(soft, most)
