"""Build and merge segments in a process, `python -m gnod.store.keyword_index.postings.builder`, which the daemon owns.

NumPy and Python hold the GIL for most of that time, so a thread of the daemon would make searches wait. The process has
a low priority, and reads and writes only the folder of the postings. It ends when it has no work, which returns the
memory of a merge to the system.
"""

from __future__ import annotations

import importlib
import logging
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from gnod.child import frames, sandbox
from gnod.child.child_setup import set_up_child, silence
from gnod.child.process import command
from gnod.store.keyword_index.postings import building
from gnod.store.keyword_index.postings.building import Analyse, Request
from gnod.store.keyword_index.postings.segment import Damaged

# The process needs only one thread and few arenas.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
_ATTEMPTS = 2
LEAST_CHARACTERS = 200_000

_log = logging.getLogger(__name__)


Reply = int | tuple[str, bool]
"""The checksum, or the reason of a failure and whether an input file is damaged. If not, the system caused the
failure."""
_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_REQUESTS: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


class _Ended(Exception):
    """The process has ended."""


class Builder:
    """Only one thread may use it, except that any thread may call `close`. Work with fewer characters than `least` is
    done here, because it takes less time than the start of the process."""

    def __init__(self, analyse: Analyse, least: int = LEAST_CHARACTERS) -> None:
        self._analyse = analyse
        self._least = least
        self._lock = threading.Lock()
        self._process: _BuilderProcess | None = None
        self._closed = False

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def perform(self, request: Request) -> int:
        """Run `building.perform`: large work in the process, small work here. A process that ends is replaced once."""
        if request.characters < self._least:
            return building.perform(request, self._analyse)
        for _ in range(_ATTEMPTS):
            try:
                reply = self._started(Path(request.path).parent).ask(request)
            except _Ended:
                self.rest()
                Path(request.path).unlink(missing_ok=True)
                continue
            except OSError as error:
                _log.warning("postings.no_process", extra={"fields": {"reason": str(error)}})
                return building.perform(request, self._analyse)
            if isinstance(reply, int):
                return reply
            self.rest()  # the folder may have been replaced, and the sandbox of the process only allows the old one
            message, is_damage = reply
            raise ValueError(message) if is_damage else OSError(message)
        raise OSError("the process that builds the postings ended")

    def rest(self) -> None:
        """End the process. The next work starts a new one."""
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.end()

    def close(self) -> None:
        """End the process, and start no other. Running work raises OSError."""
        self._closed = True
        self.rest()

    def _started(self, folder: Path) -> _BuilderProcess:
        with self._lock:
            if self._closed:
                raise _Ended
            if self._process is None:
                self._process = _BuilderProcess(folder, self._analyse)
            return self._process


class _BuilderProcess:
    """The daemon's side of the process."""

    def __init__(self, folder: Path, analyse: Analyse) -> None:
        self._channel, theirs = socket.socketpair()
        arguments = [str(folder), f"{analyse.__module__}:{analyse.__qualname__}"]
        try:
            with theirs:
                self._child = subprocess.Popen(
                    command(__name__, theirs.fileno(), arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                    cwd="/",
                    env={**os.environ, **_ENVIRONMENT},
                )
        except OSError:
            self._channel.close()
            raise

    def ask(self, request: Request) -> Reply:
        """Raises _Ended."""
        try:
            self._channel.sendall(frames.encode(request))
            reply = frames.receive(self._channel, _REPLIES)
        except (OSError, frames.FrameError, msgspec.DecodeError) as error:
            raise _Ended from error
        if reply is None:
            raise _Ended
        return reply

    def end(self) -> None:
        self._child.kill()
        self._child.wait()
        self._channel.close()


def main(arguments: list[str]) -> int:
    """Serve the socket `FD` as long as `PARENT` lives, for the postings in `FOLDER`. `ANALYSE` names a function."""
    descriptor, folder, analyse, parent = int(arguments[0]), arguments[1], arguments[2], int(arguments[3])
    with socket.socket(fileno=descriptor) as channel:
        channel.setblocking(True)
        set_up_child(parent, nice=10)
        module, _, name = analyse.partition(":")
        function: Analyse = getattr(importlib.import_module(module), name)
        sandbox.confine(writable=folder, readable=[folder])
        silence()
        while (request := frames.receive(channel, _REQUESTS)) is not None:
            channel.sendall(frames.encode(_reply(request, function)))
    return 0


def _reply(request: Request, analyse: Analyse) -> Reply:
    try:
        return building.perform(request, analyse)
    except (Damaged, ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}", True
    except (OSError, MemoryError) as error:
        return f"{type(error).__name__}: {error}", False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
