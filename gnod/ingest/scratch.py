"""The folders in which converter workers may make files: private, small, and gone with the worker.

Knows nothing of workers. A worker can make plain files only (`gnod.child.landlock`), so there is nothing to descend
into where that holds.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

MAX_BYTES = 256 << 20
MAX_FILES = 1_000
ERRORS = "errors"  # what a worker's libraries print when they end the process
_TAIL_BYTES = 4096
# The last words of C++, Rust, OpenBLAS, Python and glib, in this order.
_OUT_OF_MEMORY = re.compile(
    rb"bad_alloc|memory allocation of|allocate too many|MemoryError|failed to allocate|[Oo]ut of memory"
)


class Scratch:
    """Makes a folder for each worker below `folder`, which is nobody else's: what lies there is left over. None: a new
    one below the system's folder for temporary files."""

    def __init__(self, folder: Path | None) -> None:
        self._given = folder
        self._folder: Path | None = None

    def make(self) -> Path | None:
        """Return a new folder; None where none can be made, because the disk is full: few files need one."""
        try:
            if self._folder is None:
                self._folder = self._prepared()
            return Path(tempfile.mkdtemp(dir=self._folder))
        except OSError:
            return None

    def close(self) -> None:
        if self._folder is not None:
            remove(self._folder)
            self._folder = None

    def _prepared(self) -> Path:
        if self._given is None:
            return Path(tempfile.mkdtemp(prefix="gnod-"))
        remove(self._given)
        self._given.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self._given


def remove(folder: Path) -> None:
    with contextlib.suppress(RecursionError):  # folders in folders; the next start of the daemon gets further
        shutil.rmtree(folder, ignore_errors=True)


def empty(folder: str) -> None:
    """Remove what one file left before the next comes. For the worker itself."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == ERRORS:
                if entry.stat(follow_symlinks=False).st_size:
                    os.truncate(entry.path, 0)
            elif entry.is_dir(follow_symlinks=False):
                remove(Path(entry.path))
            else:
                os.unlink(entry.path)  # noqa: PTH108 - nothing to do is the rule: no Path for each job


def is_overfull(folder: Path) -> bool:
    """Tell whether there is more in a folder than any converter needs."""
    count = size = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                size += entry.stat(follow_symlinks=False).st_size
                if count > MAX_FILES or size > MAX_BYTES:
                    return True
    except OSError:
        pass  # it goes away with its worker
    return False


def ran_out_of_memory(folder: Path) -> bool:
    """Tell whether a process that has ended said that it was for want of memory."""
    try:
        # Whoever wrote it may have put something else in its place.
        descriptor = os.open(folder / ERRORS, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(descriptor, "rb") as errors:  # noqa: PTH123
            errors.seek(max(0, os.fstat(errors.fileno()).st_size - _TAIL_BYTES))
            return bool(_OUT_OF_MEMORY.search(errors.read(_TAIL_BYTES)))
    except OSError:
        return False
