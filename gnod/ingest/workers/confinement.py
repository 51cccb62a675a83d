"""Limit a converter worker: memory, CPU time, files, and the sandbox. Runs in the worker."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import os
import resource
import sys
import time
from collections.abc import Collection

from gnod.child import sandbox
from gnod.ingest.workers import scratch
from gnod.ingest.workers.jobs import WorkerLimits

RECURSION_LIMIT = 3000  # markitdown recurses for each level of HTML; 20,000 levels must fail, 500 must not
_MAX_OPEN_FILES = 256
_LIBRARIES = ("markitdown", "striprtf", "olefile", "xlrd", "pypdfium2", "lingua", "charset_normalizer")
_REFUSED_EVENTS = """
    socket.connect socket.bind socket.getaddrinfo subprocess.Popen os.system os.exec os.posix_spawn os.fork os.forkpty
    os.kill os.killpg
"""
_REFUSED = frozenset(_REFUSED_EVENTS.split())


_Root = tuple[int, int, bool]
"""The device and inode of a folder, and whether it can be opened: a remounted drive may have the same numbers, but
Landlock treats it as another folder and refuses to open it."""


class Confinement:
    def __init__(self, limits: WorkerLimits) -> None:
        self._limits = limits
        self._scratch = None if limits.scratch is None else os.fsdecode(limits.scratch)
        self._roots = None if limits.roots is None else [os.fsdecode(root) for root in limits.roots]
        self._seen: dict[str, _Root | None] = {}

    @property
    def errors(self) -> str:
        """The path of the file for messages that libraries print before they abort the process."""
        return os.path.join(self._scratch, scratch.ERRORS) if self._scratch else os.devnull  # noqa: PTH118

    def begin(self) -> list[str]:
        """Limit this process permanently. Returns descriptions of the limits that the kernel enforces."""
        _compile_libraries()
        if sys.platform == "linux":  # elsewhere the daemon's checks are the limit
            _limit(resource.RLIMIT_AS, self._limits.memory_mb << 20)
        _limit(resource.RLIMIT_FSIZE, scratch.MAX_BYTES)
        _limit(resource.RLIMIT_NOFILE, _MAX_OPEN_FILES)
        sys.setrecursionlimit(RECURSION_LIMIT)
        sys.dont_write_bytecode = True
        if self._scratch:
            open(self.errors, "ab").close()  # noqa: PTH123
        protections = sandbox.confine(writable=self._scratch, readable=self._roots)
        self._seen = {root: _identify(root) for root in self._roots or ()}
        sys.addaudithook(_refuse)
        return protections

    def is_outdated(self, paths: Collection[str]) -> bool:
        """Return whether the root of one of these files is now another folder, such as a remounted drive. Only folders
        that existed at the start can be read."""
        return any(
            any(path.startswith(root.rstrip("/") + "/") for path in paths) and _identify(root) != seen
            for root, seen in self._seen.items()
        )

    def begin_job(self) -> None:
        """Set the limit of CPU time for all threads together. The kernel counts in whole seconds."""
        limit_s = math.ceil(time.process_time() + self._limits.time_limit_s) + 1
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, resource.RLIM_INFINITY))

    def end_job(self) -> None:
        if self._scratch:
            with contextlib.suppress(OSError):
                scratch.empty(self._scratch)


def _limit(what: int, value: int) -> None:
    """Lower a limit, but never raise it."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(what)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))


def _identify(folder: str) -> _Root | None:
    try:
        found = os.stat(folder)  # noqa: PTH116 - the path may hold surrogates
    except OSError:
        return None
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return found.st_dev, found.st_ino, False
    return found.st_dev, found.st_ino, True


def _compile_libraries() -> None:
    """Compile the libraries if the installer has not (uv does not). A confined worker cannot store the result, so every
    worker would need seconds for it."""
    with contextlib.suppress(ImportError):
        found = importlib.util.find_spec(_LIBRARIES[-1])
        if found is None or found.cached is None or sys.dont_write_bytecode:
            return
        folder = os.path.dirname(os.path.dirname(found.cached))  # noqa: PTH120
        if os.access(folder, os.W_OK) and not os.path.exists(found.cached):  # noqa: PTH110
            for module in _LIBRARIES:
                importlib.import_module(module)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    """Block remote images, style sheets and programs that documents name, even if the kernel does not."""
    del arguments
    if event in _REFUSED:
        raise PermissionError(f"a converter may not use {event}")
