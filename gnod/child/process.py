"""A child process, as the daemon sees it: its start, the stream to it, and its exit status."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import psutil

_BUFFER_BYTES = 1 << 20


class MemoryUse(NamedTuple):
    """`resident_bytes`: in memory. `limited_bytes`: the amount that a worker's limit counts."""

    resident_bytes: int
    limited_bytes: int


def memory_use(resident_bytes: int, mapped_bytes: int, platform: str) -> MemoryUse:
    """On Linux, RLIMIT_AS counts the address space. macOS maps hundreds of gigabytes for each process, so the daemon
    limits the resident size there."""
    return MemoryUse(resident_bytes, mapped_bytes if platform == "linux" else resident_bytes)


def kill_group(leader: int, killpg: Callable[[int, int], None] = os.killpg) -> None:
    """Kill the processes of a group. Does nothing if they have ended."""
    # macOS reports EPERM for a group of zombies, because none of them can get a signal.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        killpg(leader, signal.SIGKILL)


class ChildProcess:
    """One child process and the stream of frames to and from it."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = process.pid
        self.reader = reader
        self.writer = writer
        self._process = process

    async def send(self, frame: bytes) -> None:
        """Write a frame; wait while the child lags behind. Raises ConnectionError if the child has ended."""
        try:
            self.writer.write(frame)
            await self.writer.drain()
        except RuntimeError as error:  # some closed transports raise it
            raise ConnectionError("the stream is closed") from error

    def memory(self) -> MemoryUse:
        """Return the child's use of memory; zeros if it has ended."""
        try:
            found = psutil.Process(self.pid).memory_info()
        except psutil.Error:
            return MemoryUse(0, 0)
        return memory_use(found.rss, found.vms, sys.platform)

    def kill(self) -> None:
        """Kill the process and all processes that it started. Does nothing if it has ended."""
        # Do not use Popen.kill: it polls first, and so takes the exit status away from asyncio's watcher.
        if self._process.returncode is None:
            kill_group(self.pid)  # it leads its own session

    async def ended(self) -> str:
        """Close the stream, wait for the process and return how it ended, such as "exit status 1" or "signal
        SIGKILL"."""
        self.writer.close()
        status = await self._process.wait()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()
        if status >= 0:
            return f"exit status {status}"
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"


async def launch(
    module: str,
    arguments: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    inherited: re.Pattern[str] | None = None,
) -> ChildProcess:
    """Start `python -m MODULE FD *ARGUMENTS PARENT`, where FD is its end of the stream and PARENT this process.

    The child gets the daemon's environment, or the variables whose names match `inherited`, and `environment`. It
    shares the daemon's standard error until it silences itself. Raises OSError. Must not be cancelled: the child would
    leak.
    """
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await _spawn(module, theirs, arguments, {**_inherited(inherited), **(environment or {})})
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_BUFFER_BYTES)
    except OSError:
        ours.close()
        raise
    return ChildProcess(process, reader, writer)


async def _spawn(
    module: str, channel: socket.socket, arguments: Sequence[str], environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    """Start the process. Call this from the event loop's thread, because PR_SET_PDEATHSIG follows the thread, not the
    process."""
    return await asyncio.create_subprocess_exec(
        *command(module, channel.fileno(), arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        pass_fds=(channel.fileno(),),
        start_new_session=True,
        cwd="/",
        env=environment,
    )


def command(module: str, descriptor: int, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command that starts a child of this process."""
    # With -P, Python does not import a file called socket.py from the current folder.
    return [sys.executable, "-P", "-m", module, str(descriptor), *arguments, str(os.getpid())]


def _inherited(names: re.Pattern[str] | None) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if names is None or names.fullmatch(name)}
