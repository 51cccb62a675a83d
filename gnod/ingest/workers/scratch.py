"""Manage the folders for temporary files of converter workers: private, limited, and removed with the worker.

Must not depend on workers. With Landlock, a worker can create only plain files, so these folders have no subfolders.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from gnod.private import private_folder

MAX_BYTES = 256 << 20
MAX_FILES = 1_000
ERRORS = "errors"  # the messages that libraries print before they abort the process
_TAIL_BYTES = 4096
# Messages of C++, Rust, OpenBLAS, Python and glib, in this order.
_OUT_OF_MEMORY = re.compile(
    rb"bad_alloc|memory allocation of|allocate too many|MemoryError|failed to allocate|[Oo]ut of memory"
)


class Scratch:
    """Creates a folder for each worker below `folder`. Nothing else uses `folder`, so old content is removed. None: use
    a new folder in the system's folder for temporary files."""

    def __init__(self, folder: Path | None) -> None:
        self._given = folder
        self._folder: Path | None = None

    def make(self) -> Path | None:
        """Return a new folder; None if it cannot be created (full disk), because few files need one."""
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
        private_folder(self._given)
        return self._given


def remove(folder: Path) -> None:
    with contextlib.suppress(RecursionError):  # folders may be very deep; the next start of the daemon continues
        shutil.rmtree(folder, ignore_errors=True)


def empty(folder: str) -> None:
    """Remove the files of a job. Called by the worker."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == ERRORS:
                if entry.stat(follow_symlinks=False).st_size:
                    os.truncate(entry.path, 0)
            elif entry.is_dir(follow_symlinks=False):
                remove(Path(entry.path))
            else:
                os.unlink(entry.path)  # noqa: PTH108


def is_overfull(folder: Path) -> bool:
    count = size = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                size += entry.stat(follow_symlinks=False).st_size
                if count > MAX_FILES or size > MAX_BYTES:
                    return True
    except OSError:
        pass  # the folder was removed with its worker
    return False


def ran_out_of_memory(folder: Path) -> bool:
    """Return whether a process has printed that it ran out of memory."""
    try:
        # The worker may have replaced the file.
        descriptor = os.open(folder / ERRORS, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        with open(descriptor, "rb") as errors:  # noqa: PTH123
            errors.seek(max(0, os.fstat(errors.fileno()).st_size - _TAIL_BYTES))
            return bool(_OUT_OF_MEMORY.search(errors.read(_TAIL_BYTES)))
    except OSError:
        return False
