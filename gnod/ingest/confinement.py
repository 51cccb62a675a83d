"""What bounds a converter worker from inside: memory, time of the processor, files, and the sandbox.

Runs in the worker. Set up once, but for what holds for one job at a time.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import os
import resource
import sys
import time
from typing import NamedTuple

from gnod.child import sandbox
from gnod.ingest import scratch
from gnod.ingest.messages import Limits

RECURSION_LIMIT = 3000  # markitdown recurses per level of HTML; 20,000 deep must fail, 500 deep must not
_MAX_OPEN_FILES = 256
_READERS = (
    "markitdown",
    "pandas",
    "openpyxl",
    "xlrd",
    "pypdfium2",
    "pdfminer.high_level",
    "lingua",
    "charset_normalizer",
)
_REFUSED = frozenset(
    [
        "socket.connect",
        "socket.bind",
        "socket.getaddrinfo",
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.fork",
        "os.forkpty",
        "os.kill",
        "os.killpg",
    ]
)


class _Root(NamedTuple):
    """A drive that was away has the numbers that it had before, and is another folder to Landlock all the same: then it
    does not open any more."""

    device: int
    inode: int
    opens: bool


class Confinement:
    """The limits of this process."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._scratch = None if limits.scratch is None else os.fsdecode(limits.scratch)
        self._roots = None if limits.roots is None else [os.fsdecode(root) for root in limits.roots]
        self._seen: dict[str, _Root | None] = {}

    @property
    def errors(self) -> str:
        """The file that takes what libraries print before they end the process."""
        return os.path.join(self._scratch, scratch.ERRORS) if self._scratch else os.devnull  # noqa: PTH118

    def begin(self) -> list[str]:
        """Limit this process, for good. Returns what the kernel holds, in words."""
        _compile_readers()
        _limit(resource.RLIMIT_AS, self._limits.memory_mb << 20)  # macOS does not keep it: the daemon watches too
        _limit(resource.RLIMIT_FSIZE, scratch.MAX_BYTES)
        _limit(resource.RLIMIT_NOFILE, _MAX_OPEN_FILES)
        sys.setrecursionlimit(RECURSION_LIMIT)
        sys.dont_write_bytecode = True
        if self._scratch:
            open(self.errors, "ab").close()  # noqa: PTH123
        protections = sandbox.confine(writable=self._scratch, readable=self._roots)
        self._seen = {root: _look_at(root) for root in self._roots or ()}
        sys.addaudithook(_refuse)
        return protections

    def is_outdated(self, path: str) -> bool:
        """Tell whether a file lies below a root that has become another folder: a drive that came back, say. What may
        be read is tied to the folders that were there at the start."""
        return any(
            path.startswith(root.rstrip("/") + "/") and _look_at(root) != seen for root, seen in self._seen.items()
        )

    def begin_job(self) -> None:
        """Allow a job its time of the processor, in all threads together. The kernel counts in seconds."""
        limit_s = math.ceil(time.process_time() + self._limits.time_limit_s) + 1
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, resource.RLIM_INFINITY))

    def end_job(self) -> None:
        """Remove what a job left."""
        if self._scratch:
            with contextlib.suppress(OSError):
                scratch.empty(self._scratch)


def _limit(what: int, value: int) -> None:
    """Lower a limit, never raise it."""
    with contextlib.suppress(OSError, ValueError):
        _, hard = resource.getrlimit(what)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))


def _look_at(folder: str) -> _Root | None:
    try:
        found = os.stat(folder)  # noqa: PTH116 - paths are bytes in disguise
    except OSError:
        return None
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError:
        return _Root(found.st_dev, found.st_ino, opens=False)
    return _Root(found.st_dev, found.st_ino, opens=True)


def _compile_readers() -> None:
    """Where an installer has left Python to compile what it imports, as uv does, let it: a confined worker cannot keep
    what it compiled, and so would each take seconds for it."""
    with contextlib.suppress(ImportError):
        found = importlib.util.find_spec(_READERS[-1])
        if found is None or found.cached is None or sys.dont_write_bytecode:
            return
        folder = os.path.dirname(os.path.dirname(found.cached))  # noqa: PTH120
        if os.access(folder, os.W_OK) and not os.path.exists(found.cached):  # noqa: PTH110
            for module in _READERS:
                importlib.import_module(module)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    """Documents ask for remote images, style sheets and programs. None of that is a converter's business, and this says
    so where the kernel does not."""
    del arguments
    if event in _REFUSED:
        raise PermissionError(f"a converter may not use {event}")
