"""Settings of the daemon process: garbage collection, thread switching, memory, open files, file modes.

Child processes inherit the environment, the umask and the limit of open files. This module imports nothing slow.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys

# After each product, OpenBLAS's threads wait actively for about 20 ms on processors that the embedding model needs. One
# thread multiplies a query with 40,000 vectors in 5 ms. The variable is read when NumPy is imported.
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
# Python looks for unreachable cycles after this many new objects. A search makes some thousands, and leaves no cycle.
# With Python's default of 700, collection took 2 % of the time of searches, and ten milliseconds in one of a hundred.
_COLLECTED_FROM = 5000
# A search releases the interpreter at each step of SQLite, some dozens of times. It waits this long to get it back from
# a thread that walks over a hundred thousand files. With Python's default of 5 ms, this would take a quarter of a
# second.
SWITCH_S = 0.0005
# OPEN_MAX of macOS. The system refuses more, even if the hard limit is "unlimited".
_MOST_OPEN_FILES = 10_240

# Options of glibc's mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
# Larger blocks get their own pages, which are returned at once. The system clears such pages, so the data of a search
# must fit into smaller blocks: numbers of 65,536 documents or rows, or one byte for each of a million. With half of
# this limit, a vector search in a million documents took 20 % longer.
_MMAP_BYTES = 1024 * 1024
# Keep this much free memory at the end of an arena for the next search.
_KEPT_BYTES = 8 * 1024 * 1024
# By default, each thread can have its own arena with free memory. Our threads wait for SQLite and NumPy, not for the
# allocator.
_ARENAS = 4


def before_imports() -> None:
    """Turn garbage collection off: it takes a sixth of the time of the imports and finds nothing."""
    os.environ.setdefault(*_ONE_THREAD)
    gc.disable()


def after_imports() -> None:
    """Apply all other settings. Call it before threads are started."""
    from gnod.private import restrict_umask

    restrict_umask()
    gc.freeze()
    gc.set_threshold(_COLLECTED_FROM)
    gc.enable()
    sys.setswitchinterval(SWITCH_S)
    give_memory_back()
    raise_file_limit()


def give_memory_back() -> None:
    """Make glibc's allocator return memory to the system. Other C libraries do not need this and have no such setting.

    By default, each freed block raises the size of the blocks that the allocator keeps, up to 32 MB, among small blocks
    in use. Measured: after 90 answers of 3 MB, 350 MB stayed allocated; with these settings, 110 MB.
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
    """Return the soft limit to set. It is never below the current limit or above the hard limit."""
    most = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(_MOST_OPEN_FILES, hard)
    return soft if soft == resource.RLIM_INFINITY else max(soft, most)
